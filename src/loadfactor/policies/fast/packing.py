"""Jobs on the grid: the best fitting block at a given start, and the earliest start of any block.

Everything here works on a grid of bits (see `loadfactor.policies.occupancy`) and only ever takes what is free there.
"""

from __future__ import annotations

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
from loadfactor.policies.occupancy import (
    NOWHERE,
    Bits,
    earliest_in_block,
    highest_bit,
    lowest_bit,
    mask_between,
    next_busy,
    take,
)

ENOUGH = 24
"""Feasible blocks compared before best fit is content; more hardly ever change the choice and cost time at scale."""
FAR = 1 << 30
MISALIGNED = 8
"""Idle steps a GPU that a misaligned block is taken to cost."""


@njit(cache=True)
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


@njit(cache=True)
def misfit(busy: Bits, gpu: int, size: int, start: int, end: int, steps: int) -> int:
    """Return how much idle time a block would leave around [start, end): the less, the better the fit.

    Idle steps just before and after, on each GPU; a block that is not aligned to its size also breaks a larger one.
    """
    gap = 0 if gpu % size == 0 else MISALIGNED * size
    for other in range(gpu, gpu + size):
        gap += idle_around(busy, other, start, end, steps)
    return gap


@njit(cache=True)
def best_block(
    busy: Bits, starts: Starts, low: int, high: int, cursor: int, size: int, start: int, end: int, steps: int
) -> int:
    """Return the position in `starts` of the best fitting block that is free in [start, end), or -1.

    The search begins at `cursor` and goes round once.
    """
    best, least, feasible = NOWHERE, FAR, 0
    for step in range(high - low):
        index = cursor + step if cursor + step < high else cursor + step - high + low
        gpu = starts[index]
        if next_busy(busy, gpu, size, start, steps) < end:
            continue
        gap = misfit(busy, gpu, size, start, end, steps)
        if gap < least:
            best, least = index, gap
        feasible += 1
        if feasible >= ENOUGH or gap == 0:
            break
    return best


@njit(cache=True)
def earliest_best(
    busy: Bits, starts: Starts, low: int, high: int, size: int, duration: int, first: int, last: int, steps: int
) -> tuple[int, int]:
    """Return (start, first GPU) of the earliest start of any candidate block in [first, last], best fit; or -1s."""
    best, gpu_of_best, least, feasible = NOWHERE, NOWHERE, FAR, 0
    for index in range(low, high):
        gpu = starts[index]
        start = earliest_in_block(busy, gpu, size, duration, first, last, steps)
        if start == NOWHERE:
            continue
        gap = misfit(busy, gpu, size, start, min(start + duration, steps), steps)
        if start < last or best == NOWHERE or gap < least:
            if start < last or best == NOWHERE:
                feasible = 0
            best, gpu_of_best, least, last = start, gpu, gap, start
        feasible += 1
        if start == first and (gap == 0 or feasible >= ENOUGH):
            break
    return best, gpu_of_best


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
    best_gain, best_option, best_start, best_gpu = -1.0, NOWHERE, NOWHERE, NOWHERE
    for option in range(jobs[job, FIRST_OPTION], jobs[job, LAST_OPTION]):
        size, duration = options[option, SIZE], options[option, DURATION]
        low, high = options[option, FIRST_BLOCK], options[option, LAST_BLOCK]
        last = options[option, LAST_START]
        start, gpu = earliest_best(busy, starts, low, high, size, duration, jobs[job, SUBMIT], last, steps)
        if start != NOWHERE:
            gain = reward[option] * (weight[min(start + duration, steps)] - weight[start])
            if gain > best_gain:
                best_gain, best_option, best_start, best_gpu = gain, option, start, gpu
    chosen[job], begin[job], where[job] = best_option, best_start, best_gpu
    if best_option == NOWHERE:
        return 0.0
    end = min(best_start + options[best_option, DURATION], steps)
    take(busy, best_gpu, options[best_option, SIZE], best_start, end)
    return best_gain
