"""Services on the grid, first part: reserve their curves before the jobs are packed.

A curve is cut level by level into intervals of one GPU (level k is needed while the curve is at least k). The
intervals of a service are nested, so a GPU given at a peak is the first taken away, and the swaps are exactly those
of the curve. They are laid out longest first from the top of the cluster, so that what is left stays in one piece.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from loadfactor.policies.compiled import inner, making_inner, making_kernel
from loadfactor.policies.instance import HELD, Ints
from loadfactor.policies.occupancy import NOWHERE, Bits, next_busy, summarise, take

GROUP = 32
"""Nodes that are passed over as one where all of their GPUs are taken at the same step."""


@inner
def level_at(curves: Ints, service: int, t: int) -> int:
    """Return the GPUs of all pools that the curve asks for at step t."""
    level = 0
    for pool in range(curves.shape[1]):
        level += curves[service, pool, t]
    return level


@making_inner
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


@making_kernel
def lay_intervals(curves: Ints, services: Ints, held: Ints, grid: Bits, reserved: Bits) -> tuple[Ints, Ints, bool]:
    """Return the intervals of the curves, their positions by falling length, and whether each can be whole.

    Those that begin on held GPUs are taken in `grid` and `reserved` (see `keep_held_gpus`).
    """
    intervals = np.empty((cut_into_intervals(curves, np.empty((0, 4), dtype=np.int64)), 4), dtype=np.int64)
    cut_into_intervals(curves, intervals)
    ranked = longest_first(intervals, curves.shape[2])
    whole = keep_held_gpus(intervals, ranked, services, held, grid, reserved, curves.shape[2])
    return intervals, ranked, whole


@making_inner
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


@making_inner
def keep_held_gpus(
    intervals: Ints, ranked: Ints, services: Ints, held: Ints, grid: Bits, reserved: Bits, steps: int
) -> bool:
    """Let intervals that begin at step 0 begin on held GPUs; return whether each could stay there to its end.

    The longest interval gets the GPU that stays free longest, so that neither end comes as a surprise (R4), the highest
    of equals: services keep together at the top of the cluster, where new GPUs for them come from. An interval
    that begins on a held GPU gets it in its last column; one that cannot stay is shortened by what the GPU covers.
    """
    whole, until = True, np.empty(len(held), dtype=np.int64)
    offered, place = free_longest_first(services, held, grid, until, steps)
    for i in ranked:
        service = intervals[i, 0]
        if intervals[i, 1] != 0 or place[service, 0] == place[service, 1]:
            continue
        gpu = offered[place[service, 0]]
        place[service, 0] += 1
        end = min(until[gpu], intervals[i, 2])
        take(grid, gpu, 1, 0, end)
        take(reserved[service], gpu, 1, 0, end)
        if end < intervals[i, 2]:
            whole = False
            intervals[i, 1] = end
        else:
            intervals[i, 3] = gpu
    return whole


@making_inner
def free_longest_first(services: Ints, held: Ints, grid: Bits, until: Ints, steps: int) -> tuple[Ints, Ints]:
    """Return the held GPUs that are free at step 0, by service, and where those of each begin and end (S, 2).

    Those of a service by the step `until` (N,) which they are free, the longest first, the highest first among equals:
    a counting sort.
    """
    count = len(services)
    behind, place = np.zeros(count * steps + 1, dtype=np.int64), np.empty((count, 2), dtype=np.int64)
    for gpu in range(len(held)):
        until[gpu] = 0
        if held[gpu] != NOWHERE and services[held[gpu], HELD] > 0:
            until[gpu] = next_busy(grid, gpu, 1, 0, steps)
            if until[gpu] > 0:
                behind[held[gpu] * steps + steps - until[gpu] + 1] += 1
    for bucket in range(count * steps):
        behind[bucket + 1] += behind[bucket]
    for service in range(count):
        place[service, 0], place[service, 1] = behind[service * steps], behind[(service + 1) * steps]
    offered = np.empty(behind[count * steps], dtype=np.int64)
    for gpu in range(len(held) - 1, -1, -1):
        if until[gpu] > 0:
            bucket = held[gpu] * steps + steps - until[gpu]
            offered[behind[bucket]] = gpu
            behind[bucket] += 1
    return offered, place


@making_kernel
def reserve_services(
    intervals: Ints,
    ranked: Ints,
    service_pools: npt.NDArray[np.bool_],
    pool_of_gpu: Ints,
    grid: Bits,
    reserved: Bits,
    closed: Bits,
    fixed: Bits,
    node_of_gpu: Ints,
    first_of_node: Ints,
    steps: int,
) -> bool:
    """Reserve a GPU for every interval that has none, in the order `ranked`; return whether each got one to itself.

    From the top of the cluster. `grid` holds what is taken already and receives the reservations too, with its
    summaries, `reserved` (S, N, W) each service's own, and `fixed` (N, W) all of these and what is `closed`.
    """
    whole = True
    service, start, end, cursor = NOWHERE, 0, 0, 0
    summarise(grid, first_of_node, 0, len(first_of_node) - 1)
    full = np.empty(((len(first_of_node) - 2) // GROUP + 1, grid.shape[1]), dtype=np.uint64)
    for group in range(len(full)):
        _note_full(full, group, grid, first_of_node)
    for i in ranked:
        if intervals[i, 3] != NOWHERE:
            continue
        if intervals[i, 0] != service or intervals[i, 1] != start or intervals[i, 2] != end:
            service, start, end = intervals[i, 0], intervals[i, 1], intervals[i, 2]
            cursor = len(pool_of_gpu) - 1
        cursor = reserve_highest(
            service, start, end, cursor, service_pools, pool_of_gpu, grid, reserved[service], full,
            node_of_gpu, first_of_node, steps,
        )  # fmt: skip
        intervals[i, 3] = cursor
        whole = whole and cursor != NOWHERE
    for gpu in range(fixed.shape[0]):
        for word in range(fixed.shape[1]):
            fixed[gpu, word] = closed[gpu, word]
            for other in range(reserved.shape[0]):
                fixed[gpu, word] |= reserved[other, gpu, word]
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
    full: Bits,
    node_of_gpu: Ints,
    first_of_node: Ints,
    steps: int,
) -> int:
    """Reserve the highest GPU at or below `cursor` that is free in [start, end); return it.

    Where none is free for the whole interval, the one that is free longest takes its beginning, and so on. `full` says
    when every GPU of a group of nodes is taken: what has no room is passed over as a whole.
    """
    gpus, nodes = len(pool_of_gpu), len(first_of_node) - 1
    gpu = cursor
    while gpu >= 0:
        node = node_of_gpu[gpu]
        group = node // GROUP
        if next_busy(full, group, 1, start, steps) < end:
            gpu = first_of_node[group * GROUP] - 1
            continue
        if next_busy(grid, gpus + nodes + node, 1, start, steps) < end:  # at one step all of its GPUs are taken
            gpu = first_of_node[node] - 1
            continue
        while gpu >= first_of_node[node]:
            if service_pools[service, pool_of_gpu[gpu]] and next_busy(grid, gpu, 1, start, steps) >= end:
                _reserve(grid, reserved, full, gpu, start, end, node, first_of_node)
                return gpu
            gpu -= 1
    while start < end:
        gpu, reach = _free_longest(service, start, end, service_pools, pool_of_gpu, grid, full, first_of_node, steps)
        if gpu == NOWHERE:
            start += 1
            continue
        _reserve(grid, reserved, full, gpu, start, reach, node_of_gpu[gpu], first_of_node)
        start = reach
    return NOWHERE


@inner
def _reserve(
    grid: Bits, reserved: Bits, full: Bits, gpu: int, start: int, end: int, node: int, first_of_node: Ints
) -> None:
    take(grid, gpu, 1, start, end)
    summarise(grid, first_of_node, node, node + 1)
    _note_full(full, node // GROUP, grid, first_of_node)
    take(reserved, gpu, 1, start, end)


@inner
def _note_full(full: Bits, group: int, grid: Bits, first_of_node: Ints) -> None:
    """Write when every GPU of a group of nodes is taken, from the summaries of its nodes."""
    nodes = len(first_of_node) - 1
    row = first_of_node[nodes] + nodes
    for word in range(full.shape[1]):
        every = ~np.uint64(0)
        for node in range(group * GROUP, min((group + 1) * GROUP, nodes)):
            every &= grid[row + node, word]
        full[group, word] = every


@inner
def _free_longest(
    service: int,
    start: int,
    end: int,
    service_pools: npt.NDArray[np.bool_],
    pool_of_gpu: Ints,
    grid: Bits,
    full: Bits,
    first_of_node: Ints,
    steps: int,
) -> tuple[int, int]:
    """Return the lowest GPU that is free longest from `start` on, and until when, at most `end`; -1 where none is."""
    best, reach, nodes = NOWHERE, start, len(first_of_node) - 1
    word, bit = start >> 6, np.uint64(start & 63)
    for node in range(nodes):
        if ((full[node // GROUP, word] | grid[len(pool_of_gpu) + nodes + node, word]) >> bit) & np.uint64(1):
            continue
        for gpu in range(first_of_node[node], first_of_node[node + 1]):
            if service_pools[service, pool_of_gpu[gpu]]:
                until = min(next_busy(grid, gpu, 1, start, steps), end)
                if until > reach:
                    best, reach = gpu, until
        if reach == end:
            break
    return best, reach
