"""The services in counts: the curve that each follows, and how much of its peak it aims at."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from loadfactor.policies.compiled import inner, making_kernel
from loadfactor.policies.fast.dice import random_below
from loadfactor.policies.instance import HELD, MAX_GPUS, MAX_SWAP, Floats, Ints

NONE = -1


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
