"""What the counts decided, as rectangles with fixed times for the fitting, and back."""

from __future__ import annotations

import numpy as np

from loadfactor.policies.blocks import Starts
from loadfactor.policies.compiled import inner, kernel, making_inner, making_kernel
from loadfactor.policies.fast.fitting import place_free
from loadfactor.policies.instance import DURATION, FIRST_BLOCK, FIRST_GPU, LAST_BLOCK, LAST_GPU, SIZE, Floats, Ints
from loadfactor.policies.occupancy import NOWHERE, Bits, take

PATCHABLE = 1.0
"""What a service's interval without a GPU of its own counts, as a share of its demand's price: swaps can patch it."""


@making_kernel
def place_items(
    chosen: Ints,
    begin: Ints,
    options: Ints,
    reward: Floats,
    weight: Floats,
    intervals: Ints,
    services: Ints,
    price: Floats,
    starts: Starts,
    grid: Bits,
) -> tuple[Ints, Floats, Ints]:
    """Place what the counts decided on free blocks, the bulkiest first; return (items, cost, first GPU or -1).

    They are taken in the rows of `grid`, but not in its summaries.
    """
    most = len(chosen) + len(intervals)
    items, cost, volume = np.empty((most, 6), dtype=np.int64), np.empty(most), np.empty(most)
    count = list_items(chosen, begin, options, reward, weight, intervals, services, price, items, cost, volume)
    items, cost = items[:count], cost[:count]
    where = np.empty(count, dtype=np.int64)
    place_free(items, _ascending(volume, count), starts, grid, len(weight) - 1, where)
    return items, cost, where


@making_inner
def _ascending(key: Floats, count: int) -> Ints:
    """Return the positions of the first `count` keys in ascending order (a stable insertion sort).

    Items are few and numpy's sort takes two seconds to compile.
    """
    order = np.empty(count, dtype=np.int64)
    for i in range(count):
        j = i
        while j > 0 and key[order[j - 1]] > key[i]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i
    return order


@inner
def list_items(
    chosen: Ints,
    begin: Ints,
    options: Ints,
    reward: Floats,
    weight: Floats,
    intervals: Ints,
    services: Ints,
    price: Floats,
    items: Ints,
    cost: Floats,
    volume: Floats,
) -> int:
    """Write the placed jobs, then the intervals, to `items`; return how many.

    `cost` receives what leaving each one out costs, `volume` minus the order in which they should choose.
    """
    steps, count = len(weight) - 1, 0
    for job in range(len(chosen)):
        option = chosen[job]
        if option == NOWHERE:
            continue
        start = begin[job]
        end = min(start + options[option, DURATION], steps)
        items[count, 0], items[count, 1], items[count, 2] = options[option, SIZE], start, end
        items[count, 3], items[count, 4] = options[option, FIRST_BLOCK], options[option, LAST_BLOCK]
        items[count, 5] = job
        cost[count] = reward[option] * (weight[end] - weight[start]) + 1e-6
        volume[count] = -(items[count, 0] ** 1.5) * (end - start)
        count += 1
    for i in range(len(intervals)):
        service, start, end = intervals[i, 0], intervals[i, 1], intervals[i, 2]
        if intervals[i, 3] == NOWHERE:
            items[count, 0], items[count, 1], items[count, 2] = 1, start, end
            items[count, 3], items[count, 4] = services[service, FIRST_GPU], services[service, LAST_GPU]
            items[count, 5] = -1 - i
            cost[count] = PATCHABLE * price[service] * (end - start) + 1e-6
            volume[count] = -1e9 + start - end
            count += 1
    return count


@kernel
def mark_items(items: Ints, found: Ints, reserved: Bits, where: Ints, intervals: Ints) -> None:
    """Note the blocks that were found: jobs' first GPUs in `where`, those of intervals in their last column, and taken
    in `reserved`.
    """
    for i in range(len(items)):
        if found[i] == NOWHERE:
            continue
        if items[i, 5] >= 0:
            where[items[i, 5]] = found[i]
        else:
            interval = -1 - items[i, 5]
            intervals[interval, 3] = found[i]
            take(reserved[intervals[interval, 0]], found[i], 1, items[i, 1], items[i, 2])
