"""Ruin and recreate on the grid: take a few neighbouring jobs out, put them and some left-out ones back better.

After Schrimpf et al. (2000) and Shaw (1998), with the acceptance rule of simulated annealing. Every state on the way is a
legal plan, because jobs are only ever put where the grid is free.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from loadfactor.policies.fast.counts import earliest_count, random_below
from loadfactor.policies.fast.packing import best_block, insert
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
    Starts,
)
from loadfactor.policies.occupancy import NOWHERE, Bits, lowest_bit, release, take

MOST_REMOVED = 8
MOST_ADDED = 5


@njit(cache=True)
def pack(
    order: Ints, grid: Bits, options: Ints, starts: Starts, steps: int, chosen: Ints, begin: Ints, where: Ints
) -> None:
    """Put every job that has a start on the best block there, in `order`, where there is one.

    Each kind of block is searched from where the last one was found, so that the full part is not read every time.
    """
    cursors = np.zeros(len(starts), dtype=np.int64)
    for job in order:
        option, start = chosen[job], begin[job]
        if option == NOWHERE:
            continue
        size, end = options[option, SIZE], min(start + options[option, DURATION], steps)
        low, high = options[option, FIRST_BLOCK], options[option, LAST_BLOCK]
        index = best_block(grid, starts, low, high, max(cursors[low], low), size, start, end, steps)
        if index != NOWHERE:
            where[job] = starts[index]
            cursors[low] = index
            take(grid, where[job], size, start, end)


@njit(cache=True)
def insert_all(
    order: Ints,
    grid: Bits,
    free: Ints,
    jobs: Ints,
    options: Ints,
    reward: Floats,
    starts: Starts,
    weight: Floats,
    chosen: Ints,
    begin: Ints,
    where: Ints,
) -> None:
    """Place the jobs that have no block yet at their earliest start anywhere, in `order`.

    `free` (P, T) counts the free GPUs of `grid`, so that a job for which there are too few is not looked for.
    """
    steps = len(weight) - 1
    for job in order:
        if where[job] != NOWHERE or not _is_countable(job, free, jobs, options):
            continue
        insert(job, grid, jobs, options, reward, starts, weight, steps, chosen, begin, where)
        if where[job] != NOWHERE and options[chosen[job], POOL] >= 0:
            pool, size = options[chosen[job], POOL], options[chosen[job], SIZE]
            for t in range(begin[job], min(begin[job] + options[chosen[job], DURATION], steps)):
                free[pool, t] -= size


@njit(cache=True)
def _is_countable(job: int, free: Ints, jobs: Ints, options: Ints) -> bool:
    """Return whether enough GPUs are free for some option of the job, wherever they lie."""
    for option in range(jobs[job, FIRST_OPTION], jobs[job, LAST_OPTION]):
        pool, size, duration = options[option, POOL], options[option, SIZE], options[option, DURATION]
        if pool < 0:
            return True
        if earliest_count(free, pool, size, duration, jobs[job, SUBMIT], options[option, LAST_START]) != NOWHERE:
            return True
    return False


@njit(cache=True)
def count_free(grid: Bits, pool_of_gpu: Ints, free: Ints) -> None:
    """Write the number of free GPUs of every pool and step to `free` (P, T)."""
    for pool in range(free.shape[0]):
        for t in range(free.shape[1]):
            free[pool, t] = 0
    for gpu in range(grid.shape[0]):
        for word in range(grid.shape[1]):
            idle = ~grid[gpu, word]
            while idle != 0:
                t = (word << 6) + lowest_bit(idle)
                if t >= free.shape[1]:
                    break
                free[pool_of_gpu[gpu], t] += 1
                idle &= idle - np.uint64(1)


@njit(cache=True)
def total_worth(options: Ints, reward: Floats, weight: Floats, chosen: Ints, begin: Ints, where: Ints) -> float:
    """Return what all placed jobs add to the objective."""
    total = 0.0
    for job in range(len(where)):
        if where[job] != NOWHERE:
            total += worth(job, options, reward, weight, chosen, begin)
    return total


@njit(cache=True)
def worth(job: int, options: Ints, reward: Floats, weight: Floats, chosen: Ints, begin: Ints) -> float:
    """Return what the placed job adds to the objective."""
    option, start = chosen[job], begin[job]
    end = min(start + options[option, DURATION], len(weight) - 1)
    gain: float = reward[option] * (weight[end] - weight[start])
    return gain


@njit(cache=True)
def improve(
    iterations: int,
    heat: float,
    cooling: float,
    grid: Bits,
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
    """Run `iterations` of ruin and recreate on the plan in (`chosen`, `begin`, `where`) and `grid`.

    They are left with the best plan found; returns what it gained.
    """
    count, steps = len(jobs), len(weight) - 1
    moved = np.empty(MOST_REMOVED + MOST_ADDED, dtype=np.int64)
    before = np.empty((3, MOST_REMOVED + MOST_ADDED), dtype=np.int64)
    key = np.empty(MOST_REMOVED + MOST_ADDED, dtype=np.float64)
    best = np.empty((3, count), dtype=np.int64)
    gain, best_gain = 0.0, 0.0
    _note(best, chosen, begin, where)
    for _ in range(iterations):
        number = _choose(moved, chosen, begin, where, options, random)
        _shuffle(moved, number, key, options, reward, jobs, random)
        old = _remove(moved, number, before, grid, options, reward, weight, chosen, begin, where)
        new = 0.0
        for i in range(number):
            new += insert(moved[i], grid, jobs, options, reward, starts, weight, steps, chosen, begin, where)
        worse = old - new
        if worse <= 0 or random_below(random, 1 << 20) < math.exp(-worse / heat) * (1 << 20):
            gain -= worse
            if gain > best_gain + 1e-9:
                best_gain = gain
                _note(best, chosen, begin, where)
        else:
            _restore(moved, number, before, grid, options, steps, chosen, begin, where)
        heat *= cooling
    if gain < best_gain:
        _return_to(best, grid, options, steps, chosen, begin, where)
    return best_gain


@njit(cache=True)
def _note(best: Ints, chosen: Ints, begin: Ints, where: Ints) -> None:
    for job in range(len(where)):
        best[0, job], best[1, job], best[2, job] = chosen[job], begin[job], where[job]


@njit(cache=True)
def _return_to(best: Ints, grid: Bits, options: Ints, steps: int, chosen: Ints, begin: Ints, where: Ints) -> None:
    """Make `best` the plan again."""
    for job in range(len(where)):
        if where[job] != NOWHERE:
            end = min(begin[job] + options[chosen[job], DURATION], steps)
            release(grid, where[job], options[chosen[job], SIZE], begin[job], end)
    for job in range(len(where)):
        chosen[job], begin[job], where[job] = best[0, job], best[1, job], best[2, job]
        if where[job] != NOWHERE:
            end = min(begin[job] + options[chosen[job], DURATION], steps)
            take(grid, where[job], options[chosen[job], SIZE], begin[job], end)


@njit(cache=True)
def _choose(moved: Ints, chosen: Ints, begin: Ints, where: Ints, options: Ints, random: npt.NDArray[np.uint64]) -> int:
    """Choose jobs to take out and some that are left out; return how many.

    Most often the jobs that share GPUs and steps with the neighbourhood of one of them, so that a larger hole opens;
    otherwise jobs that run at about the same time anywhere.
    """
    count = len(where)
    seed = random_below(random, count)
    for _ in range(8):
        if where[seed] != NOWHERE:
            break
        seed = random_below(random, count)
    moved[0], number = seed, 1
    if where[seed] != NOWHERE:
        wanted = 1 + random_below(random, MOST_REMOVED)
        margin = random_below(random, 5)
        low, high = begin[seed] - margin, begin[seed] + options[chosen[seed], DURATION] + margin
        left, right = 0, 1 << 30
        if random_below(random, 4) > 0:
            reach = options[chosen[seed], SIZE] << random_below(random, 3)
            left, right = where[seed] - reach, where[seed] + reach
        offset = random_below(random, count)
        for step in range(count):
            job = step + offset if step + offset < count else step + offset - count
            if number >= wanted:
                break
            option = chosen[job]
            if job == seed or where[job] == NOWHERE or begin[job] >= high or where[job] >= right:
                continue
            if begin[job] + options[option, DURATION] > low and where[job] + options[option, SIZE] > left:
                moved[number] = job
                number += 1
    added = number + random_below(random, MOST_ADDED)
    for _ in range(2 * MOST_ADDED):
        job = random_below(random, count)
        if number >= added:
            break
        if where[job] == NOWHERE and not _among(moved, number, job):
            moved[number] = job
            number += 1
    return number


@njit(cache=True)
def _among(moved: Ints, number: int, job: int) -> bool:
    for i in range(number):
        if moved[i] == job:
            return True
    return False


@njit(cache=True)
def _remove(
    moved: Ints,
    number: int,
    before: Ints,
    grid: Bits,
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
            release(grid, where[job], options[chosen[job], SIZE], begin[job], end)
    return old


@njit(cache=True)
def _shuffle(
    moved: Ints,
    number: int,
    key: Floats,
    options: Ints,
    reward: Floats,
    jobs: Ints,
    random: npt.NDArray[np.uint64],
) -> None:
    """Order the jobs by a noisy mixture of priority and size."""
    taste = random_below(random, 3)
    for i in range(number):
        option = jobs[moved[i], FIRST_OPTION]
        key[i] = 0.5 + random_below(random, 1024) / 1024
        if option == jobs[moved[i], LAST_OPTION]:
            key[i] = 0.0
        elif taste > 0:
            key[i] *= reward[option] if taste == 1 else reward[option] / options[option, SIZE]
    for i in range(1, number):
        job, rank = moved[i], key[i]
        j = i
        while j > 0 and key[j - 1] < rank:
            moved[j], key[j] = moved[j - 1], key[j - 1]
            j -= 1
        moved[j], key[j] = job, rank


@njit(cache=True)
def _restore(
    moved: Ints,
    number: int,
    before: Ints,
    grid: Bits,
    options: Ints,
    steps: int,
    chosen: Ints,
    begin: Ints,
    where: Ints,
) -> None:
    """Take the jobs out again and put each back where it was."""
    for i in range(number):
        job = moved[i]
        if where[job] != NOWHERE:
            end = min(begin[job] + options[chosen[job], DURATION], steps)
            release(grid, where[job], options[chosen[job], SIZE], begin[job], end)
    for i in range(number):
        job = moved[i]
        chosen[job], begin[job], where[job] = before[0, i], before[1, i], before[2, i]
        if where[job] != NOWHERE:
            end = min(begin[job] + options[chosen[job], DURATION], steps)
            take(grid, where[job], options[chosen[job], SIZE], begin[job], end)
