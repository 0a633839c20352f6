"""The compiled sweep over the events of an audit: free GPUs by node and the queue, moment by moment."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from loadfactor.policies.compiled import inner, kernel

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_EDGE, _FREE, _OUT, _WAITS, _LIMITED = range(5)
_ORDER, _SHAPE, _LIMIT, _NO_WORK, _UNAVAILABLE, _WANTED = range(6)


@inner
def _move_node(histogram: Floats, node: int, before: int, after: int, memory_gib: Floats) -> None:
    """Count a node with `after` usable free GPUs, no longer with `before`: row 0 nodes, row 1 GiB of free memory.

    Nodes without a free GPU are not counted.
    """
    if before:
        histogram[0, before] -= 1
    histogram[1, before] -= before * memory_gib[node]
    if after:
        histogram[0, after] += 1
    histogram[1, after] += after * memory_gib[node]


@inner
def _fill(histogram: Floats, waiting: Ints, sizes: Ints) -> int:
    """Return the GPUs that waiting jobs would fill, large first, each in the closest fit; row 2 is what is left.

    A block of more than a node takes whole free nodes of the largest kind.
    """
    largest = histogram.shape[1] - 1
    for free in range(largest + 1):
        histogram[2, free] = histogram[0, free]
    filled = 0
    for position in range(len(sizes) - 1, -1, -1):
        size = sizes[position]
        for _ in range(waiting[position]):
            if size > largest:
                nodes = -(-size // largest)
                if histogram[2, largest] < nodes:
                    break
                histogram[2, largest] -= nodes
                filled += size
                continue
            free = size
            while free <= largest and histogram[2, free] == 0:
                free += 1
            if free > largest:
                break
            histogram[2, free] -= 1
            histogram[2, free - size] += 1
            filled += size
    return filled


@inner
def _small_pieces(histogram: Floats, sizes: Ints, too_small_now: Floats) -> None:
    """Write into `too_small_now` the GiB of free memory in pieces too small for each size."""
    largest = histogram.shape[1] - 1
    total = 0.0
    for free in range(1, largest + 1):
        total += histogram[1, free]
    for position in range(len(sizes)):
        size = sizes[position]
        usable = 0.0
        if size <= largest:
            for free in range(size, largest + 1):
                usable += histogram[1, free]
        elif histogram[0, largest] >= -(-size // largest):
            usable = histogram[1, largest]
        too_small_now[position] = total - usable


@inner
def _explain(histogram: Floats, waiting: Ints, sizes: Ints, now: Floats, small_now: Floats) -> None:
    """Write why the free GPUs stand free at this moment: `now` has the causes, and behind them the GPUs waited for."""
    free = 0.0
    for count in range(1, histogram.shape[1]):
        free += count * histogram[0, count]
    order = _fill(histogram, waiting[0], sizes)
    wanted, held_back = 0, 0
    for position in range(len(sizes)):
        wanted += waiting[0, position] * sizes[position]
        held_back += waiting[1, position] * sizes[position]
    shape = min(free - order, wanted - order)
    limit = min(free - order - shape, held_back)
    now[_ORDER], now[_SHAPE], now[_LIMIT] = order, shape, limit
    now[_NO_WORK] = free - order - shape - limit
    now[_WANTED] = wanted + held_back
    _small_pieces(histogram, sizes, small_now)


@inner
def _change_node(which: int, node: int, change: int, histogram: Floats, memory_gib: Floats, nodes: Ints) -> None:
    """Change the free GPUs of a node, or those of it that are out."""
    before = max(0, nodes[0, node] - nodes[1, node])
    nodes[which - _FREE, node] += change
    after = max(0, nodes[0, node] - nodes[1, node])
    if after != before:
        _move_node(histogram, node, before, after, memory_gib)


@inner
def _begin(histogram: Floats, nodes: Ints, node_gpus: Ints, memory_gib: Floats) -> float:
    """Begin with every GPU free; return the GiB of the fleet."""
    memory = 0.0
    for node in range(len(node_gpus)):
        nodes[0, node] = node_gpus[node]
        _move_node(histogram, node, 0, node_gpus[node], memory_gib)
        memory += node_gpus[node] * memory_gib[node]
    return memory


@inner
def _add(
    elapsed: float, now: Floats, small_now: Floats, seconds: Floats, queued: Floats, hour: int, too_small: Floats
) -> None:
    """Add what holds at this moment for the time that it held."""
    for cause in range(_WANTED):
        seconds[cause] += now[cause] * elapsed
    queued[hour] += now[_WANTED] * elapsed
    for position in range(len(small_now)):
        too_small[position] += small_now[position] * elapsed


@kernel
def sweep(
    moment: Floats,
    events: Ints,
    node_gpus: Ints,
    memory_gib: Floats,
    sizes: Ints,
    seconds: Floats,
    queued: Floats,
    too_small: Floats,
    histogram: Floats,
    waiting: Ints,
    nodes: Ints,
    now: Floats,
    small_now: Floats,
) -> float:
    """Fill `seconds` (hours x causes), `queued` (hours) and `too_small` (sizes); return GiB-seconds available.

    `events` (kind, index, change) ascend by moment; those before the first edge set the scene. Room to work in, all
    zero: `histogram` (3 x most GPUs of a node + 1), `waiting` (open, limited), `nodes` (free, out), `now`, `small_now`.
    """
    memory_now, memory_total = _begin(histogram, nodes, node_gpus, memory_gib), 0.0
    hour, since, stale = -1, moment[0], True
    for event in range(len(moment)):
        elapsed = moment[event] - since
        if elapsed > 0 and hour >= 0:
            if stale:
                _explain(histogram, waiting, sizes, now, small_now)
                stale = False
            _add(elapsed, now, small_now, seconds[hour], queued, hour, too_small)
            memory_total += memory_now * elapsed
        since = moment[event]
        which, item, by = events[event, 0], events[event, 1], events[event, 2]
        stale = stale or which != _EDGE
        if which == _EDGE:
            hour += 1
            if hour == len(queued):
                break
        elif which >= _WAITS:
            waiting[which - _WAITS, item] += by
        else:
            _change_node(which, item, by, histogram, memory_gib, nodes)
            if which == _OUT:
                memory_now -= by * memory_gib[item]
                now[_UNAVAILABLE] += by
    return memory_total
