"""What services gain and lose: rows (service, step, GPU, 1 given or -1 taken away), and what can be read off them."""

from __future__ import annotations

import numpy as np

from loadfactor.policies.compiled import inner, kernel
from loadfactor.policies.instance import HELD, MAX_SWAP, Floats, Ints
from loadfactor.policies.occupancy import NOWHERE, Bits, summarise, take


@kernel
def changes_of(intervals: Ints, services: Ints, held: Ints, steps: int) -> Ints:
    """Return what giving every interval its GPU changes.

    Only for intervals that all have a GPU of their own. The swaps are those of the curve, so R4 holds.
    """
    count = 0
    changes = np.empty((2 * len(intervals) + len(held), 4), dtype=np.int64)
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
    return in_order(changes, count, len(services), steps)


@kernel
def in_order(changes: Ints, count: int, services: int, steps: int) -> Ints:
    """Return the first `count` changes by service and step, those at the end of the horizon left out.

    Of one service at one step, those taken away come first. A stable counting sort.
    """
    place = np.zeros(2 * services * steps + 1, dtype=np.int64)
    for row in range(count):
        if changes[row, 1] < steps:
            place[_bucket(changes, row, steps) + 1] += 1
    for bucket in range(len(place) - 1):
        place[bucket + 1] += place[bucket]
    ordered = np.empty((place[len(place) - 1], 4), dtype=np.int64)
    for row in range(count):
        if changes[row, 1] < steps:
            bucket = _bucket(changes, row, steps)
            for column in range(4):
                ordered[place[bucket], column] = changes[row, column]
            place[bucket] += 1
    return ordered


@inner
def _bucket(changes: Ints, row: int, steps: int) -> int:
    bucket: int = 2 * (changes[row, 0] * steps + changes[row, 1]) + (1 if changes[row, 3] > 0 else 0)
    return bucket


@kernel
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


@kernel
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


@kernel
def hold(
    changes: Ints,
    service: int,
    held: Ints,
    level: Ints,
    reserved: Bits,
    grid: Bits,
    fixed: Bits,
    pool_of_gpu: Ints,
    node_of_gpu: Ints,
    first_of_node: Ints,
    free: Ints,
) -> None:
    """Give the service, which has nothing, what it holds after its `changes`, which are sorted by step.

    Its GPUs are taken in `reserved` (N, W), the grid with its summaries, and `fixed` (N, W); `free` (P, T) counts them.
    `level` (T,) receives how many it holds at every step.
    """
    _mark(changes, service, held, level, reserved)
    for gpu in range(len(held)):
        taken = False
        for word in range(reserved.shape[1]):
            bits = reserved[gpu, word]
            if bits != 0:
                count_bits(free, pool_of_gpu[gpu], word, bits, -1)
                grid[gpu, word] |= bits
                fixed[gpu, word] |= bits
                taken = True
        if taken:
            summarise(grid, first_of_node, node_of_gpu[gpu], node_of_gpu[gpu] + 1)


@inner
def _mark(changes: Ints, service: int, held: Ints, level: Ints, reserved: Bits) -> None:
    """Write what the service holds to `level` and `reserved`."""
    steps, number, row = len(level), 0, 0
    since = np.full(len(held), NOWHERE, dtype=np.int64)
    for gpu in range(len(held)):
        if held[gpu] == service:
            since[gpu] = 0
            number += 1
    for t in range(steps):
        while row < len(changes) and changes[row, 1] == t:
            number += changes[row, 3]
            row += 1
        level[t] = number
    for row in range(len(changes)):
        t, gpu = changes[row, 1], changes[row, 2]
        if changes[row, 3] > 0:
            since[gpu] = t
        else:
            if since[gpu] != NOWHERE and since[gpu] < t:
                take(reserved, gpu, 1, since[gpu], t)
            since[gpu] = NOWHERE
    for gpu in range(len(held)):
        if since[gpu] != NOWHERE:
            take(reserved, gpu, 1, since[gpu], steps)


@kernel
def withdraw(
    reserved: Bits, grid: Bits, fixed: Bits, pool_of_gpu: Ints, node_of_gpu: Ints, first_of_node: Ints, free: Ints
) -> None:
    """Take everything from the service whose `reserved` (N, W) this is, which still tells what it had."""
    for gpu in range(len(reserved)):
        freed = False
        for word in range(reserved.shape[1]):
            bits = reserved[gpu, word]
            if bits != 0:
                count_bits(free, pool_of_gpu[gpu], word, bits, 1)
                grid[gpu, word] &= ~bits
                fixed[gpu, word] &= ~bits
                freed = True
        if freed:
            summarise(grid, first_of_node, node_of_gpu[gpu], node_of_gpu[gpu] + 1)


@kernel
def count_bits(free: Ints, pool: int, word: int, bits: np.uint64, sign: int) -> None:
    """Add a GPU of the pool (sign 1), or take it away (-1), at the steps whose bits are set in a word of its row."""
    for t in range(word << 6, min(free.shape[1], (word + 1) << 6)):
        free[pool, t] += sign * np.int64((bits >> np.uint64(t & 63)) & np.uint64(1))
