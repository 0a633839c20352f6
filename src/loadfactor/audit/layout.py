"""The compiled layout: shares of intervals onto GPUs, one after another in the order of their starts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from loadfactor.policies.compiled import inner, kernel

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_GPU, _SHARE, _GUESSED, _NEXT = range(4)
_BEGIN, _END = range(2)
_NODE, _WANTED, _FIRST_INDEX, _BEYOND_INDEX = range(4)


@inner
def _take(
    gpu: int,
    node: int,
    share: int,
    guessed: int,
    begin: float,
    end: float,
    pieces: Ints,
    times: Floats,
    last: Ints,
    free: Ints,
    holder: Ints,
) -> None:
    """Give a free GPU to a share: a new piece, in front of the share's other pieces."""
    piece = last[0]
    last[0] += 1
    pieces[piece, _GPU] = gpu
    pieces[piece, _SHARE] = share
    pieces[piece, _GUESSED] = guessed
    pieces[piece, _NEXT] = last[share + 1]
    last[share + 1] = piece
    times[piece, _BEGIN] = begin
    times[piece, _END] = end
    holder[gpu] = piece
    free[node] -= 1


@inner
def _lowest_free(node: int, first_gpu: Ints, holder: Ints) -> int:
    for gpu in range(first_gpu[node], first_gpu[node + 1]):
        if holder[gpu] < 0:
            return gpu
    return -1


@inner
def _best_fit(wanted: int, free: Ints) -> int:
    """Return the node with the fewest free GPUs that suffice, else the one with most; -1 where none has any."""
    fit, most = -1, -1
    for node in range(len(free)):
        if free[node] >= wanted and (fit < 0 or free[node] < free[fit]):
            fit = node
        if free[node] > 0 and (most < 0 or free[node] > free[most]):
            most = node
    return fit if fit >= 0 else most


@inner
def _make_way(
    gpu: int,
    anywhere: bool,
    at: float,
    first_gpu: Ints,
    node_of: Ints,
    pieces: Ints,
    times: Floats,
    last: Ints,
    free: Ints,
    holder: Ints,
) -> float:
    """Free a GPU whose piece was a guess, because the log names it for another; return the GPU-seconds left homeless.

    The piece goes on on the lowest free GPU of its node, or, where the log named it no node, on any other.
    """
    piece = holder[gpu]
    if piece < 0 or pieces[piece, _GUESSED] == 0:
        return 0.0
    end, node = times[piece, _END], node_of[gpu]
    elsewhere = node if free[node] > 0 else (_best_fit(1, free) if anywhere else -1)
    target = -1 if elsewhere < 0 else _lowest_free(elsewhere, first_gpu, holder)
    times[piece, _END] = at
    holder[gpu] = -1
    free[node] += 1
    if target < 0:
        return float(end - at)
    _take(target, elsewhere, pieces[piece, _SHARE], 1, at, end, pieces, times, last, free, holder)
    return 0.0


@inner
def _take_named(
    gpu: int,
    share: int,
    begin: float,
    end: float,
    node_of: Ints,
    pieces: Ints,
    times: Floats,
    last: Ints,
    free: Ints,
    holder: Ints,
) -> float:
    """Give a share a GPU that the log names; return the GPU-seconds that it shares with one that was there before.

    It has the GPU alone from when the other leaves it.
    """
    if holder[gpu] < 0:
        _take(gpu, node_of[gpu], share, 0, begin, end, pieces, times, last, free, holder)
        return 0.0
    until = times[holder[gpu], _END]
    if end > until:
        free[node_of[gpu]] += 1
        _take(gpu, node_of[gpu], share, 0, until, end, pieces, times, last, free, holder)
    return float(min(end, until) - begin)


@inner
def _fill_node(
    node: int,
    wanted: int,
    share: int,
    begin: float,
    end: float,
    first_gpu: Ints,
    pieces: Ints,
    times: Floats,
    last: Ints,
    free: Ints,
    holder: Ints,
) -> int:
    """Give a share the lowest free GPUs of a node, at most `wanted`; return how many are still wanted."""
    gpu = first_gpu[node]
    while wanted > 0 and gpu < first_gpu[node + 1]:
        if holder[gpu] < 0:
            _take(gpu, node, share, 1, begin, end, pieces, times, last, free, holder)
            wanted -= 1
        gpu += 1
    return wanted


@inner
def _release(share: int, node_of: Ints, pieces: Ints, last: Ints, free: Ints, holder: Ints) -> None:
    """Free every GPU that a share still holds."""
    piece = last[share + 1]
    while piece >= 0:
        gpu = pieces[piece, _GPU]
        if holder[gpu] == piece:
            holder[gpu] = -1
            free[node_of[gpu]] += 1
        piece = pieces[piece, _NEXT]


@kernel
def lay_shares(
    shares: Ints,
    spans: Floats,
    indices: Ints,
    by_end: Ints,
    first_gpu: Ints,
    node_of: Ints,
    pieces: Ints,
    times: Floats,
    last: Ints,
    free: Ints,
    holder: Ints,
) -> float:
    """Lay out shares; return the GPU-seconds that found no free GPU. The number of pieces made is left in `last[0]`.

    `shares` has a row for each share, in the order of `spans[:, 0]`: its node (-1: any), its GPUs, and where its GPU
    numbers of the fleet begin and end in `indices`. `by_end` are the shares in the order of `spans[:, 1]`. Written:
    `pieces` (GPU, share, guessed, next), `times` (begin, end). `last` (0 and then -1 for each share), `free` (by node)
    and `holder` (-1 for each GPU) tell the state of the fleet.
    """
    crowded, released = 0.0, 0
    for share in range(len(shares)):
        begin, end = spans[share, _BEGIN], spans[share, _END]
        while spans[by_end[released], _END] <= begin:
            _release(by_end[released], node_of, pieces, last, free, holder)
            released += 1
        node, wanted = shares[share, _NODE], shares[share, _WANTED]
        for at in range(shares[share, _FIRST_INDEX], shares[share, _BEYOND_INDEX]):
            gpu = indices[at]
            piece = holder[gpu]
            anywhere = piece >= 0 and shares[pieces[piece, _SHARE], _NODE] < 0
            crowded += _make_way(gpu, anywhere, begin, first_gpu, node_of, pieces, times, last, free, holder)
            crowded += _take_named(gpu, share, begin, end, node_of, pieces, times, last, free, holder)
            wanted -= 1
        if node >= 0 and wanted > 0:
            wanted = _fill_node(node, wanted, share, begin, end, first_gpu, pieces, times, last, free, holder)
        elif wanted > 0:
            node = _best_fit(wanted, free)
            while wanted > 0 and node >= 0:
                wanted = _fill_node(node, wanted, share, begin, end, first_gpu, pieces, times, last, free, holder)
                node = _best_fit(wanted, free)
        crowded += wanted * (end - begin)
    return crowded
