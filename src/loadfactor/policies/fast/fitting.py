"""Fixed times, free positions: find a block for every item at its given start, by ejection.

The counts say when every job runs and when every GPU of a service is needed; whether blocks for all of them exist is a
rectangle packing with fixed sides in time. Items that fit nowhere throw others out, the cheapest to resettle first: the
ejection pool with adaptive penalties of Nagata and Bräysy (2009), there for routes, here for blocks.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from loadfactor.policies.blocks import Starts
from loadfactor.policies.compiled import inner, making_kernel
from loadfactor.policies.fast.dice import random_below
from loadfactor.policies.instance import Floats, Ints

FREE, CLOSED, NOWHERE = -1, -2, -1
ITEM_SIZE, ITEM_START, ITEM_END, ITEM_LOW, ITEM_HIGH = range(5)
"""Columns of `items`: GPUs, half-open range of steps, and candidate blocks `starts[low:high]`."""
MISALIGNED = 8
BLOCKED = 1e300


@inner
def place_free(items: Ints, order: Ints, starts: Starts, owner: Ints, where: Ints) -> None:
    """Place each item, in `order`, on the best free block; write its first GPU, or -1, to `where`.

    `owner` (N, T) says CLOSED where nobody may go and FREE elsewhere; it receives the item of every cell.
    """
    for item in order:
        where[item] = _best_free(items, item, starts, owner)
        if where[item] != NOWHERE:
            _write(owner, items, item, where[item], item)


@making_kernel
def fit(
    attempts: int,
    items: Ints,
    cost: Floats,
    penalty: Floats,
    starts: Starts,
    owner: Ints,
    random: npt.NDArray[np.uint64],
    where: Ints,
) -> float:
    """Find blocks for the items that have none, by at most `attempts` ejections; return the cost of those left over.

    `cost` is what it costs to leave an item without a block; `penalty` starts as a copy of it and grows where it is
    hard to find one, over several calls. `where` and `owner` are left in the state in which the cost is least.
    """
    count = len(items)
    stamp = np.zeros(count, dtype=np.int64)
    pool = np.empty(count, dtype=np.int64)
    best = np.empty(count, dtype=np.int64)
    waiting = 0
    for item in range(count):
        best[item] = where[item]
        if where[item] == NOWHERE:
            pool[waiting] = item
            waiting += 1
    least = _lost(where, cost)
    for _ in range(attempts):
        if waiting == 0:
            break
        pick = random_below(random, waiting)
        item = pool[pick]
        waiting -= 1
        pool[pick] = pool[waiting]
        penalty[item] += cost[item]
        gpu = _cheapest(items, item, starts, owner, penalty, stamp, random)
        if gpu == NOWHERE:
            continue
        waiting = _eject(items, item, gpu, owner, where, pool, waiting)
        where[item] = gpu
        _write(owner, items, item, gpu, item)
        waiting = _resettle(items, starts, owner, where, pool, waiting)
        lost = _lost(where, cost)
        if lost < least:
            least = lost
            for other in range(count):
                best[other] = where[other]
    if least > 0:
        _rebuild(items, best, owner, where)
    return least


@inner
def _lost(where: Ints, cost: Floats) -> float:
    lost = 0.0
    for item in range(len(where)):
        if where[item] == NOWHERE:
            lost += cost[item]
    return lost


@inner
def _write(owner: Ints, items: Ints, item: int, gpu: int, value: int) -> None:
    for other in range(gpu, gpu + items[item, ITEM_SIZE]):
        for t in range(items[item, ITEM_START], items[item, ITEM_END]):
            owner[other, t] = value


@inner
def _best_free(items: Ints, item: int, starts: Starts, owner: Ints) -> int:
    """Return the first GPU of the free block that leaves the least idle time around the item, or -1."""
    best, least = NOWHERE, 1 << 30
    size, start, end = items[item, ITEM_SIZE], items[item, ITEM_START], items[item, ITEM_END]
    for index in range(items[item, ITEM_LOW], items[item, ITEM_HIGH]):
        gpu = starts[index]
        if not _is_free(owner, gpu, size, start, end):
            continue
        gap = 0 if gpu % size == 0 else MISALIGNED * size
        for other in range(gpu, gpu + size):
            t = start
            while t > 0 and owner[other, t - 1] == FREE:
                t -= 1
                gap += 1
            t = end
            while t < owner.shape[1] and owner[other, t] == FREE:
                t += 1
                gap += 1
        if gap < least:
            best, least = gpu, gap
            if gap == 0:
                break
    return best


@inner
def _is_free(owner: Ints, gpu: int, size: int, start: int, end: int) -> bool:
    for other in range(gpu, gpu + size):
        for t in range(start, end):
            if owner[other, t] != FREE:
                return False
    return True


@inner
def _cheapest(
    items: Ints, item: int, starts: Starts, owner: Ints, penalty: Floats, stamp: Ints, random: npt.NDArray[np.uint64]
) -> int:
    """Return the block whose occupants have the smallest sum of penalties, ties at random; -1 where all are closed."""
    best, least, ties = NOWHERE, BLOCKED, 1
    size, start, end = items[item, ITEM_SIZE], items[item, ITEM_START], items[item, ITEM_END]
    for index in range(items[item, ITEM_LOW], items[item, ITEM_HIGH]):
        gpu = starts[index]
        mark = (gpu << 1) | 1
        cost = 0.0
        for other in range(gpu, gpu + size):
            for t in range(start, end):
                holder = owner[other, t]
                if holder == CLOSED:
                    cost = BLOCKED
                elif holder != FREE and stamp[holder] != mark:
                    stamp[holder] = mark
                    cost += penalty[holder]
                if cost > least:
                    break
            if cost > least:
                break
        if cost >= BLOCKED or cost > least:
            continue
        ties = ties + 1 if cost == least else 1
        if cost < least or random_below(random, ties) == 0:
            best, least = gpu, cost
    for holder in range(len(stamp)):
        stamp[holder] = 0
    return best


@inner
def _eject(items: Ints, item: int, gpu: int, owner: Ints, where: Ints, pool: Ints, waiting: int) -> int:
    """Throw everybody out of the block and into the pool; return the new size of the pool."""
    for other in range(gpu, gpu + items[item, ITEM_SIZE]):
        for t in range(items[item, ITEM_START], items[item, ITEM_END]):
            holder = owner[other, t]
            if holder >= 0:
                _write(owner, items, holder, where[holder], FREE)
                where[holder] = NOWHERE
                pool[waiting] = holder
                waiting += 1
    return waiting


@inner
def _resettle(items: Ints, starts: Starts, owner: Ints, where: Ints, pool: Ints, waiting: int) -> int:
    """Place whoever of the pool fits somewhere without ejecting; return the new size of the pool."""
    kept = 0
    for k in range(waiting):
        item = pool[k]
        gpu = _best_free(items, item, starts, owner)
        if gpu == NOWHERE:
            pool[kept] = item
            kept += 1
        else:
            where[item] = gpu
            _write(owner, items, item, gpu, item)
    return kept


@inner
def _rebuild(items: Ints, best: Ints, owner: Ints, where: Ints) -> None:
    """Return to the best state."""
    for item in range(len(items)):
        if where[item] != NOWHERE:
            _write(owner, items, item, where[item], FREE)
    for item in range(len(items)):
        where[item] = best[item]
        if best[item] != NOWHERE:
            _write(owner, items, item, best[item], item)
