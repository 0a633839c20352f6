"""Services on the grid, second part: GPUs for every service around the jobs, so that R4 holds.

Step by step, each service takes one that it had where that stays free for as long as it is wanted, otherwise the free
GPU that stays free longest, and gives back those that are needed first. That is Belady's rule (1966) for what to keep;
a GPU that must go early costs two swaps. It never breaks R4: the GPUs that it must give back are released early enough
by the earliest-deadline test (Liu and Layland 1973): of the GPUs held after step t, the i-th to be needed by others, at
step d, satisfies i <= cap·(d - t).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from loadfactor.policies.compiled import inner, kernel
from loadfactor.policies.fast.serving import level_at
from loadfactor.policies.instance import HELD, MAX_GPUS, MAX_SWAP, Ints
from loadfactor.policies.occupancy import NOWHERE, Bits, next_busy, take

COMPARED = 1024
"""Free GPUs compared before those that stay free longest among them are taken."""


@kernel
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
    is taken. `changes` receives rows (service, step, GPU, 1 given or -1 taken away), by service and step; where it is
    too short the number says how long it must be. GPUs held before step 0 are not among the changes.
    """
    steps, count = curves.shape[2], 0
    gpus = len(held)
    mine = np.empty(gpus, dtype=np.int64)
    own = np.empty(gpus, dtype=np.int64)
    until = np.empty(gpus, dtype=np.int64)
    since = np.empty(gpus, dtype=np.int64)
    spare, free_until = np.empty(gpus, dtype=np.int64), np.empty(gpus, dtype=np.int64)
    for service in sequence:
        cap = services[service, MAX_SWAP]
        number, owned = 0, _lift_own(service, grid, reserved, own)
        is_mine = np.zeros(gpus, dtype=np.bool_)
        for gpu in range(gpus):
            if held[gpu] == service:
                number = _insert(mine, until, since, number, gpu, next_busy(grid, gpu, 1, 0, steps), 0)
                is_mine[gpu] = True
        for t in range(steps):
            budget = gpus if t == 0 and services[service, HELD] < 0 else cap
            wanted = level_at(curves, service, t)
            losing = _must_release(until, number, cap, t, steps)
            losing = max(losing, min(number - wanted, budget), number - services[service, MAX_GPUS])
            for i in range(losing):
                is_mine[mine[i]] = False
                count = _record(changes, count, service, t, mine[i], -1)
                if since[i] < t:
                    take(grid, mine[i], 1, since[i], t)
            number -= losing
            for i in range(number):
                mine[i], until[i], since[i] = mine[i + losing], until[i + losing], since[i + losing]
            gaining = min(wanted - number, budget - losing)
            listed, next_spare = NOWHERE, 0
            while gaining > 0:
                gpu, reach = _own_free(service, t, is_mine, own, owned, grid, reserved, steps)
                if gpu == NOWHERE or reach < _wanted_until(curves, service, t, number + 1):
                    if listed == NOWHERE:
                        listed = _list_free(
                            service, t, gaining, is_mine, service_pools, pool_of_gpu, grid, steps, spare, free_until
                        )
                    while next_spare < listed and is_mine[spare[next_spare]]:
                        next_spare += 1
                    if next_spare < listed and free_until[next_spare] > reach:
                        gpu, reach = spare[next_spare], free_until[next_spare]
                if gpu == NOWHERE or not _keepable(until, number, reach, cap, t, steps):
                    break
                number = _insert(mine, until, since, number, gpu, reach, t)
                is_mine[gpu] = True
                count = _record(changes, count, service, t, gpu, 1)
                gaining -= 1
        for i in range(number):
            take(grid, mine[i], 1, since[i], steps)
    return count


