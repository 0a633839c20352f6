"""Jobs off the grid and back on it, remembered so that a try which is worth less leaves no trace."""

from __future__ import annotations

import numpy as np

from loadfactor.policies.compiled import inner, kernel
from loadfactor.policies.fast.filling import worth
from loadfactor.policies.fast.packing import count_block
from loadfactor.policies.instance import DURATION, FIRST_OPTION, LAST_OPTION, SIZE, Floats, Ints
from loadfactor.policies.occupancy import NOWHERE, Bits, release_block, take_block


@inner
def remove(
    moved: Ints,
    number: int,
    before: Ints,
    grid: Bits,
    node_of_gpu: Ints,
    first_of_node: Ints,
    pool_of_gpu: Ints,
    free: Ints,
    options: Ints,
    reward: Floats,
    weight: Floats,
    chosen: Ints,
    begin: Ints,
    where: Ints,
) -> float:
    """Take the jobs out of the grid, remember where they were, and return what they were worth."""
    old, steps = 0.0, len(weight) - 1
    for i in range(number):
        job = moved[i]
        before[0, i], before[1, i], before[2, i] = chosen[job], begin[job], where[job]
        if where[job] != NOWHERE:
            old += worth(job, options, reward, weight, chosen, begin)
            end = min(begin[job] + options[chosen[job], DURATION], steps)
            release_block(grid, node_of_gpu, first_of_node, where[job], options[chosen[job], SIZE], begin[job], end)
            count_block(free, chosen[job], options, pool_of_gpu, where[job], begin[job], end, 1)
            chosen[job], begin[job], where[job] = NOWHERE, NOWHERE, NOWHERE
    return old


@inner
def restore(
    moved: Ints,
    number: int,
    before: Ints,
    grid: Bits,
    node_of_gpu: Ints,
    first_of_node: Ints,
    pool_of_gpu: Ints,
    free: Ints,
    options: Ints,
    steps: int,
    chosen: Ints,
    begin: Ints,
    where: Ints,
) -> None:
    """Take the jobs out again and put each back where it was: option, start and first GPU are columns of `before`."""
    for i in range(number):
        job = moved[i]
        if where[job] != NOWHERE:
            end = min(begin[job] + options[chosen[job], DURATION], steps)
            release_block(grid, node_of_gpu, first_of_node, where[job], options[chosen[job], SIZE], begin[job], end)
            count_block(free, chosen[job], options, pool_of_gpu, where[job], begin[job], end, 1)
    for i in range(number):
        job = moved[i]
        chosen[job], begin[job], where[job] = before[0, i], before[1, i], before[2, i]
        if where[job] != NOWHERE:
            end = min(begin[job] + options[chosen[job], DURATION], steps)
            take_block(grid, node_of_gpu, first_of_node, where[job], options[chosen[job], SIZE], begin[job], end)
            count_block(free, chosen[job], options, pool_of_gpu, where[job], begin[job], end, -1)


@kernel
def lift(
    rows: Ints,
    before: Ints,
    grid: Bits,
    node_of_gpu: Ints,
    first_of_node: Ints,
    pool_of_gpu: Ints,
    free: Ints,
    options: Ints,
    reward: Floats,
    weight: Floats,
    chosen: Ints,
    begin: Ints,
    where: Ints,
) -> float:
    """Take the jobs off the grid, those that are on it; return what they were worth.

    `before` (3, rows) receives option, start and first GPU of each.
    """
    return remove(
        rows, len(rows), before, grid, node_of_gpu, first_of_node, pool_of_gpu, free, options, reward, weight, chosen,
        begin, where,
    )  # fmt: skip


@kernel
def lay_back(
    rows: Ints,
    before: Ints,
    grid: Bits,
    node_of_gpu: Ints,
    first_of_node: Ints,
    pool_of_gpu: Ints,
    free: Ints,
    options: Ints,
    weight: Floats,
    chosen: Ints,
    begin: Ints,
    where: Ints,
) -> None:
    """Undo `lift`, wherever the jobs are by now."""
    restore(
        rows, len(rows), before, grid, node_of_gpu, first_of_node, pool_of_gpu, free, options, len(weight) - 1, chosen,
        begin, where,
    )  # fmt: skip


@inner
def dearest_first(moved: Ints, first: int, jobs: Ints, options: Ints, reward: Floats) -> None:
    """Order the jobs from position `first` on by falling worth of a GPU and step (a stable insertion sort)."""
    key = np.empty(len(moved), dtype=np.float64)
    for i in range(first, len(moved)):
        job, option, j = moved[i], jobs[moved[i], FIRST_OPTION], i
        rank = 0.0 if option == jobs[job, LAST_OPTION] else reward[option] / options[option, SIZE]
        while j > first and key[j - 1] < rank:
            moved[j], key[j] = moved[j - 1], key[j - 1]
            j -= 1
        moved[j], key[j] = job, rank
