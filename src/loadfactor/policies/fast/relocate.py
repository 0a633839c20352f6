"""Ruin and recreate on the grid: take a few neighbouring jobs out, put them and some left-out ones back better.

After Schrimpf et al. (2000) and Shaw (1998), with the acceptance rule of simulated annealing. Every state on the way
is a legal plan, because jobs are only ever put where the grid is free.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from loadfactor.policies.blocks import Starts
from loadfactor.policies.compiled import inner, kernel
from loadfactor.policies.fast.claims import MOST_CLAIMED, choose_claim
from loadfactor.policies.fast.counts import random_below
from loadfactor.policies.fast.floors import forget, most_options
from loadfactor.policies.fast.moving import remove, restore
from loadfactor.policies.fast.packing import insert
from loadfactor.policies.instance import (
    DURATION,
    FIRST_OPTION,
    LAST_OPTION,
    SIZE,
    Floats,
    Ints,
)
from loadfactor.policies.occupancy import NOWHERE, Bits

MOST_REMOVED = 8
MOST_ADDED = 5
ROOM = max(MOST_REMOVED + MOST_ADDED + 2, MOST_CLAIMED + 1)


@kernel
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
    earliest = np.empty(most_options(jobs), dtype=np.int64)
    moved = np.empty(ROOM, dtype=np.int64)
    before = np.empty((3, ROOM), dtype=np.int64)
    key = np.empty(ROOM, dtype=np.float64)
    best = np.empty((3, count), dtype=np.int64)
    gain, best_gain = 0.0, 0.0
    _note(best, chosen, begin, where)
    for _ in range(iterations):
        number = 0
        if random_below(random, 2) == 0:
            number = choose_claim(
                moved, focus, fixed, jobs, options, reward, starts, weight, chosen, begin, where, random
            )
        claimants = min(number, 1)
        if number == 0:
            number = _choose(moved, focus, chosen, begin, where, options, random)
        _shuffle(moved, claimants, number, key, options, reward, jobs, random)
        old = remove(
            moved, number, before, grid, node_of_gpu, first_of_node, pool_of_gpu, free, options, reward, weight,
            chosen, begin, where,
        )  # fmt: skip
        new = 0.0
        for i in range(number):
            forget(moved[i], jobs, earliest)
            new += insert(
                moved[i], grid, node_of_gpu, first_of_node, pool_of_gpu, free, jobs, options, reward, starts, weight,
                earliest, chosen, begin, where,
            )  # fmt: skip
        worse = old - new
        if worse <= 0 or random_below(random, 1 << 20) < math.exp(-worse / heat) * (1 << 20):
            gain -= worse
            if gain > best_gain + 1e-9:
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
def _choose(
    moved: Ints,
    focus: Ints,
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
        wanted = number + random_below(random, MOST_REMOVED)
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
    added = number + random_below(random, MOST_ADDED)
    for _ in range(2 * MOST_ADDED):
        job = random_below(random, count)
        if number >= added:
            break
        if where[job] == NOWHERE and not _among(moved, number, job):
            moved[number] = job
            number += 1
    return number


@inner
def _among(moved: Ints, number: int, job: int) -> bool:
    for i in range(number):  # noqa: SIM110 - numba compiles no generators
        if moved[i] == job:
            return True
    return False


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
    """Order the jobs from position `first` on, at random or by a noisy worth that counts size and duration too."""
    taste = random_below(random, 3)
    for i in range(first, number):
        option = jobs[moved[i], FIRST_OPTION]
        key[i] = 0.5 + random_below(random, 1024) / 1024
        if option == jobs[moved[i], LAST_OPTION]:
            key[i] = 0.0
        elif taste > 0:
            key[i] *= reward[option] * math.sqrt(options[option, DURATION])
            if taste > 1:
                key[i] /= math.sqrt(options[option, SIZE])
    for i in range(first + 1, number):
        job, rank = moved[i], key[i]
        j = i
        while j > first and key[j - 1] < rank:
            moved[j], key[j] = moved[j - 1], key[j - 1]
            j -= 1
        moved[j], key[j] = job, rank
