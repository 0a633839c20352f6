"""Services on the grid, first part: reserve their curves before the jobs are packed.

A curve is cut level by level into intervals of one GPU (level k is needed while the curve is at least k). The
intervals of a service are nested, so a GPU given at a peak is the first taken away, and the swaps are exactly those
of the curve. They are laid out longest first from the top of the cluster, so that what is left stays in one piece.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from loadfactor.policies.compiled import inner, kernel
from loadfactor.policies.instance import HELD, Ints
from loadfactor.policies.occupancy import NOWHERE, Bits, next_busy, summarise, take


@inner
def level_at(curves: Ints, service: int, t: int) -> int:
    """Return the GPUs of all pools that the curve asks for at step t."""
    level = 0
    for pool in range(curves.shape[1]):
        level += curves[service, pool, t]
    return level


@inner
def cut_into_intervals(curves: Ints, intervals: Ints) -> int:
    """Write (service, start, end, -1) of every interval of one GPU to `intervals`; return how many there are.

    A rise opens intervals and a fall closes those opened last, which are the levels of the curve. Called once with no
    room to learn the number, and once with it. The last column is for the GPU that will be found.
    """
    steps, count = curves.shape[2], 0
    for service in range(curves.shape[0]):
        level, highest = 0, 0
        for t in range(steps):
            highest = max(highest, level_at(curves, service, t))
        opened = np.empty(highest, dtype=np.int64)
        for t in range(steps + 1):
            wanted = level_at(curves, service, t) if t < steps else 0
            while level < wanted:
                opened[level] = t
                level += 1
            while level > wanted:
                level -= 1
                if count < len(intervals):
                    intervals[count, 0], intervals[count, 1], intervals[count, 2] = service, opened[level], t
                    intervals[count, 3] = NOWHERE
                count += 1
    return count


@kernel
def lay_intervals(curves: Ints, services: Ints, held: Ints, grid: Bits, reserved: Bits) -> tuple[Ints, Ints, bool]:
    """Return the intervals of the curves, their positions by falling length, and whether each can be whole.

    Those that begin on held GPUs are taken in `grid` and `reserved` (see `keep_held_gpus`).
    """
    intervals = np.empty((cut_into_intervals(curves, np.empty((0, 4), dtype=np.int64)), 4), dtype=np.int64)
    cut_into_intervals(curves, intervals)
    ranked = longest_first(intervals, curves.shape[2])
    whole = keep_held_gpus(intervals, ranked, services, held, grid, reserved, curves.shape[2])
    return intervals, ranked, whole


@inner
def longest_first(intervals: Ints, steps: int) -> Ints:
    """Return the positions of the intervals by falling length (a stable counting sort)."""
    count = len(intervals)
    place = np.zeros(steps + 2, dtype=np.int64)
    for i in range(count):
        place[steps - (intervals[i, 2] - intervals[i, 1]) + 1] += 1
    for length in range(1, steps + 2):
        place[length] += place[length - 1]
    ranked = np.empty(count, dtype=np.int64)
    for i in range(count):
        bucket = steps - (intervals[i, 2] - intervals[i, 1])
        ranked[place[bucket]] = i
        place[bucket] += 1
    return ranked


@inner
def keep_held_gpus(
    intervals: Ints, ranked: Ints, services: Ints, held: Ints, grid: Bits, reserved: Bits, steps: int
) -> bool:
    """Let intervals that begin at step 0 begin on held GPUs; return whether each could stay there to its end.

    The longest interval gets the GPU that stays free longest, so that neither end comes as a surprise (R4), the highest
    of equals: services keep together at the top of the cluster, where new GPUs for them come from. An interval
    that begins on a held GPU gets it in its last column; one that cannot stay is shortened by what the GPU covers.
    """
    whole = True
    for i in ranked:
        if intervals[i, 1] != 0 or services[intervals[i, 0], HELD] <= 0:
            continue
        best, reach = NOWHERE, 0
        for gpu in range(len(held) - 1, -1, -1):
            if held[gpu] == intervals[i, 0]:
                until = next_busy(grid, gpu, 1, 0, steps)
                if until > reach:
                    best, reach = gpu, until
        if best == NOWHERE:
            continue
        end = min(reach, intervals[i, 2])
        take(grid, best, 1, 0, end)
        take(reserved[intervals[i, 0]], best, 1, 0, end)
        if end < intervals[i, 2]:
            whole = False
            intervals[i, 1] = end
        else:
            intervals[i, 3] = best
    return whole


@kernel
def reserve_services(
    intervals: Ints,
    ranked: Ints,
    service_pools: npt.NDArray[np.bool_],
    pool_of_gpu: Ints,
    grid: Bits,
    reserved: Bits,
    closed: Bits,
    fixed: Bits,
    first_of_node: Ints,
    steps: int,
) -> bool:
    """Reserve a GPU for every interval that has none, in the order `ranked`; return whether each got one to itself.

    From the top of the cluster. `grid` holds what is taken already and receives the reservations too, with its
    summaries, `reserved` (S, N, W) each service's own, and `fixed` (N, W) all of these and what is `closed`.
    """
    whole = True
    service, start, end, cursor = NOWHERE, 0, 0, 0
    for i in ranked:
        if intervals[i, 3] != NOWHERE:
            continue
        if intervals[i, 0] != service or intervals[i, 1] != start or intervals[i, 2] != end:
            service, start, end = intervals[i, 0], intervals[i, 1], intervals[i, 2]
            cursor = len(pool_of_gpu) - 1
        cursor = reserve_highest(service, start, end, cursor, service_pools, pool_of_gpu, grid, reserved, steps)
        intervals[i, 3] = cursor
        whole = whole and cursor != NOWHERE
    for gpu in range(fixed.shape[0]):
        for word in range(fixed.shape[1]):
            fixed[gpu, word] = closed[gpu, word]
            for other in range(reserved.shape[0]):
                fixed[gpu, word] |= reserved[other, gpu, word]
    summarise(grid, first_of_node, 0, len(first_of_node) - 1)
    return whole


@inner
def reserve_highest(
    service: int,
    start: int,
    end: int,
    cursor: int,
    service_pools: npt.NDArray[np.bool_],
    pool_of_gpu: Ints,
    grid: Bits,
    reserved: Bits,
    steps: int,
) -> int:
    """Reserve the highest GPU at or below `cursor` that is free in [start, end); return it.

    Where none is free for the whole interval, the one that is free longest takes its beginning, and so on.
    """
    gpu = cursor
    while gpu >= 0:
        if service_pools[service, pool_of_gpu[gpu]] and next_busy(grid, gpu, 1, start, steps) >= end:
            take(grid, gpu, 1, start, end)
            take(reserved[service], gpu, 1, start, end)
            return gpu
        gpu -= 1
    while start < end:
        best, reach = NOWHERE, start
        for other in range(len(pool_of_gpu)):
            if service_pools[service, pool_of_gpu[other]]:
                until = min(next_busy(grid, other, 1, start, steps), end)
                if until > reach:
                    best, reach = other, until
        if best == NOWHERE:
            start += 1
            continue
        take(grid, best, 1, start, reach)
        take(reserved[service], best, 1, start, reach)
        start = reach
    return NOWHERE
