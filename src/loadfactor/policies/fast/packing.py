"""Jobs on the grid: the best fitting block at a given start, and the earliest start of any block.

Everything here works on a grid of bits (see `loadfactor.policies.occupancy`) and only ever takes what is free there.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from loadfactor.policies.instance import (
    DURATION,
    FIRST_BLOCK,
    FIRST_OPTION,
    LAST_BLOCK,
    LAST_OPTION,
    LAST_START,
    SIZE,
    SUBMIT,
    Floats,
    Ints,
    Starts,
)
from loadfactor.policies.occupancy import NOWHERE, Bits, earliest_in_block, next_busy, take

ENOUGH = 24
"""Feasible blocks compared before best fit is content; more hardly ever change the choice and cost time at scale."""
FAR = 1 << 30


@njit(cache=True)
def previous_busy(busy: Bits, gpu: int, step: int) -> int:
    """Return how many steps before `step` the GPU has been free without a break, at most 64."""
    idle = 0
    while idle < step and idle < 64:
        t = step - idle - 1
        if (busy[gpu, t >> 6] >> np.uint64(t & 63)) & np.uint64(1):
            break
        idle += 1
    return idle


@njit(cache=True)
def misfit(busy: Bits, gpu: int, size: int, start: int, end: int, steps: int) -> int:
    """Return how much idle time a block would leave around [start, end): the less, the better the fit.

    Idle steps just before and after, on each GPU; a block that is not aligned to its size also breaks a larger one.
    """
    gap = 0
    for other in range(gpu, gpu + size):
        gap += previous_busy(busy, other, start)
        if end < steps:
            gap += min(64, next_busy(busy, other, 1, end, steps) - end)
    return gap if gpu % size == 0 else gap + 8 * size


@njit(cache=True)
def best_block(busy: Bits, starts: Starts, low: int, high: int, size: int, start: int, end: int, steps: int) -> int:
    """Return the first GPU of the best fitting block that is free in [start, end), or -1."""
    best, least, feasible = NOWHERE, FAR, 0
    for index in range(low, high):
        gpu = starts[index]
        if next_busy(busy, gpu, size, start, steps) < end:
            continue
        gap = misfit(busy, gpu, size, start, end, steps)
        if gap < least:
            best, least = gpu, gap
        feasible += 1
        if feasible >= ENOUGH or gap == 0:
            break
    return best


@njit(cache=True)
def earliest_of(
    busy: Bits, starts: Starts, low: int, high: int, size: int, duration: int, first: int, last: int, steps: int
) -> int:
    """Return the earliest start of any candidate block in [first, last], or -1."""
    found = NOWHERE
    for index in range(low, high):
        start = earliest_in_block(busy, starts[index], size, duration, first, last, steps)
        if start != NOWHERE:
            found, last = start, start - 1
            if start == first:
                break
    return found


@njit(cache=True)
def insert(
    job: int,
    busy: Bits,
    jobs: Ints,
    options: Ints,
    reward: Floats,
    starts: Starts,
    weight: Floats,
    steps: int,
    chosen: Ints,
    begin: Ints,
    where: Ints,
) -> float:
    """Place the job where it is worth most now, at its earliest start; return its reward, or 0 if it fits nowhere."""
    best_gain, best_option, best_start = -1.0, NOWHERE, NOWHERE
    for option in range(jobs[job, FIRST_OPTION], jobs[job, LAST_OPTION]):
        size, duration = options[option, SIZE], options[option, DURATION]
        start = earliest_of(
            busy,
            starts,
            options[option, FIRST_BLOCK],
            options[option, LAST_BLOCK],
            size,
            duration,
            jobs[job, SUBMIT],
            options[option, LAST_START],
            steps,
        )
        if start != NOWHERE:
            gain = reward[option] * (weight[min(start + duration, steps)] - weight[start])
            if gain > best_gain:
                best_gain, best_option, best_start = gain, option, start
    if best_option == NOWHERE:
        chosen[job], begin[job], where[job] = NOWHERE, NOWHERE, NOWHERE
        return 0.0
    end = min(best_start + options[best_option, DURATION], steps)
    settle(job, best_option, best_start, end, busy, options, starts, steps, chosen, begin, where)
    return best_gain


@njit(cache=True)
def settle(
    job: int,
    option: int,
    start: int,
    end: int,
    busy: Bits,
    options: Ints,
    starts: Starts,
    steps: int,
    chosen: Ints,
    begin: Ints,
    where: Ints,
) -> bool:
    """Place the job in [start, end) on the best fitting block, if there is one."""
    size = options[option, SIZE]
    gpu = best_block(busy, starts, options[option, FIRST_BLOCK], options[option, LAST_BLOCK], size, start, end, steps)
    where[job] = gpu
    if gpu == NOWHERE:
        return False
    chosen[job], begin[job] = option, start
    take(busy, gpu, size, start, end)
    return True
