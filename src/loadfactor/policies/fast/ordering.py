"""Descent over the order in which jobs are placed: one job chooses earlier or later, and all behind it choose again.

The order says what is worth most and what packs best at once; it starts as that of a key (see `Search`). Local search
over the permutations of a list scheduler, as in Dowsland (1998) for packing; only what comes behind the change is
placed anew.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from loadfactor.policies.blocks import Starts
from loadfactor.policies.compiled import inner, making_kernel
from loadfactor.policies.fast.dice import random_below
from loadfactor.policies.fast.filling import count_free, worth
from loadfactor.policies.fast.floors import group_options, most_options, raise_floors, read_floors
from loadfactor.policies.fast.packing import count_block, insert
from loadfactor.policies.instance import DURATION, SIZE, SUBMIT, Floats, Ints
from loadfactor.policies.occupancy import NOWHERE, Bits, release_block, take_block


@making_kernel
def reorder(
    iterations: int,
    order: Ints,
    grid: Bits,
    node_of_gpu: Ints,
    first_of_node: Ints,
    pool_of_gpu: Ints,
    free: Ints,
    jobs: Ints,
    options: Ints,
    reward: Floats,
    starts: Starts,
    weight: Floats,
    random: npt.NDArray[np.uint64],
    chosen: Ints,
    begin: Ints,
    where: Ints,
) -> float:
    """Change `order` `iterations` times, keep each change that loses nothing, and return what they gained.

    The plan in (`chosen`, `begin`, `where`) and `grid` is the one that `order` leads to, before and after. `free`
    (P, T) is overwritten.
    """
    count, steps = len(order), len(weight) - 1
    count_free(grid, pool_of_gpu, free)
    group, groups = group_options(options)
    floors = np.zeros((groups, steps + 1, 2), dtype=np.int64)
    earliest = np.empty(most_options(jobs), dtype=np.int64)
    before = np.empty((3, count), dtype=np.int64)
    gain = 0.0
    for _ in range(iterations):
        i, j = _move(order, jobs, begin, random)
        low, high = min(i, j), max(i, j)
        old = _take_out(
            order, low, before, grid, node_of_gpu, first_of_node, pool_of_gpu, free, options, reward, weight, chosen,
            begin, where,
        )  # fmt: skip
        _shift(order, i, j)
        for g in range(groups):
            for duration in range(steps + 1):
                floors[g, duration, 0] = floors[g, duration, 1] = 0
        new, same, k = 0.0, True, low
        while k < count and (same is False or k <= high):
            job = order[k]
            read_floors(floors, group, job, jobs, options, earliest)
            new += insert(
                job, grid, node_of_gpu, first_of_node, pool_of_gpu, free, jobs, options, reward, starts, weight,
                earliest, chosen, begin, where,
            )  # fmt: skip
            raise_floors(floors, group, job, jobs, options, earliest)
            same = (
                same and begin[job] == before[1, job] and where[job] == before[2, job] and chosen[job] == before[0, job]
            )
            k += 1
        if same:
            _put_back(
                order, k, before, grid, node_of_gpu, first_of_node, pool_of_gpu, free, options, steps, chosen, begin,
                where,
            )  # fmt: skip
        elif new >= old - 1e-9:
            gain += new - old
        else:
            for k in range(low, count):
                _release(
                    order[k], grid, node_of_gpu, first_of_node, pool_of_gpu, free, options, steps, chosen, begin, where
                )
            _shift(order, j, i)
            _put_back(
                order, low, before, grid, node_of_gpu, first_of_node, pool_of_gpu, free, options, steps, chosen, begin,
                where,
            )  # fmt: skip
    return gain


@inner
def _move(order: Ints, jobs: Ints, begin: Ints, random: npt.NDArray[np.uint64]) -> tuple[int, int]:
    """Return the position of a job and its new one; most often a job that waits or is left out chooses earlier."""
    count = len(order)
    i = random_below(random, count)
    for _ in range(2):
        if begin[order[i]] != jobs[order[i], SUBMIT]:
            break
        i = random_below(random, count)
    kind = random_below(random, 4)
    if kind == 0:
        return i, random_below(random, count)
    reach = 1 + count // 6
    if kind == 1:
        return i, min(count - 1, i + 1 + random_below(random, reach))
    return i, max(0, i - 1 - random_below(random, reach))


@inner
def _shift(order: Ints, i: int, j: int) -> None:
    """Move the job at position i to position j."""
    job, step = order[i], 1 if i < j else -1
    for k in range(i, j, step):
        order[k] = order[k + step]
    order[j] = job


@inner
def _release(
    job: int,
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
    if where[job] != NOWHERE:
        end = min(begin[job] + options[chosen[job], DURATION], steps)
        release_block(grid, node_of_gpu, first_of_node, where[job], options[chosen[job], SIZE], begin[job], end)
        count_block(free, chosen[job], options, pool_of_gpu, where[job], begin[job], end, 1)


@inner
def _take_out(
    order: Ints,
    low: int,
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
    """Take the jobs from position `low` on out of the grid, remember where they were; return what they were worth."""
    old = 0.0
    for k in range(low, len(order)):
        job = order[k]
        before[0, job], before[1, job], before[2, job] = chosen[job], begin[job], where[job]
        if where[job] != NOWHERE:
            old += worth(job, options, reward, weight, chosen, begin)
            _release(
                job, grid, node_of_gpu, first_of_node, pool_of_gpu, free, options, len(weight) - 1, chosen, begin, where
            )
    return old


@inner
def _put_back(
    order: Ints,
    low: int,
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
    """Put the jobs from position `low` on back where they were."""
    for k in range(low, len(order)):
        job = order[k]
        chosen[job], begin[job], where[job] = before[0, job], before[1, job], before[2, job]
        if where[job] != NOWHERE:
            end = min(begin[job] + options[chosen[job], DURATION], steps)
            take_block(grid, node_of_gpu, first_of_node, where[job], options[chosen[job], SIZE], begin[job], end)
            count_block(free, chosen[job], options, pool_of_gpu, where[job], begin[job], end, -1)
