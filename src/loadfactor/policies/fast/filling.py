"""Many jobs at once: placed one after the other on a grid that only fills, and what they earn there."""

from __future__ import annotations

import numpy as np

from loadfactor.policies.blocks import Starts
from loadfactor.policies.compiled import inner, kernel, making_kernel
from loadfactor.policies.fast.floors import forget_floors, group_options, most_options, raise_floors, read_floors
from loadfactor.policies.fast.packing import gain_at, insert
from loadfactor.policies.instance import Floats, Ints
from loadfactor.policies.occupancy import NOWHERE, Bits


@making_kernel
def insert_all(
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
    chosen: Ints,
    begin: Ints,
    where: Ints,
) -> float:
    """Place the jobs that have no block yet at their earliest start anywhere, in `order`; return what they add."""
    group, groups = group_options(order, jobs, options)
    floors = np.empty((groups, len(weight), 2), dtype=np.int64)
    earliest = np.empty(most_options(jobs), dtype=np.int64)
    return insert_in_order(
        order, grid, node_of_gpu, first_of_node, pool_of_gpu, free, jobs, options, reward, starts, weight, group,
        floors, earliest, chosen, begin, where,
    )  # fmt: skip


@inner
def insert_in_order(
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
    group: Ints,
    floors: Ints,
    earliest: Ints,
    chosen: Ints,
    begin: Ints,
    where: Ints,
) -> float:
    """Do the work of `insert_all`; `floors` (groups, T + 1, 2) and `earliest` are overwritten."""
    total = 0.0
    forget_floors(floors)
    for job in order:
        if where[job] == NOWHERE:
            read_floors(floors, group, job, jobs, options, earliest)
            total += insert(
                job, grid, node_of_gpu, first_of_node, pool_of_gpu, free, jobs, options, reward, starts, weight,
                earliest, chosen, begin, where,
            )  # fmt: skip
            raise_floors(floors, group, job, jobs, options, earliest)
    return total


@kernel
def complete(
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
    chosen: Ints,
    begin: Ints,
    where: Ints,
) -> float:
    """Place the jobs that have no block yet, in `order`; return what all of them earn. `free` (P, T) is overwritten."""
    for job in order:
        if where[job] == NOWHERE:
            count_free(grid, pool_of_gpu, free)
            insert_all(
                order, grid, node_of_gpu, first_of_node, pool_of_gpu, free, jobs, options, reward, starts, weight,
                chosen, begin, where,
            )  # fmt: skip
            break
    return total_worth(options, reward, weight, chosen, begin, where)


@making_kernel
def count_free(grid: Bits, pool_of_gpu: Ints, free: Ints) -> None:
    """Write the number of free GPUs of every pool and step to `free` (P, T), if it has rows.

    Counted for 64 steps at once: digit k of the counts is one word a pool, to which each GPU's row is added with carry.
    """
    pools, words, digits = free.shape[0], grid.shape[1], 1
    if pools == 0:
        return
    while (1 << digits) <= len(pool_of_gpu):
        digits += 1
    digit = np.zeros((pools, words, digits), dtype=np.uint64)
    for gpu in range(len(pool_of_gpu)):
        for word in range(words):
            carry, k = ~grid[gpu, word], 0
            while carry != 0:
                before = digit[pool_of_gpu[gpu], word, k]
                digit[pool_of_gpu[gpu], word, k] = before ^ carry
                carry &= before
                k += 1
    for pool in range(pools):
        for t in range(free.shape[1]):
            free[pool, t] = 0
            for k in range(digits):
                bit = (digit[pool, t >> 6, k] >> np.uint64(t & 63)) & np.uint64(1)
                free[pool, t] += np.int64(bit) << k


@kernel
def total_worth(options: Ints, reward: Floats, weight: Floats, chosen: Ints, begin: Ints, where: Ints) -> float:
    """Return what all placed jobs add to the objective."""
    total = 0.0
    for job in range(len(where)):
        if where[job] != NOWHERE:
            total += worth(job, options, reward, weight, chosen, begin)
    return total


@inner
def worth(job: int, options: Ints, reward: Floats, weight: Floats, chosen: Ints, begin: Ints) -> float:
    """Return what the placed job adds to the objective."""
    return gain_at(chosen[job], begin[job], options, reward, weight)
