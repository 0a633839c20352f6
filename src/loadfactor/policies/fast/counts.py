"""The search in counts: which job starts when at which size, and how much of each service's peak is served.

No positions here: a pool is one number a step. A permutation of the jobs is decoded by placing each at its earliest
start; simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983) moves the permutation, the sizes of moldable jobs and
the demand that services aim at. A left-justified schedule for every set of sizes and service curves is the image of
some permutation, and since decay <= 1 makes early work worth at least as much, none of the others is better.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from loadfactor.policies.compiled import inner, making_kernel
from loadfactor.policies.fast.curves import NONE, move_aim, serve, shortfall_cost
from loadfactor.policies.fast.dice import random_below
from loadfactor.policies.instance import (
    DURATION,
    FIRST_OPTION,
    LAST_OPTION,
    LAST_START,
    POOL,
    SIZE,
    SUBMIT,
    Floats,
    Ints,
)

ANY = -1


@inner
def copy(source: Ints, target: Ints) -> None:
    """Copy a matrix; a loop, because compiling a slice assignment takes seconds."""
    for row in range(source.shape[0]):
        for column in range(source.shape[1]):
            target[row, column] = source[row, column]


@inner
def earliest_count(free: Ints, pool: int, size: int, duration: int, first: int, last: int) -> int:
    """Return the first start in [first, last] at which `size` GPUs of the pool stay free long enough, or -1."""
    steps = free.shape[1]
    start = first
    for t in range(first, steps):
        if free[pool, t] < size:
            start = t + 1
            if start > last:
                return NONE
        elif t + 1 - start >= duration:
            return start
    return start if start <= last else NONE


@inner
def place(
    job: int,
    sizes: Ints,
    jobs: Ints,
    options: Ints,
    reward: Floats,
    weight: Floats,
    free: Ints,
    chosen: Ints,
    begin: Ints,
) -> float:
    """Place the job at its earliest start; return its reward, 0 where it is left out.

    Writes its option and start to `chosen` and `begin` (both -1 where it is left out) and takes the GPUs out of `free`.
    A job with several options takes the one that is worth most there and then, unless `sizes` names one.
    """
    steps, submit = free.shape[1], jobs[job, SUBMIT]
    best_option, best_start, best_reward = NONE, NONE, 0.0
    for option in range(jobs[job, LAST_OPTION] - 1, jobs[job, FIRST_OPTION] - 1, -1):
        size, duration, pool = options[option, SIZE], options[option, DURATION], options[option, POOL]
        if pool < 0 or (sizes[job] != ANY and sizes[job] != size):
            continue
        most = reward[option] * (weight[min(submit + duration, steps)] - weight[submit])
        if best_option != NONE and most <= best_reward:
            continue
        start = earliest_count(free, pool, size, duration, submit, options[option, LAST_START])
        if start == NONE:
            continue
        gain = reward[option] * (weight[min(start + duration, steps)] - weight[start])
        if best_option == NONE or gain > best_reward:
            best_option, best_start, best_reward = option, start, gain
    chosen[job], begin[job] = best_option, best_start
    count_job(free, best_option, best_start, options, -1)
    return best_reward


@inner
def count_job(free: Ints, option: int, start: int, options: Ints, sign: int) -> None:
    """Add the GPUs of a placed job (sign 1) to the free ones, or take them away (-1)."""
    if option == NONE:
        return
    pool, change = options[option, POOL], sign * options[option, SIZE]
    for t in range(start, min(start + options[option, DURATION], free.shape[1])):
        free[pool, t] += change


@inner
def decode(
    order: Ints,
    sizes: Ints,
    jobs: Ints,
    options: Ints,
    reward: Floats,
    weight: Floats,
    free: Ints,
    chosen: Ints,
    begin: Ints,
) -> float:
    """Place the jobs in `order`, each at its earliest start; return the reward."""
    total = 0.0
    for job in order:
        total += place(job, sizes, jobs, options, reward, weight, free, chosen, begin)
    return total


@making_kernel
def best_order(
    orders: Ints,
    state: Ints,
    jobs: Ints,
    options: Ints,
    reward: Floats,
    weight: Floats,
    base: Ints,
    chosen: Ints,
    begin: Ints,
) -> None:
    """Write the order of the rows of `orders` (K, m) that is worth most on the free GPUs of `base` to `state`."""
    free = np.empty(base.shape, dtype=np.int64)
    best, best_row = -1.0, 0
    for row in range(len(orders)):
        copy(base, free)
        value = decode(orders[row], state[1], jobs, options, reward, weight, free, chosen, begin)
        if value > best:
            best, best_row = value, row
    for k in range(state.shape[1]):
        state[0, k] = orders[best_row, k]


@inner
def move_jobs(order: Ints, sizes: Ints, jobs: Ints, options: Ints, begin: Ints, random: npt.NDArray[np.uint64]) -> None:
    """Let a job that waits or is left out choose earlier, swap two jobs, or change the size of a moldable one."""
    count = len(order)
    i = random_below(random, count)
    for _ in range(4):
        if begin[order[i]] != jobs[order[i], SUBMIT]:
            break
        i = random_below(random, count)
    job = order[i]
    choices = jobs[job, LAST_OPTION] - jobs[job, FIRST_OPTION]
    if choices > 1 and random_below(random, 6) == 0:
        pick = random_below(random, choices + 1)
        sizes[job] = ANY if pick == choices else options[jobs[job, FIRST_OPTION] + pick, SIZE]
        return
    j = random_below(random, count)
    kind = random_below(random, 4)
    if kind == 0:
        order[i], order[j] = order[j], order[i]
        return
    if kind < 3:
        j = random_below(random, i + 1)
    step = 1 if i < j else -1
    for k in range(i, j, step):
        order[k] = order[k + step]
    order[j] = job


@making_kernel
def anneal(
    iterations: int,
    heat: float,
    cooling: float,
    state: Ints,
    aims: Ints,
    jobs: Ints,
    options: Ints,
    reward: Floats,
    weight: Floats,
    services: Ints,
    demand: Ints,
    price: Floats,
    service_pools: npt.NDArray[np.bool_],
    kept: Ints,
    base: Ints,
    random: npt.NDArray[np.uint64],
    chosen: Ints,
    begin: Ints,
    curves: Ints,
) -> float:
    """Anneal from `state` (2, m: order and sizes) and `aims`, leave the best state found there and its decoding in
    the last three.

    Returns the value of that state. `heat` is the first temperature, multiplied by `cooling` with every iteration.
    """
    free, served = np.empty(base.shape, dtype=np.int64), np.empty(base.shape, dtype=np.int64)
    tried_curves = np.empty(curves.shape, dtype=np.int64)
    serve(aims, services, service_pools, kept, base, served, tried_curves)
    cost = shortfall_cost(demand, price, tried_curves)
    copy(served, free)
    value = decode(state[0], state[1], jobs, options, reward, weight, free, chosen, begin) - cost
    best = value
    current, trial = np.empty(state.shape, dtype=np.int64), np.empty(state.shape, dtype=np.int64)
    copy(state, current)
    copy(state, trial)
    current_aims, trial_aims = np.empty(aims.shape, dtype=np.int64), np.empty(aims.shape, dtype=np.int64)
    copy(aims, current_aims)
    copy(aims, trial_aims)
    for _ in range(iterations):
        trial_cost = cost
        moves_aim = len(services) > 0 and random_below(random, 6) == 0
        if moves_aim or state.shape[1] == 0:
            if len(services) == 0:
                break
            move_aim(trial_aims, demand, random)
            serve(trial_aims, services, service_pools, kept, base, served, tried_curves)
            trial_cost = shortfall_cost(demand, price, tried_curves)
        else:
            move_jobs(trial[0], trial[1], jobs, options, begin, random)
        copy(served, free)
        trial_value = decode(trial[0], trial[1], jobs, options, reward, weight, free, chosen, begin) - trial_cost
        worse = value - trial_value
        if worse <= 0 or random_below(random, 1 << 20) < math.exp(-worse / heat) * (1 << 20):
            value, cost = trial_value, trial_cost
            if moves_aim:
                copy(trial_aims, current_aims)
            else:
                copy(trial, current)
            if value > best + 1e-9:
                best = value
                copy(trial, state)
                copy(trial_aims, aims)
        elif moves_aim:
            copy(current_aims, trial_aims)
            serve(trial_aims, services, service_pools, kept, base, served, tried_curves)
        else:
            copy(current, trial)
        heat *= cooling
    serve(aims, services, service_pools, kept, base, free, curves)
    decode(state[0], state[1], jobs, options, reward, weight, free, chosen, begin)
    return best