@inner
def _lift_own(service: int, grid: Bits, reserved: Bits, own: Ints) -> int:
    """Take the service's reservation out of the grid and write its GPUs to `own`; return how many."""
    owned = 0
    for gpu in range(len(own)):
        some = False
        for word in range(grid.shape[1]):
            if reserved[service, gpu, word] != 0:
                grid[gpu, word] &= ~reserved[service, gpu, word]
                some = True
        if some:
            own[owned] = gpu
            owned += 1
    return owned


@inner
def _record(changes: Ints, count: int, service: int, t: int, gpu: int, given: int) -> int:
    """Write a change where there is room for it; return how many there are then."""
    if count < len(changes):
        changes[count, 0], changes[count, 1], changes[count, 2], changes[count, 3] = service, t, gpu, given
    return count + 1


@inner
def _insert(mine: Ints, until: Ints, since: Ints, number: int, gpu: int, reach: int, t: int) -> int:
    """Insert a GPU into the list of those held, sorted by the step at which others need them."""
    i = number
    while i > 0 and until[i - 1] > reach:
        mine[i], until[i], since[i] = mine[i - 1], until[i - 1], since[i - 1]
        i -= 1
    mine[i], until[i], since[i] = gpu, reach, t
    return number + 1


@inner
def _must_release(until: Ints, number: int, cap: int, t: int, steps: int) -> int:
    """Return how many must go now so that the i-th to be needed, at step d < T, satisfies i <= cap·(d - t)."""
    most = 0
    for i in range(number):
        if until[i] >= steps:
            break
        most = max(most, i + 1 - cap * (until[i] - t))
    return most


@inner
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


@inner
def _own_free(
    service: int,
    t: int,
    is_mine: npt.NDArray[np.bool_],
    own: Ints,
    owned: int,
    grid: Bits,
    reserved: Bits,
    steps: int,
) -> tuple[int, int]:
    """Return (GPU, step until which it is free) of the GPU reserved for the service at t that is free longest."""
    best, reach = NOWHERE, t
    word, bit = t >> 6, np.uint64(t & 63)
    for i in range(owned - 1, -1, -1):
        gpu = own[i]
        if ((reserved[service, gpu, word] >> bit) & np.uint64(1)) == 0 or (grid[gpu, word] >> bit) & np.uint64(1):
            continue
        until = next_busy(grid, gpu, 1, t, steps)
        if until > reach and not is_mine[gpu]:
            best, reach = gpu, until
    return best, reach


@inner
def _wanted_until(curves: Ints, service: int, t: int, level: int) -> int:
    """Return the first step after t at which the curve is below the level, or T."""
    steps: int = curves.shape[2]
    for later in range(t + 1, steps):
        if level_at(curves, service, later) < level:
            return later
    return steps


@inner
def _list_free(
    service: int,
    t: int,
    wanted: int,
    is_mine: npt.NDArray[np.bool_],
    service_pools: npt.NDArray[np.bool_],
    pool_of_gpu: Ints,
    grid: Bits,
    steps: int,
    spare: Ints,
    free_until: Ints,
) -> int:
    """Write the `wanted` suitable GPUs free at t that stay free longest to `spare`, the longest first; return how many.

    The highest first among equals. `free_until` receives the step at which each is needed by others.
    """
    listed, compared = 0, 0
    word, bit = t >> 6, np.uint64(t & 63)
    for gpu in range(len(pool_of_gpu) - 1, -1, -1):
        if (grid[gpu, word] >> bit) & np.uint64(1) or is_mine[gpu] or not service_pools[service, pool_of_gpu[gpu]]:
            continue
        until = next_busy(grid, gpu, 1, t, steps)
        compared += 1
        if listed < wanted or until > free_until[listed - 1]:
            listed = min(listed + 1, wanted)
            i = listed - 1
            while i > 0 and free_until[i - 1] < until:
                spare[i], free_until[i] = spare[i - 1], free_until[i - 1]
                i -= 1
            spare[i], free_until[i] = gpu, until
        if listed == wanted and (free_until[listed - 1] >= steps or compared >= COMPARED):
            break
    return listed
