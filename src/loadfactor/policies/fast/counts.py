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
from loadfactor.policies.instance import (
    DURATION,
    FIRST_OPTION,
    HELD,
    LAST_OPTION,
    LAST_START,
    MAX_GPUS,
    MAX_SWAP,
    POOL,
    SIZE,
    SUBMIT,
    Floats,
    Ints,
)

NONE = -1
ANY = -1


@inner
def random_below(state: npt.NDArray[np.uint64], bound: int) -> int:
    """Return a random integer in [0, bound) (xorshift64*, Vigna 2016)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    number = (x * np.uint64(2685821657736338717)) >> np.uint64(33)
    return (np.int64(number) * bound) >> 31  # type: ignore[return-value]  # an integer once compiled


@inner
def copy(source: Ints, target: Ints) -> None:
    """Copy a matrix; a loop, because compiling a slice assignment takes seconds."""
    for row in range(source.shape[0]):
        for column in range(source.shape[1]):
            target[row, column] = source[row, column]


@making_kernel
def serve(
    aims: Ints,
    services: Ints,
    service_pools: npt.NDArray[np.bool_],
    kept: Ints,
    base: Ints,
    free: Ints,
    curves: Ints,
) -> None:
    """Serve the services one after the other, each by the least curve that its swap cap allows.

    Writes the GPUs held at every step to `curves` (S, P, T) and what is left of `base` to `free` (P, T). The least
    curve that meets all aims is a(t) = max over u of aim(u) - cap·|u - t|; the most that may be held is the same
    with min over what is available.
    """
    pools, steps = base.shape
    for pool in range(pools):
        for t in range(steps):
            free[pool, t] = base[pool, t]
            for service in range(services.shape[0]):
                free[pool, t] -= kept[service, pool, t]
    most, level = np.empty(steps, dtype=np.int64), np.empty(steps, dtype=np.int64)
    for service in range(services.shape[0]):
        for pool in range(pools):
            for t in range(steps):
                free[pool, t] += kept[service, pool, t]
        most_to_hold(service, services, service_pools, free, most)
        least_to_hold(service, aims, services, most, level)
        share_out(service, service_pools, kept, level, free, curves)


@inner
def most_to_hold(service: int, services: Ints, service_pools: npt.NDArray[np.bool_], free: Ints, most: Ints) -> None:
    """Write the highest curve that the service may follow among the free GPUs to `most` (T,)."""
    steps, cap, held = len(most), services[service, MAX_SWAP], services[service, HELD]
    for t in range(steps):
        most[t] = 0
        for pool in range(free.shape[0]):
            if service_pools[service, pool]:
                most[t] += max(free[pool, t], 0)
        most[t] = min(most[t], services[service, MAX_GPUS])
        if held != NONE:
            most[t] = min(most[t], held + cap * (t + 1))
    for t in range(1, steps):
        most[t] = min(most[t], most[t - 1] + cap)
    for t in range(steps - 2, -1, -1):
        most[t] = min(most[t], most[t + 1] + cap)


@inner
def least_to_hold(service: int, aims: Ints, services: Ints, most: Ints, level: Ints) -> None:
    """Write the lowest curve that meets the aims, as far as `most` lets it, to `level` (T,)."""
    steps, cap, held = len(most), services[service, MAX_SWAP], services[service, HELD]
    for t in range(steps):
        level[t] = min(aims[service, t], most[t])
    if held != NONE:
        level[0] = max(level[0], min(most[0], held - cap))
    for t in range(1, steps):
        level[t] = max(level[t], level[t - 1] - cap)
    for t in range(steps - 2, -1, -1):
        level[t] = max(level[t], level[t + 1] - cap)


@inner
def share_out(
    service: int, service_pools: npt.NDArray[np.bool_], kept: Ints, level: Ints, free: Ints, curves: Ints
) -> None:
    """Take the GPUs of the level from the pools: first those that the service cannot give back yet, then any."""
    for t in range(len(level)):
        wanted = level[t]
        for pool in range(free.shape[0]):
            given = max(0, min(wanted, kept[service, pool, t], free[pool, t]))
            curves[service, pool, t] = given
            wanted -= given
        for pool in range(free.shape[0]):
            if service_pools[service, pool]:
                more = max(0, min(wanted, free[pool, t] - curves[service, pool, t]))
                curves[service, pool, t] += more
                wanted -= more
            free[pool, t] -= curves[service, pool, t]


@inner
def shortfall_cost(demand: Ints, price: Floats, curves: Ints) -> float:
    """Return the penalty of the demand that `curves` (S, P, T) leaves unmet."""
    cost = 0.0
    for service in range(demand.shape[0]):
        for t in range(demand.shape[1]):
            missing = demand[service, t]
            for pool in range(curves.shape[1]):
                missing -= curves[service, pool, t]
            if missing > 0:
                cost += price[service] * missing
    return cost


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
    """Place the jobs in `order`, each at its earliest start; return the reward.

    Writes each job's option and start to `chosen` and `begin` (both -1 where it is left out) and takes the GPUs out
    of `free`. A job with several options takes the one that is worth most there and then, unless `sizes` names one.
    """
    total = 0.0
    steps = free.shape[1]
    for job in order:
        best_option, best_start, best_reward = NONE, NONE, -1.0
        for option in range(jobs[job, FIRST_OPTION], jobs[job, LAST_OPTION]):
            size = options[option, SIZE]
            if options[option, POOL] < 0 or (sizes[job] != ANY and sizes[job] != size):
                continue
            duration = options[option, DURATION]
            start = earliest_count(
                free, options[option, POOL], size, duration, jobs[job, SUBMIT], options[option, LAST_START]
            )
            if start == NONE:
                continue
            gain = reward[option] * (weight[min(start + duration, steps)] - weight[start])
            if gain > best_reward:
                best_option, best_start, best_reward = option, start, gain
        chosen[job], begin[job] = best_option, best_start
        if best_option != NONE:
            total += best_reward
            pool, size = options[best_option, POOL], options[best_option, SIZE]
            for t in range(best_start, min(best_start + options[best_option, DURATION], steps)):
                free[pool, t] -= size
    return total


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


@inner
def move_aim(aims: Ints, demand: Ints, random: npt.NDArray[np.uint64]) -> None:
    """Lower the aim of a service by one GPU around a random step as far as it is that high, or restore it there."""
    service, t = random_below(random, demand.shape[0]), random_below(random, demand.shape[1])
    if random_below(random, 2) == 0 and aims[service, t] > 0:
        level = aims[service, t] - 1
        low = t
        while low > 0 and aims[service, low - 1] > level:
            low -= 1
        while low < demand.shape[1] and aims[service, low] > level:
            aims[service, low] = level
            low += 1
        return
    level = aims[service, t] + 1 + random_below(random, 2)
    low = t
    while low > 0 and demand[service, low - 1] >= level and aims[service, low - 1] < level:
        low -= 1
    while low < demand.shape[1] and aims[service, low] < level:
        if demand[service, low] <= aims[service, low]:
            break
        aims[service, low] = min(level, demand[service, low])
        low += 1


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
