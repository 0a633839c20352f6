"""Jobs on the grid: the best fitting block at a given start, and the earliest start of any block.

Everything here works on a grid of bits (see `loadfactor.policies.occupancy`) and only ever takes what is free there.
"""

from __future__ import annotations

import numpy as np

from loadfactor.policies.blocks import Starts
from loadfactor.policies.compiled import inner
from loadfactor.policies.fast.counts import earliest_count
from loadfactor.policies.instance import (
    DURATION,
    FIRST_BLOCK,
    FIRST_OPTION,
    LAST_BLOCK,
    LAST_OPTION,
    LAST_START,
    POOL,
    SIZE,
    SUBMIT,
    Floats,
    Ints,
)
from loadfactor.policies.occupancy import (
    NOWHERE,
    Bits,
    earliest_in_block,
    highest_bit,
    lowest_bit,
    mask_between,
    room_row,
    take_block,
)

ENOUGH = 24
"""Feasible blocks compared before best fit is content; more hardly ever change the choice and cost time at scale."""
MANY = 4096
"""Blocks from which on a job takes the largest size that fits; of fewer, the size that is worth most is looked for."""
FAR = 1 << 30
FEW_NODES = 32
"""Nodes up to which those with room are looked up together before any is searched."""
MISALIGNED = 8
"""Idle steps a GPU that a misaligned block is taken to cost."""


@inner
def idle_around(busy: Bits, gpu: int, start: int, end: int, steps: int) -> int:
    """Return the idle steps of the GPU just before `start` and just after `end`, within the words of these two."""
    word = start >> 6
    before = busy[gpu, word] & mask_between(0, start & 63)
    idle = (start & 63) - 1 - highest_bit(before) if before else start & 63
    if end >= steps:
        return idle
    word = end >> 6
    after = busy[gpu, word] & ~mask_between(0, end & 63)
    until = (word << 6) + lowest_bit(after) if after else min(steps, (word + 1) << 6)
    return idle + until - end


@inner
def misfit(grid: Bits, row: int, count: int, aligned: bool, start: int, end: int, steps: int) -> int:
    """Return how much idle time a block would leave around [start, end): the less, the better the fit.

    Idle steps just before and after, on each row (see `rows_of`); a block that is not aligned to its size also breaks a
    larger one.
    """
    gap = 0 if aligned else MISALIGNED * count
    for other in range(row, row + count):
        gap += idle_around(grid, other, start, end, steps)
    return gap


@inner
def is_aligned(gpu: int, size: int) -> bool:
    """Return whether the block begins at a multiple of its size; one that is no power of two is never out of line."""
    return gpu & (size - 1) == 0 or size & (size - 1) != 0


@inner
def rows_of(gpu: int, size: int, node_of_gpu: Ints, first_of_node: Ints) -> tuple[int, int]:
    """Return (row, count) of the rows of the grid whose OR says when the block is taken.

    Those of the GPUs, or where the block is made of whole nodes, the summaries of these.
    """
    node, last = node_of_gpu[gpu], node_of_gpu[gpu + size - 1]
    if gpu == first_of_node[node] and gpu + size == first_of_node[last + 1]:
        return len(node_of_gpu) + node, last - node + 1
    return gpu, size


@inner
def first_start(
    grid: Bits, row: int, count: int, duration: int, first: int, last: int, window: np.uint64, steps: int
) -> int:
    """Return the first start in [first, last] at which no row is taken for `duration` steps, or -1.

    On a grid of one word a row the answer is found here, `window` being the bits [first, last]: runs by doubling, as in
    `earliest_run`.
    """
    if grid.shape[1] != 1:
        return earliest_in_block(grid, row, count, duration, first, last, steps)
    taken = grid[row, 0]
    for other in range(row + 1, row + count):
        taken |= grid[other, 0]
    free, known = ~taken, 1
    while known < duration and free & window != 0:
        by = np.uint64(min(known, duration - known))
        free &= (free >> by) | ~(~np.uint64(0) >> by)
        known += min(known, duration - known)
    free &= window
    return lowest_bit(free) if free != 0 else NOWHERE


@inner
def earliest_best(
    grid: Bits,
    node_of_gpu: Ints,
    first_of_node: Ints,
    starts: Starts,
    low: int,
    high: int,
    size: int,
    duration: int,
    first: int,
    last: int,
    steps: int,
) -> tuple[int, int]:
    """Return (start, first GPU) of the earliest start of any candidate block in [first, last], best fit; or -1s."""
    best, gpu_of_best, least, feasible = NOWHERE, NOWHERE, FAR, 0
    node, index, room, window = NOWHERE, low, first, mask_between(first, last + 1)
    while index < high:
        gpu = starts[index]
        index += 1
        if node_of_gpu[gpu] != node:
            node, row = node_of_gpu[gpu], room_row(node_of_gpu[gpu], size, first_of_node)
            room = first_start(grid, row, 1, duration, first, last, window, steps)
            if room == NOWHERE:
                index += max(0, first_of_node[node + 1] - size - gpu)
                continue
        if room == last and least <= MISALIGNED * size and not is_aligned(gpu, size):
            continue
        row, count = rows_of(gpu, size, node_of_gpu, first_of_node)
        start = first_start(grid, row, count, duration, first, last, window, steps)
        if start == NOWHERE:
            continue
        gap = misfit(grid, row, count, is_aligned(gpu, size), start, min(start + duration, steps), steps)
        if best == NOWHERE or start < last or gap < least:
            if start < last:
                feasible = 0
                window = mask_between(first, start + 1)
            best, gpu_of_best, least, last = start, gpu, gap, start
        feasible += 1
        if start == first and (gap == 0 or feasible >= ENOUGH):
            break
    return best, gpu_of_best


