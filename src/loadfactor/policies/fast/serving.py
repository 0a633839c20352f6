"""Services on the grid: reserve their curves before the jobs are packed, then hand out GPUs that keep R4.

Reservation: a curve is cut level by level into intervals of one GPU (level k is needed while the curve is at least k).
The intervals of a service are nested, so a GPU given at a peak is the first taken away, and the swaps are exactly those
of the curve. They are laid out longest first from the top of the cluster, so that what is left stays in one piece.

Hand-out: step by step, each service takes the free GPUs that stay free longest and gives back those that are needed
first, which is Belady's rule (1966) for what to keep. It never breaks R4: the GPUs that it must give back are released
early enough by the earliest-deadline test (Liu and Layland 1973): of the GPUs held after step t, the i-th to be needed by
others, at step d, satisfies i <= cap·(d - t).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from loadfactor.policies.instance import HELD, MAX_GPUS, MAX_SWAP, Floats, Ints
from loadfactor.policies.occupancy import NOWHERE, Bits, next_busy, take


@njit(cache=True)
def level_at(curves: Ints, service: int, t: int) -> int:
    """Return the GPUs of all pools that the curve asks for at step t."""
    level = 0
    for pool in range(curves.shape[1]):
        level += curves[service, pool, t]
    return level


@njit(cache=True)
def cut_into_intervals(curves: Ints, intervals: Ints) -> int:
    """Write (service, start, end, -1) of every interval of one GPU to `intervals`; return how many there are.

    A rise opens intervals and a fall closes those opened last, which are the levels of the curve. Called once with no room
    to learn the number, and once with it. The last column is for the GPU that will be found.
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


@njit(cache=True)
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


@njit(cache=True)
def keep_held_gpus(
    intervals: Ints, ranked: Ints, services: Ints, held: Ints, grid: Bits, reserved: Bits, steps: int
) -> bool:
    """Let the intervals that begin at step 0 begin on held GPUs; return whether each of them could stay there to its end.

    The longest interval gets the GPU that stays free longest, so that neither end comes as a surprise (R4). An interval
    that begins on a held GPU gets it in its last column; one that cannot stay is shortened by what the GPU covers.
    """
    whole = True
    for i in ranked:
        if intervals[i, 1] != 0 or services[intervals[i, 0], HELD] <= 0:
            continue
        best, reach = NOWHERE, 0
        for gpu in range(len(held)):
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


