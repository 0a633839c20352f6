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
from loadfactor.policies.fast.packing import is_aligned, misfit
from loadfactor.policies.instance import Floats, Ints
from loadfactor.policies.occupancy import NOWHERE, Bits, next_busy, release, take

ITEM_SIZE, ITEM_START, ITEM_END, ITEM_LOW, ITEM_HIGH = range(5)
"""Columns of `items`: GPUs, half-open range of steps, and candidate blocks `starts[low:high]`."""
SAME = 1e-9
"""Penalties that differ by less are the same: they are sums in different orders."""


@inner
def place_free(items: Ints, order: Ints, starts: Starts, grid: Bits, steps: int, where: Ints) -> None:
    """Place each item, in `order`, on the best free block and take it; write its first GPU, or -1, to `where`."""
    for item in order:
        where[item] = _best_free(items, item, starts, grid, steps, 0, len(grid))
        if where[item] != NOWHERE:
            _take(grid, items, item, where[item])


@making_kernel
def fit(
    attempts: int,
    items: Ints,
    cost: Floats,
    penalty: Floats,
    starts: Starts,
    closed: Bits,
    grid: Bits,
    steps: int,
    random: npt.NDArray[np.uint64],
    where: Ints,
) -> float:
    """Find blocks for the items that have none, by at most `attempts` ejections; return the cost of those left over.

    `cost` is what it costs to leave an item without a block; `penalty` starts as a copy of it and grows where it is
    hard to find one, over several calls. `where` and `grid`, which has the items taken, are left in the state in which
    the cost is least. `closed` (N, W) are the bits where no item may go.
    """
    count = len(items)
    pool, best, freed = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(4, np.int64)
    sums = np.empty(len(closed) + 1, np.float64)
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
        gpu = _cheapest(items, item, starts, closed, steps, penalty, where, sums, random)
        if gpu == NOWHERE:
            continue
        stayed, waiting = waiting, _eject(items, item, gpu, grid, where, pool, waiting, freed)
        where[item] = gpu
        _take(grid, items, item, gpu)
        waiting = _resettle(items, starts, grid, steps, where, pool, stayed, waiting, freed)
        lost = _lost(where, cost)
        if lost < least:
            least = lost
            copy(where, best)
    if least > 0:
        _rebuild(items, best, grid, where)
    return least


@inner
def copy(source: Ints, target: Ints) -> None:
    """Copy a row; a loop, because compiling a slice assignment takes seconds."""
    for index in range(len(source)):
        target[index] = source[index]


@inner
def _lost(where: Ints, cost: Floats) -> float:
    lost = 0.0
    for item in range(len(where)):
        if where[item] == NOWHERE:
            lost += cost[item]
    return lost


@inner
def _take(grid: Bits, items: Ints, item: int, gpu: int) -> None:
    take(grid, gpu, items[item, ITEM_SIZE], items[item, ITEM_START], items[item, ITEM_END])


@inner
def _best_free(items: Ints, item: int, starts: Starts, grid: Bits, steps: int, left: int, right: int) -> int:
    """Return the first GPU of the free block that leaves the least idle time around the item, or -1.

    Only blocks with a GPU in [left, right) are looked at.
    """
    best, least = NOWHERE, 1 << 30
    size, start, end = items[item, ITEM_SIZE], items[item, ITEM_START], items[item, ITEM_END]
    for index in range(items[item, ITEM_LOW], items[item, ITEM_HIGH]):
        gpu = starts[index]
        if gpu >= right or gpu + size <= left or next_busy(grid, gpu, size, start, steps) < end:
            continue
        gap = misfit(grid, gpu, size, is_aligned(gpu, size), start, end, steps)
        if gap < least:
            best, least = gpu, gap
            if gap == 0:
                break
    return best


