"""Which jobs make way for demand that is unmet, for the incremental form.

A GPU that is free for a few steps only costs a service two swaps, so the GPUs that it lacks are looked for one by one,
each for the whole of an interval in which it is lacking, and the jobs on it during that interval are those that go.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from loadfactor.policies.compiled import inner, kernel
from loadfactor.policies.fast.filling import worth
from loadfactor.policies.fast.moving import dearest_first
from loadfactor.policies.instance import DURATION, SIZE, Floats, Ints
from loadfactor.policies.occupancy import NOWHERE, Bits, mask_between, next_busy, next_free

MOST_FOR_DEMAND = 64
"""Jobs that may make way at once."""
LAYERS = 8
"""Intervals compared at any step: a lack of many GPUs is cut into so many layers, each of several GPUs."""
FOR_NOTHING = 1e-6
"""A cost below which a GPU is free: what is left of sums and differences."""


@kernel
def jobs_for_demand(
    missing: Ints,
    price: float,
    suits: npt.NDArray[np.bool_],
    pool_of_gpu: Ints,
    fixed: Bits,
    reserved: Bits,
    jobs: Ints,
    options: Ints,
    reward: Floats,
    weight: Floats,
    chosen: Ints,
    begin: Ints,
    where: Ints,
) -> Ints:
    """Return the jobs that could make way for `missing` (T,) GPUs, the dearest first.

    Those on the GPUs on which a step of the demand costs least, and less than `price`; `suits` (P,) says which pools
    serve, `fixed` (N, W) are the bits that no job may have, and so cannot give up, and `reserved` (N, W) those of them
    that the service has: to keep a GPU for longer saves two swaps, so that these come first.
    """
    steps, highest = len(missing), 0
    for t in range(steps):
        highest = max(highest, missing[t])
    layer = (highest + LAYERS - 1) // LAYERS
    gone = np.zeros(len(where), dtype=np.bool_)
    used = np.zeros(len(pool_of_gpu), dtype=np.bool_)
    cost = np.empty(len(pool_of_gpu) + 1, dtype=np.float64)
    number, level = 0, 1
    while level <= highest and number < MOST_FOR_DEMAND:
        start = 0
        while start < steps:
            end = start
            while end < steps and missing[end] >= level:
                end += 1
            if end > start:
                wanted = asked = min(layer, highest + 1 - level)
                _sum_up(start, end, asked, gone, options, reward, weight, chosen, begin, where, cost)
                for own in (True, False):
                    wanted, number = _free_up(
                        start, end, own, asked, wanted, number, price, suits, pool_of_gpu, fixed, reserved, options,
                        reward, weight, chosen, begin, where, cost, used, gone,
                    )  # fmt: skip
            start = end + 1
        level += layer
    return _listed(gone, number, jobs, options, reward)


@inner
def _listed(gone: npt.NDArray[np.bool_], number: int, jobs: Ints, options: Ints, reward: Floats) -> Ints:
    """Return the `number` jobs that are gone, the dearest first."""
    evicted = np.empty(number, dtype=np.int64)
    for job in range(len(gone)):
        if gone[job]:
            number -= 1
            evicted[number] = job
    dearest_first(evicted, 0, jobs, options, reward)
    return evicted


@inner
def _sum_up(
    start: int,
    end: int,
    asked: int,
    gone: npt.NDArray[np.bool_],
    options: Ints,
    reward: Floats,
    weight: Floats,
    chosen: Ints,
    begin: Ints,
    where: Ints,
    cost: Floats,
) -> None:
    """Write to `cost` (N + 1,) what the jobs on every GPU in [start, end) are worth.

    Each is divided by how many of the GPUs `asked` for it would free.
    """
    for gpu in range(len(cost)):
        cost[gpu] = 0.0
    for job in range(len(where)):
        if not gone[job] and _meets(job, start, end, options, chosen, begin, where):
            size = options[chosen[job], SIZE]
            share = worth(job, options, reward, weight, chosen, begin) / min(size, asked)
            cost[where[job]] += share
            cost[where[job] + size] -= share
    for gpu in range(1, len(cost)):
        cost[gpu] += cost[gpu - 1]


@inner
def _meets(job: int, start: int, end: int, options: Ints, chosen: Ints, begin: Ints, where: Ints) -> bool:
    placed = where[job] != NOWHERE and begin[job] < end
    return bool(placed and begin[job] + options[chosen[job], DURATION] > start)


@inner
def _free_up(
    start: int,
    end: int,
    own: bool,
    asked: int,
    wanted: int,
    number: int,
    price: float,
    suits: npt.NDArray[np.bool_],
    pool_of_gpu: Ints,
    fixed: Bits,
    reserved: Bits,
    options: Ints,
    reward: Floats,
    weight: Floats,
    chosen: Ints,
    begin: Ints,
    where: Ints,
    cost: Floats,
    used: npt.NDArray[np.bool_],
    gone: npt.NDArray[np.bool_],
) -> tuple[int, int]:
    """Take the `wanted` cheapest GPUs in [start, end), among the service's `own` or all; their jobs are `gone` then.

    Return how many GPUs are still wanted, and how many jobs are gone. `cost` was summed up for the GPUs `asked` for.
    """
    first = 0
    while wanted > 0 and number < MOST_FOR_DEMAND:
        best = _cheapest_gpu(
            first, start, end, own, price, suits, pool_of_gpu, fixed, reserved, len(weight) - 1, cost, used
        )
        if best == NOWHERE:
            break
        used[best] = True
        if cost[best] >= FOR_NOTHING:
            number += _let_go(best, start, end, asked, options, reward, weight, chosen, begin, where, cost, gone)
        wanted, first = wanted - 1, best
    return wanted, number


@inner
def _cheapest_gpu(
    first: int,
    start: int,
    end: int,
    own: bool,
    price: float,
    suits: npt.NDArray[np.bool_],
    pool_of_gpu: Ints,
    fixed: Bits,
    reserved: Bits,
    steps: int,
    cost: Floats,
    used: npt.NDArray[np.bool_],
) -> int:
    """Return the GPU that costs least and less than `price` a step, or -1; the search begins at `first`."""
    gpus, best, least = len(used), NOWHERE, price * (end - start)
    for step in range(gpus):
        gpu = first + step if first + step < gpus else first + step - gpus
        if cost[gpu] >= least or used[gpu] or not suits[pool_of_gpu[gpu]]:
            continue
        if own and next_busy(reserved, gpu, 1, 0, steps) == steps:
            continue
        if next_free(reserved, gpu, 1, start, end) >= end or _closed(fixed, reserved, gpu, start, end):
            cost[gpu] = np.inf
            continue
        best, least = gpu, cost[gpu]
        if least < FOR_NOTHING:
            break
    return best


@inner
def _let_go(
    gpu: int,
    start: int,
    end: int,
    asked: int,
    options: Ints,
    reward: Floats,
    weight: Floats,
    chosen: Ints,
    begin: Ints,
    where: Ints,
    cost: Floats,
    gone: npt.NDArray[np.bool_],
) -> int:
    """Let the jobs on the GPU in [start, end) be `gone`, so that their other GPUs cost less; return how many."""
    number = 0
    for job in range(len(where)):
        if gone[job] or not _meets(job, start, end, options, chosen, begin, where):
            continue
        size = options[chosen[job], SIZE]
        if where[job] <= gpu < where[job] + size:
            gone[job] = True
            number += 1
            share = worth(job, options, reward, weight, chosen, begin) / min(size, asked)
            for other in range(where[job], where[job] + size):
                cost[other] -= share
    return number


@inner
def _closed(fixed: Bits, reserved: Bits, gpu: int, start: int, end: int) -> bool:
    """Return whether somebody other than a job or the service has the GPU at a step of [start, end)."""
    for word in range(start >> 6, ((end - 1) >> 6) + 1):
        if fixed[gpu, word] & ~reserved[gpu, word] & mask_between(start - (word << 6), end - (word << 6)) != 0:
            return True
    return False