@inner
def earliest_room(grid: Bits, first_of_node: Ints, size: int, duration: int, first: int, last: int) -> int:
    """Return a step in [first, last] before which no node has room for so long, or -1; on a grid of one word a row."""
    none = ~np.uint64(0)
    for node in range(len(first_of_node) - 1):
        none &= grid[room_row(node, size, first_of_node), 0]
    free, known = ~none, 1
    window = mask_between(first, last + 1)
    while known < duration and free & window != 0:
        by = np.uint64(min(known, duration - known))
        free &= (free >> by) | ~(~np.uint64(0) >> by)
        known += min(known, duration - known)
    free &= window
    return lowest_bit(free) if free != 0 else NOWHERE


@inner
def earliest_of(
    option: int,
    first: int,
    grid: Bits,
    node_of_gpu: Ints,
    first_of_node: Ints,
    free: Ints,
    options: Ints,
    starts: Starts,
    steps: int,
) -> tuple[int, int]:
    """Return (start, first GPU) of the earliest start of the option from `first` on, or -1s."""
    size, duration, pool = options[option, SIZE], options[option, DURATION], options[option, POOL]
    last = options[option, LAST_START]
    if first <= last:
        if grid.shape[1] == 1 and len(first_of_node) <= FEW_NODES:
            first = earliest_room(grid, first_of_node, size, duration, first, last)
        elif pool >= 0 and len(free) > 0:
            first = earliest_count(free, pool, size, duration, first, last)
        if first == NOWHERE:
            return NOWHERE, NOWHERE
    if first > last:
        return NOWHERE, NOWHERE
    low, high = options[option, FIRST_BLOCK], options[option, LAST_BLOCK]
    return earliest_best(grid, node_of_gpu, first_of_node, starts, low, high, size, duration, first, last, steps)


@inner
def count_block(
    free: Ints, option: int, options: Ints, pool_of_gpu: Ints, gpu: int, start: int, end: int, sign: int
) -> None:
    """Add the GPUs of a block (sign 1), or take them away (-1), in the counts of free GPUs (P, T), if there are any."""
    if len(free) == 0:
        return
    pool, size = options[option, POOL], options[option, SIZE]
    if pool >= 0:
        for t in range(start, end):
            free[pool, t] += sign * size
        return
    for other in range(gpu, gpu + size):
        for t in range(start, end):
            free[pool_of_gpu[other], t] += sign


@inner
def gain_at(option: int, start: int, options: Ints, reward: Floats, weight: Floats) -> float:
    """Return what a job earns with this option and start."""
    end = min(start + options[option, DURATION], len(weight) - 1)
    gain: float = reward[option] * (weight[end] - weight[start])
    return gain


@inner
def insert(
    job: int,
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
    earliest: Ints,
    chosen: Ints,
    begin: Ints,
    where: Ints,
) -> float:
    """Place the job where it is worth most now, at its earliest start; return its reward, or 0 if it fits nowhere.

    `free` (P, T) counts the free GPUs of the grid, so that steps at which there are too few are not searched; it is not
    asked, nor kept, where it has no rows. `earliest` says for each option of the job before which step there is no
    start, and receives the one that was found (see `loadfactor.policies.fast.floors`).
    """
    steps = len(weight) - 1
    best_gain, best_option, best_start, best_gpu = -1.0, NOWHERE, NOWHERE, NOWHERE
    for option in range(jobs[job, LAST_OPTION] - 1, jobs[job, FIRST_OPTION] - 1, -1):
        slot = option - jobs[job, FIRST_OPTION]
        if best_option != NOWHERE and options[option, LAST_BLOCK] - options[option, FIRST_BLOCK] >= MANY:
            earliest[slot] = NOWHERE
            continue
        first = max(jobs[job, SUBMIT], earliest[slot])
        if first <= options[option, LAST_START] and gain_at(option, first, options, reward, weight) <= best_gain:
            continue
        start, gpu = earliest_of(option, first, grid, node_of_gpu, first_of_node, free, options, starts, steps)
        earliest[slot] = start if start != NOWHERE else options[option, LAST_START] + 1
        if start != NOWHERE:
            gain = gain_at(option, start, options, reward, weight)
            if gain > best_gain:
                best_gain, best_option, best_start, best_gpu = gain, option, start, gpu
    chosen[job], begin[job], where[job] = best_option, best_start, best_gpu
    if best_option == NOWHERE:
        return 0.0
    size, end = options[best_option, SIZE], min(best_start + options[best_option, DURATION], steps)
    take_block(grid, node_of_gpu, first_of_node, best_gpu, size, best_start, end)
    count_block(free, best_option, options, pool_of_gpu, best_gpu, best_start, end, -1)
    return best_gain
