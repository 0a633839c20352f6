"""Descent over the order in which jobs are placed: one job chooses earlier or later, and all behind it choose again.

The order says what is worth most and what packs best at once; it starts as that of a key (see `orders_by_worth` in
`loadfactor.policies.fast.search`). Only what comes behind the change is placed anew.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from loadfactor.policies.blocks import Starts
from loadfactor.policies.compiled import inner, making_kernel
from loadfactor.policies.fast.dice import random_below
from loadfactor.policies.fast.filling import count_free, insert_in_order
from loadfactor.policies.fast.floors import group_options, most_options
from loadfactor.policies.fast.moving import remove, restore
from loadfactor.policies.instance import SUBMIT, Floats, Ints
from loadfactor.policies.occupancy import Bits

TINY = 1e-9


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
    gain, earliest = 0.0, np.empty(most_options(jobs), dtype=np.int64)
    group, groups = group_options(order, jobs, options)
    floors, before = np.empty((groups, len(weight), 2), dtype=np.int64), np.empty((3, len(order)), dtype=np.int64)
    count_free(grid, pool_of_gpu, free)
    for _ in range(iterations):
        i, j = _move(order, jobs, begin, random)
        moved = order[min(i, j) :]
        old = remove(
            moved, len(moved), before, grid, node_of_gpu, first_of_node, pool_of_gpu, free, options, reward, weight,
            chosen, begin, where,
        )  # fmt: skip
        _shift(order, i, j)
        new = insert_in_order(
            moved, grid, node_of_gpu, first_of_node, pool_of_gpu, free, jobs, options, reward, starts, weight, group,
            floors, earliest, chosen, begin, where,
        )  # fmt: skip
        if new >= old - TINY:
            gain += new - old
        else:
            _shift(order, j, i)
            restore(
                moved, len(moved), before, grid, node_of_gpu, first_of_node, pool_of_gpu, free, options,
                len(weight) - 1, chosen, begin, where,
            )  # fmt: skip
    return gain


@inner
def _move(order: Ints, jobs: Ints, begin: Ints, random: npt.NDArray[np.uint64]) -> tuple[int, int]:
    """Return the position of a job and its new one; most often a job that waits or is left out chooses earlier."""
    count, kind = len(order), random_below(random, 4)
    i = random_below(random, count)
    for _ in range(2):
        if begin[order[i]] != jobs[order[i], SUBMIT]:
            break
        i = random_below(random, count)
    reach = random_below(random, 1 + count // 6)
    if kind == 0:
        j = random_below(random, count)
    elif kind == 1:
        j = min(count - 1, i + 1 + reach)
    else:
        j = max(0, i - 1 - reach)
    return i, j


@inner
def _shift(order: Ints, i: int, j: int) -> None:
    """Move the job at position i to position j."""
    job, step = order[i], 1 if i < j else -1
    for k in range(i, j, step):
        order[k] = order[k + step]
    order[j] = job