@njit(cache=True)
def reserve_services(
    intervals: Ints,
    ranked: Ints,
    service_pools: npt.NDArray[np.bool_],
    pool_of_gpu: Ints,
    grid: Bits,
    reserved: Bits,
    steps: int,
) -> bool:
    """Reserve a GPU for every interval that has none, in the order `ranked`; return whether each got one to itself.

    From the top of the cluster. `grid` holds what is taken already and receives the reservations too, `reserved`
    (S, N, W) each service's own.
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
    return whole


@njit(cache=True)
def changes_of(intervals: Ints, services: Ints, held: Ints, changes: Ints) -> int:
    """Write what giving every interval its GPU changes: rows (service, step, GPU, ±1), in no order; return how many.

    Only for intervals that all have a GPU of their own. The swaps are those of the curve, so R4 holds.
    """
    count = 0
    kept = np.zeros(len(held), dtype=np.bool_)
    for i in range(len(intervals)):
        service, start, end, gpu = intervals[i, 0], intervals[i, 1], intervals[i, 2], intervals[i, 3]
        if start == 0 and held[gpu] == service:
            kept[gpu] = True
        else:
            changes[count, 0], changes[count, 1], changes[count, 2], changes[count, 3] = service, start, gpu, 1
            count += 1
        changes[count, 0], changes[count, 1], changes[count, 2], changes[count, 3] = service, end, gpu, -1
        count += 1
    for gpu in range(len(held)):
        if held[gpu] != NOWHERE and not kept[gpu]:
            changes[count, 0], changes[count, 1], changes[count, 2], changes[count, 3] = held[gpu], 0, gpu, -1
            count += 1
    return count


@njit(cache=True)
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


@njit(cache=True)
def hand_out(
    sequence: Ints,
    curves: Ints,
    services: Ints,
    service_pools: npt.NDArray[np.bool_],
    pool_of_gpu: Ints,
    held: Ints,
    grid: Bits,
    reserved: Bits,
    changes: Ints,
) -> int:
    """Give every service, in `sequence`, GPUs along its curve; return the number of changes written.

    `grid` holds jobs and reservations; a service's own reservation is lifted when its turn comes, and what it then gets
    is taken. `changes` receives rows (service, step, GPU, 1 given or -1 taken away), by service and step; where it is too
    short the number says how long it must be. GPUs held before step 0 are not among the changes.
    """
    steps, count = curves.shape[2], 0
    gpus = len(held)
    mine = np.empty(gpus, dtype=np.int64)
    until = np.empty(gpus, dtype=np.int64)
    since = np.empty(gpus, dtype=np.int64)
    for service in sequence:
        cap = services[service, MAX_SWAP]
        for gpu in range(gpus):
            for word in range(grid.shape[1]):
                grid[gpu, word] &= ~reserved[service, gpu, word]
        number = 0
        for gpu in range(gpus):
            if held[gpu] == service:
                number = _insert(mine, until, since, number, gpu, next_busy(grid, gpu, 1, 0, steps), 0)
        for t in range(steps):
            budget = gpus if t == 0 and services[service, HELD] < 0 else cap
            wanted = level_at(curves, service, t)
            losing = _must_release(until, number, cap, t, steps)
            losing = max(losing, min(number - wanted, budget), number - services[service, MAX_GPUS])
            for i in range(losing):
                if count < len(changes):
                    changes[count, 0], changes[count, 1], changes[count, 2], changes[count, 3] = service, t, mine[i], -1
                count += 1
                if since[i] < t:
                    take(grid, mine[i], 1, since[i], t)
            number -= losing
            for i in range(number):
                mine[i], until[i], since[i] = mine[i + losing], until[i + losing], since[i + losing]
            gaining = min(wanted - number, budget - losing)
            while gaining > 0:
                gpu, reach = _longest_free(service, t, mine, number, service_pools, pool_of_gpu, grid, reserved, steps)
                if gpu == NOWHERE or not _keepable(until, number, reach, cap, t, steps):
                    break
                number = _insert(mine, until, since, number, gpu, reach, t)
                if count < len(changes):
                    changes[count, 0], changes[count, 1], changes[count, 2], changes[count, 3] = service, t, gpu, 1
                count += 1
                gaining -= 1
        for i in range(number):
            take(grid, mine[i], 1, since[i], steps)
    return count


@njit(cache=True)
def _insert(mine: Ints, until: Ints, since: Ints, number: int, gpu: int, reach: int, t: int) -> int:
    """Insert a GPU into the list of those held, sorted by the step at which others need them."""
    i = number
    while i > 0 and until[i - 1] > reach:
        mine[i], until[i], since[i] = mine[i - 1], until[i - 1], since[i - 1]
        i -= 1
    mine[i], until[i], since[i] = gpu, reach, t
    return number + 1


@njit(cache=True)
def _must_release(until: Ints, number: int, cap: int, t: int, steps: int) -> int:
    """Return how many must go now so that the i-th to be needed, at step d < T, satisfies i <= cap·(d - t)."""
    most = 0
    for i in range(number):
        if until[i] >= steps:
            break
        most = max(most, i + 1 - cap * (until[i] - t))
    return most


@njit(cache=True)
def _keepable(until: Ints, number: int, reach: int, cap: int, t: int, steps: int) -> bool:
    """Return whether a GPU needed by others at step `reach` can be added without breaking the deadline test."""
    if reach >= steps:
        return True
    earlier = 0
    for i in range(number):
        if until[i] <= reach:
            earlier = i + 1
        elif until[i] < steps and i + 2 > cap * (until[i] - t):
            return False
    return earlier + 1 <= cap * (reach - t)


@njit(cache=True)
def _longest_free(
    service: int,
    t: int,
    mine: Ints,
    number: int,
    service_pools: npt.NDArray[np.bool_],
    pool_of_gpu: Ints,
    grid: Bits,
    reserved: Bits,
    steps: int,
) -> tuple[int, int]:
    """Return (GPU, step until which it is free) of the suitable free GPU that stays free longest; own reservations first."""
    best, reach, own = NOWHERE, t, False
    word, bit = t >> 6, np.uint64(t & 63)
    for gpu in range(len(pool_of_gpu) - 1, -1, -1):
        if (grid[gpu, word] >> bit) & np.uint64(1) or not service_pools[service, pool_of_gpu[gpu]]:
            continue
        until = next_busy(grid, gpu, 1, t, steps)
        preferred = ((reserved[service, gpu, word] >> bit) & np.uint64(1)) != 0
        if until < reach or (until == reach and (own or not preferred)):
            continue
        if _is_mine(mine, number, gpu):
            continue
        best, reach, own = gpu, until, preferred
        if until >= steps and preferred:
            break
    return best, reach


@njit(cache=True)
def _is_mine(mine: Ints, number: int, gpu: int) -> bool:
    for i in range(number):
        if mine[i] == gpu:
            return True
    return False


@njit(cache=True)
def keeps_caps(changes: Ints, services: Ints) -> bool:
    """Return whether no step of `changes`, sorted by service and step, swaps more GPUs than its cap (R4)."""
    row = 0
    while row < len(changes):
        service, t, first = changes[row, 0], changes[row, 1], row
        while row < len(changes) and changes[row, 0] == service and changes[row, 1] == t:
            row += 1
        free = t == 0 and services[service, HELD] < 0
        if row - first > services[service, MAX_SWAP] and not free:
            return False
    return True


@njit(cache=True)
def unmet_cost(changes: Ints, services: Ints, demand: Ints, price: Floats) -> float:
    """Return the penalty of the demand that is unmet when the services hold what `changes` give them."""
    cost, row = 0.0, 0
    for service in range(demand.shape[0]):
        held = max(0, services[service, HELD])
        for t in range(demand.shape[1]):
            while row < len(changes) and changes[row, 0] == service and changes[row, 1] == t:
                held += changes[row, 3]
                row += 1
            cost += price[service] * max(0, demand[service, t] - held)
    return cost


@njit(cache=True)
def mark(changes: Ints, service: int, held: Ints, steps: int, target: Bits) -> None:
    """Set the bits of `target` (N, W) where the service holds a GPU after its `changes`, which are sorted by step."""
    since = np.full(len(held), NOWHERE, dtype=np.int64)
    for gpu in range(len(held)):
        if held[gpu] == service:
            since[gpu] = 0
    for row in range(len(changes)):
        t, gpu = changes[row, 1], changes[row, 2]
        if changes[row, 3] > 0:
            since[gpu] = t
        else:
            if since[gpu] != NOWHERE and since[gpu] < t:
                take(target, gpu, 1, since[gpu], t)
            since[gpu] = NOWHERE
    for gpu in range(len(held)):
        if since[gpu] != NOWHERE:
            take(target, gpu, 1, since[gpu], steps)
