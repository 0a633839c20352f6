"""A claim: a job that waits or is left out asks for a block at a better time, and whoever is in the way must move.

The directed move of ruin and recreate: the block is the one whose occupants are worth least.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from loadfactor.policies.blocks import Starts
from loadfactor.policies.compiled import inner
from loadfactor.policies.fast.dice import random_below
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
)
from loadfactor.policies.occupancy import NOWHERE, Bits, next_busy

MOST_CLAIMED = 16
"""Jobs that may have to move for one; a block that needs more is passed over."""
TRIES = 6
JOB, FIRST, BEHIND = range(3)
MOST_BLOCKS = 1024
"""Blocks compared for a claim, so that a claim costs microseconds."""


@inner
def choose_claim(
    moved: Ints,
    focus: Ints,
    fixed: Bits,
    jobs: Ints,
    options: Ints,
    reward: Floats,
    starts: Starts,
    weight: Floats,
    chosen: Ints,
    begin: Ints,
    where: Ints,
    near: Ints,
    worth: Floats,
    meets: Ints,
    cost: Floats,
    random: npt.NDArray[np.uint64],
) -> int:
    """Write a job with a claim and those in its way to `moved`; return how many, or 0 where no claim was found.

    `near` (m, 3), `worth` (m,), `meets` and `cost` (N + 1,) are overwritten.
    """
    steps = len(weight) - 1
    job = _claimant(focus, jobs, begin, where, random)
    if job == NOWHERE:
        return 0
    option = jobs[job, FIRST_OPTION] + random_below(random, jobs[job, LAST_OPTION] - jobs[job, FIRST_OPTION])
    first, last = jobs[job, SUBMIT], options[option, LAST_START]
    if where[job] != NOWHERE:
        last = min(last, begin[job] - 1)
    if last < first:
        return 0
    start = first + min(random_below(random, last - first + 1), random_below(random, last - first + 1))
    end = min(start + options[option, DURATION], steps)
    count = _meeting(job, start, end, options, reward, weight, chosen, begin, where, near, worth, random)
    gpu = _cheapest_block(option, start, end, fixed, options, starts, near, worth, count, meets, cost, steps, random)
    if gpu == NOWHERE:
        return 0
    moved[0], number = job, 1
    for k in range(count):
        if near[k, FIRST] < gpu + options[option, SIZE] and near[k, BEHIND] > gpu:
            moved[number] = near[k, JOB]
            number += 1
    return number


@inner
def _claimant(focus: Ints, jobs: Ints, begin: Ints, where: Ints, random: npt.NDArray[np.uint64]) -> int:
    """Return a job that is left out or starts after its submit, or -1."""
    for _ in range(TRIES):
        job = focus[random_below(random, len(focus))] if len(focus) > 0 else random_below(random, len(where))
        if jobs[job, FIRST_OPTION] == jobs[job, LAST_OPTION]:
            continue
        if where[job] == NOWHERE or begin[job] > jobs[job, SUBMIT]:
            return job
    return NOWHERE


@inner
def _meeting(
    job: int,
    start: int,
    end: int,
    options: Ints,
    reward: Floats,
    weight: Floats,
    chosen: Ints,
    begin: Ints,
    where: Ints,
    near: Ints,
    worth: Floats,
    random: npt.NDArray[np.uint64],
) -> int:
    """Write the other jobs that run in [start, end), their GPUs and what each is worth, give or take.

    To `near` (JOB, FIRST and BEHIND its GPUs) and `worth`; return how many.
    """
    steps, count = len(weight) - 1, 0
    for other in range(len(where)):
        if where[other] == NOWHERE or other == job or begin[other] >= end:
            continue
        until = begin[other] + options[chosen[other], DURATION]
        if until > start:
            near[count, JOB], near[count, FIRST] = other, where[other]
            near[count, BEHIND] = where[other] + options[chosen[other], SIZE]
            earned = weight[min(until, steps)] - weight[begin[other]]
            worth[count] = reward[chosen[other]] * earned * (0.5 + random_below(random, 1024) / 1024)
            count += 1
    return count


@inner
def _cheapest_block(
    option: int,
    start: int,
    end: int,
    fixed: Bits,
    options: Ints,
    starts: Starts,
    near: Ints,
    worth: Floats,
    count: int,
    meets: Ints,
    cost: Floats,
    steps: int,
    random: npt.NDArray[np.uint64],
) -> int:
    """Return the first GPU of the block whose occupants are worth least, or -1; the blocks come in any order.

    A job is in the way of all blocks that begin on a run of GPUs: it is added to the first of them and taken off behind
    the last, so that running sums are what each block costs.
    """
    size = options[option, SIZE]
    low, high = options[option, FIRST_BLOCK], options[option, LAST_BLOCK]
    if high - low > MOST_BLOCKS:
        low += random_below(random, high - low - MOST_BLOCKS + 1)
        high = low + MOST_BLOCKS
    left, right = starts[low], starts[low] + 1
    for index in range(low, high):
        left, right = min(left, starts[index]), max(right, starts[index] + 1)
    for gpu in range(right - left + 1):
        meets[gpu], cost[gpu] = 0, 0.0
    for k in range(count):
        first, behind = max(near[k, FIRST] - size + 1, left) - left, min(near[k, BEHIND], right) - left
        if first < behind:
            meets[first] += 1
            meets[behind] -= 1
            cost[first] += worth[k]
            cost[behind] -= worth[k]
    for gpu in range(1, right - left + 1):
        meets[gpu], cost[gpu] = meets[gpu] + meets[gpu - 1], cost[gpu] + cost[gpu - 1]
    best, least = NOWHERE, np.inf
    for index in range(low, high):
        gpu, at = starts[index], starts[index] - left
        if cost[at] < least and meets[at] < MOST_CLAIMED and next_busy(fixed, gpu, size, start, steps) >= end:
            best, least = gpu, cost[at]
    return best
