"""Services on the grid, second part: GPUs for every service around the jobs, so that R4 holds.

Step by step, each service takes the free GPUs that stay free longest and gives back those that are needed first,
which is Belady's rule (1966) for what to keep. It never breaks R4: the GPUs that it must give back are released early
enough by the earliest-deadline test (Liu and Layland 1973): of the GPUs held after step t, the i-th to be needed by
others, at step d, satisfies i <= cap·(d - t).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from loadfactor.policies.compiled import inner, making_kernel
from loadfactor.policies.fast.serving import level_at
from loadfactor.policies.instance import HELD, MAX_GPUS, MAX_SWAP, Ints
from loadfactor.policies.occupancy import NOWHERE, Bits, next_busy, take

COMPARED = 128
"""Free GPUs compared before the one that stays free longest among them is taken."""


@making_kernel
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
    for service in sequence:
        cap = services[service, MAX_SWAP]
        for gpu in range(gpus):
            for word in range(grid.shape[1]):
                grid[gpu, word] &= ~reserved[service, gpu, word]
        number, owned = 0, 0
        is_mine = np.zeros(gpus, dtype=np.bool_)
        for gpu in range(gpus):
            for word in range(grid.shape[1]):
                if reserved[service, gpu, word] != 0:
                    own[owned] = gpu
                    owned += 1
                    break
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
                gpu, reach = _own_free(service, t, is_mine, own, owned, grid, reserved, steps)
                if gpu == NOWHERE:
                    gpu, reach = _longest_free(service, t, is_mine, service_pools, pool_of_gpu, grid, steps)
                if gpu == NOWHERE or not _keepable(until, number, reach, cap, t, steps):
                    break
                number = _insert(mine, until, since, number, gpu, reach, t)
                is_mine[gpu] = True
                if count < len(changes):
                    changes[count, 0], changes[count, 1], changes[count, 2], changes[count, 3] = service, t, gpu, 1
                count += 1
                gaining -= 1
        for i in range(number):
            take(grid, mine[i], 1, since[i], steps)
    return count


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
def _longest_free(
    service: int,
    t: int,
    is_mine: npt.NDArray[np.bool_],
    service_pools: npt.NDArray[np.bool_],
    pool_of_gpu: Ints,
    grid: Bits,
    steps: int,
) -> tuple[int, int]:
    """Return (GPU, step until which it is free) of the suitable free GPU that stays free longest, the highest first."""
    best, reach, compared = NOWHERE, t, 0
    word, bit = t >> 6, np.uint64(t & 63)
    for gpu in range(len(pool_of_gpu) - 1, -1, -1):
        if (grid[gpu, word] >> bit) & np.uint64(1) or not service_pools[service, pool_of_gpu[gpu]]:
            continue
        until = next_busy(grid, gpu, 1, t, steps)
        compared += 1
        if until > reach and not is_mine[gpu]:
            best, reach = gpu, until
        if best != NOWHERE and (reach >= steps or compared >= COMPARED):
            break
    return best, reach