@inner
def _cheapest(
    items: Ints,
    item: int,
    starts: Starts,
    closed: Bits,
    steps: int,
    penalty: Floats,
    where: Ints,
    sums: Floats,
    random: npt.NDArray[np.uint64],
) -> int:
    """Return the block whose occupants have the smallest sum of penalties, ties at random; -1 where all are closed.

    An item is in the way of all blocks that begin on a run of GPUs: its penalty is added to the first of `sums` (N + 1)
    and taken off behind the last, so that running sums are what each block costs.
    """
    size, start, end = items[item, ITEM_SIZE], items[item, ITEM_START], items[item, ITEM_END]
    for gpu in range(len(sums)):
        sums[gpu] = 0.0
    for other in range(len(items)):
        gpu = where[other]
        if gpu != NOWHERE and items[other, ITEM_START] < end and items[other, ITEM_END] > start:
            sums[max(gpu - size + 1, 0)] += penalty[other]
            sums[gpu + items[other, ITEM_SIZE]] -= penalty[other]
    for gpu in range(1, len(sums)):
        sums[gpu] += sums[gpu - 1]
    best, least, ties = NOWHERE, np.inf, 1
    for index in range(items[item, ITEM_LOW], items[item, ITEM_HIGH]):
        gpu = starts[index]
        if sums[gpu] > least + SAME or next_busy(closed, gpu, size, start, steps) < end:
            continue
        ties = ties + 1 if sums[gpu] >= least - SAME else 1
        if ties == 1 or random_below(random, ties) == 0:
            best, least = gpu, sums[gpu]
    return best


@inner
def _eject(items: Ints, item: int, gpu: int, grid: Bits, where: Ints, pool: Ints, waiting: int, freed: Ints) -> int:
    """Throw everybody out of the block and into the pool; return the new size of the pool.

    `freed` (4,) receives the first GPU and step of what they held, and those behind the last.
    """
    behind, start, end = gpu + items[item, ITEM_SIZE], items[item, ITEM_START], items[item, ITEM_END]
    freed[0], freed[1], freed[2], freed[3] = len(grid), 0, 64 * grid.shape[1], 0
    for other in range(len(items)):
        first = where[other]
        if first == NOWHERE or first >= behind or first + items[other, ITEM_SIZE] <= gpu:
            continue
        since, until = items[other, ITEM_START], items[other, ITEM_END]
        if since < end and until > start:
            release(grid, first, items[other, ITEM_SIZE], since, until)
            where[other] = NOWHERE
            pool[waiting] = other
            waiting += 1
            freed[0], freed[1] = min(freed[0], first), max(freed[1], first + items[other, ITEM_SIZE])
            freed[2], freed[3] = min(freed[2], since), max(freed[3], until)
    return waiting


@inner
def _resettle(
    items: Ints,
    starts: Starts,
    grid: Bits,
    steps: int,
    where: Ints,
    pool: Ints,
    stayed: int,
    waiting: int,
    freed: Ints,
) -> int:
    """Place whoever of the pool fits somewhere without ejecting; return the new size of the pool.

    Those of the first `stayed` fitted nowhere before, so that only what was `freed` can take them.
    """
    kept = 0
    for k in range(waiting):
        item = pool[k]
        if k >= stayed:
            gpu = _best_free(items, item, starts, grid, steps, 0, len(grid))
        elif items[item, ITEM_START] < freed[3] and items[item, ITEM_END] > freed[2]:
            gpu = _best_free(items, item, starts, grid, steps, freed[0], freed[1])
        else:
            gpu = NOWHERE
        if gpu == NOWHERE:
            pool[kept] = item
            kept += 1
        else:
            where[item] = gpu
            _take(grid, items, item, gpu)
    return kept


@inner
def _rebuild(items: Ints, best: Ints, grid: Bits, where: Ints) -> None:
    """Return to the best state."""
    for item in range(len(items)):
        if where[item] != NOWHERE:
            release(grid, where[item], items[item, ITEM_SIZE], items[item, ITEM_START], items[item, ITEM_END])
    for item in range(len(items)):
        where[item] = best[item]
        if best[item] != NOWHERE:
            _take(grid, items, item, best[item])
