"""Ruin and recreate on the grid: take a few neighbouring jobs out, put them and some left-out ones back better.

After Schrimpf et al. (2000) and Shaw (1998), with the acceptance rule of simulated annealing. Every state on the way
is a legal plan, because jobs are only ever put where the grid is free.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from loadfactor.policies.blocks import Starts
from loadfactor.policies.compiled import inner, making_kernel
from loadfactor.policies.fast.claims import MOST_CLAIMED, choose_claim
from loadfactor.policies.fast.dice import random_below
from loadfactor.policies.fast.floors import forget, most_options
from loadfactor.policies.fast.moving import remove, restore
from loadfactor.policies.fast.packing import FEW_NODES, gain_at, insert
from loadfactor.policies.instance import (
    DURATION,
    FIRST_OPTION,
    LAST_OPTION,
    SIZE,
    SUBMIT,
    Floats,
    Ints,
)
from loadfactor.policies.occupancy import NOWHERE, Bits

MOST_REMOVED, MOST_ADDED = 24, 30
"""Jobs taken out, and jobs that wait tried beside them, on a few nodes, where room for a job is looked up at once."""
MOST_REMOVED_OF_MANY, MOST_ADDED_OF_MANY = 8, 5
"""The same on a large grid."""
TINY = 1e-9
ROOM = max(MOST_REMOVED + MOST_ADDED + 2, MOST_CLAIMED + 1)


@making_kernel
def improve(
    iterations: int,
    heat: float,
    cooling: float,
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
    focus: Ints,
    fixed: Bits,
    chosen: Ints,
    begin: Ints,
    where: Ints,
) -> float:
    """Run `iterations` of ruin and recreate on the plan in (`chosen`, `begin`, `where`) and `grid`.

    They are left with the best plan found; returns what it gained. Where `focus` names jobs, it is their neighbourhoods
    that are taken apart. `fixed` (N, W) are the bits that no job may have: services, running work, closed GPUs. `free`
    (P, T) counts the free GPUs of the grid, and is kept.
    """
    count, steps = len(jobs), len(weight) - 1
    earliest, moved = np.empty(most_options(jobs), dtype=np.int64), np.empty(ROOM, dtype=np.int64)
    before, best = np.empty((3, ROOM), dtype=np.int64), np.empty((3, count), dtype=np.int64)
    near, near_worth, key = np.empty((count, 3), dtype=np.int64), np.empty(count), np.empty(ROOM)
    meets, cost = np.empty(len(pool_of_gpu) + 1, dtype=np.int64), np.empty(len(pool_of_gpu) + 1)
    many = len(first_of_node) > FEW_NODES
    most_removed = MOST_REMOVED_OF_MANY if many else MOST_REMOVED
    most_added = MOST_ADDED_OF_MANY if many else MOST_ADDED
    gain, best_gain = 0.0, 0.0
    _note(best, chosen, begin, where)
    for _ in range(iterations):
        number = 0
        if random_below(random, 2) == 0:
            number = choose_claim(
                moved, focus, fixed, jobs, options, reward, starts, weight, chosen, begin, where, near, near_worth,
                meets, cost, random,
            )  # fmt: skip
        claimants = min(number, 1)
        if number == 0:
            number = _choose(moved, focus, most_removed, most_added, chosen, begin, where, options, random)
        _shuffle(moved, claimants, number, key, options, reward, jobs, random)
        old = remove(
            moved, number, before, grid, node_of_gpu, first_of_node, pool_of_gpu, free, options, reward, weight,
            chosen, begin, where,
        )  # fmt: skip
        least = old + heat * math.log((1 + random_below(random, 1 << 20)) / (1 << 20))
        new = _recreate(
            moved, number, least, grid, node_of_gpu, first_of_node, pool_of_gpu, free, jobs, options, reward, starts,
            weight, earliest, chosen, begin, where,
        )  # fmt: skip
        if new >= least:
            gain += new - old
            if gain > best_gain + TINY:
                best_gain = gain
                _note(best, chosen, begin, where)
        else:
            restore(
                moved, number, before, grid, node_of_gpu, first_of_node, pool_of_gpu, free, options, steps,
                chosen, begin, where,
            )  # fmt: skip
        heat *= cooling
    if gain < best_gain:
        restore(
            np.arange(count), count, best, grid, node_of_gpu, first_of_node, pool_of_gpu, free, options, steps,
            chosen, begin, where,
        )  # fmt: skip
    return best_gain


@inner
def _note(best: Ints, chosen: Ints, begin: Ints, where: Ints) -> None:
    for job in range(len(where)):
        best[0, job], best[1, job], best[2, job] = chosen[job], begin[job], where[job]


@inner
def _recreate(
    moved: Ints,
    number: int,
    least: float,
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
    """Place the jobs in this order and return what they earn; stop where it cannot be `least` any more."""
    hope, new = 0.0, 0.0
    for i in range(number):
        hope += _most(moved[i], jobs, options, reward, weight)
    for i in range(number):
        hope -= _most(moved[i], jobs, options, reward, weight)
        forget(moved[i], jobs, earliest)
        new += insert(
            moved[i], grid, node_of_gpu, first_of_node, pool_of_gpu, free, jobs, options, reward, starts, weight,
            earliest, chosen, begin, where,
        )  # fmt: skip
        if new + hope < least - TINY:
            break
    return new


@inner
def _most(job: int, jobs: Ints, options: Ints, reward: Floats, weight: Floats) -> float:
    """Return what the job would earn if it could start at once, with its best option."""
    most = 0.0
    for option in range(jobs[job, FIRST_OPTION], jobs[job, LAST_OPTION]):
        most = max(most, gain_at(option, jobs[job, SUBMIT], options, reward, weight))
    return most


@inner
def _choose(
    moved: Ints,
    focus: Ints,
    most_removed: int,
    most_added: int,
    chosen: Ints,
    begin: Ints,
    where: Ints,
    options: Ints,
    random: npt.NDArray[np.uint64],
) -> int:
    """Choose jobs to take out and some that are left out; return how many.

    Most often the jobs that share GPUs and steps with the neighbourhood of one of them, so that a larger hole opens;
    otherwise jobs that run at about the same time anywhere. A job that is left out gets the neighbourhood of another.
    """
    count = len(where)
    anchor = focus[random_below(random, len(focus))] if len(focus) > 0 else random_below(random, count)
    moved[0], number = anchor, 1
    for _ in range(8):
        if where[anchor] != NOWHERE:
            break
        anchor = random_below(random, count)
    if where[anchor] != NOWHERE:
        if anchor != moved[0]:
            moved[1], number = anchor, 2
        wanted = number + random_below(random, most_removed)
        margin = random_below(random, 5)
        low, high = begin[anchor] - margin, begin[anchor] + options[chosen[anchor], DURATION] + margin
        left, right = 0, 1 << 30
        if random_below(random, 4) > 0:
            reach = options[chosen[anchor], SIZE] << random_below(random, 3)
            left, right = where[anchor] - reach, where[anchor] + reach
        offset = random_below(random, count)
        for step in range(count):
            job = step + offset if step + offset < count else step + offset - count
            if number >= wanted:
                break
            option = chosen[job]
            if job == anchor or where[job] == NOWHERE or begin[job] >= high or where[job] >= right:
                continue
            if begin[job] + options[option, DURATION] > low and where[job] + options[option, SIZE] > left:
                moved[number] = job
                number += 1
    return _add_waiting(moved, number, number + random_below(random, most_added), where, random)


@inner
def _add_waiting(moved: Ints, number: int, wanted: int, where: Ints, random: npt.NDArray[np.uint64]) -> int:
    """Add jobs that are left out, from a random one on, until there are `wanted`; return how many there are."""
    count = len(where)
    anchor, job = moved[0], random_below(random, count)
    for _ in range(count):
        if number >= wanted:
            break
        if where[job] == NOWHERE and job != anchor:
            moved[number] = job
            number += 1
        job = job + 1 if job + 1 < count else 0
    return number


@inner
def _shuffle(
    moved: Ints,
    first: int,
    number: int,
    key: Floats,
    options: Ints,
    reward: Floats,
    jobs: Ints,
    random: npt.NDArray[np.uint64],
) -> None:
    """Order the jobs from position `first` on by a noisy worth that counts size and duration too.

    Of both a power of 0, 1/2 or more, another one every time: which order packs best differs from place to place.
    """
    size_taste, duration_taste = random_below(random, 3), random_below(random, 4)
    for i in range(first, number):
        option = jobs[moved[i], LAST_OPTION] - 1
        key[i] = 0.0
        if jobs[moved[i], FIRST_OPTION] <= option:
            size, duration = options[option, SIZE], options[option, DURATION]
            key[i] = reward[option] * _power(duration, duration_taste) / _power(size, size_taste)
            key[i] *= 1 + random_below(random, 1024) / 1024
    for i in range(first + 1, number):
        job, rank = moved[i], key[i]
        j = i
        while j > first and key[j - 1] < rank:
            moved[j], key[j] = moved[j - 1], key[j - 1]
            j -= 1
        moved[j], key[j] = job, rank


@inner
def _power(number: int, halves: int) -> float:
    """Return the number to the power of 0, 1/2, 1 or 3/2."""
    power = 1.0 if halves < 2 else float(number)
    return power * math.sqrt(number) if halves & 1 else power
