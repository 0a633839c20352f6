"""Compiled searches for a block that is free now, and for the first moment at which one will be.

`free_at` (N,) is the second from which on each GPU is free: at most `now` where it is free, infinity where nobody
knows. `suitable` (nodes,) says which nodes a block may lie on.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from loadfactor.policies.compiled import inner, kernel, making_kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
NOWHERE = -1
STRICT, EASY = 0, 1
"""Modes of `start_in_order`: nobody overtakes; a job may overtake where it does not delay the first that waits."""


@kernel
def best_free_block(
    free_at: Floats, now: float, size: int, first_of_node: Ints, suitable: Mask, low: int, high: int, barred: bool
) -> int:
    """Return the first GPU of the free block that leaves the least behind, or -1.

    Inside a node the shortest stretch of free GPUs wins, of whole nodes the shortest row of free ones; the lowest of
    equals. No block may meet [low, high) where `barred` is set.
    """
    for node in range(len(first_of_node) - 1):
        if suitable[node] and first_of_node[node + 1] - first_of_node[node] >= size and size & (size - 1) == 0:
            return _shortest_stretch(free_at, now, size, first_of_node, suitable, low, high, barred)
    return _shortest_row(free_at, now, size, first_of_node, suitable, low, high, barred)


@inner
def _shortest_stretch(
    free_at: Floats, now: float, size: int, first_of_node: Ints, suitable: Mask, low: int, high: int, barred: bool
) -> int:
    """Return the first GPU of the shortest stretch of free GPUs inside a node that holds the block, or -1."""
    best, best_length = NOWHERE, 1 << 60
    for node in range(len(first_of_node) - 1):
        if not suitable[node]:
            continue
        begin, length = NOWHERE, 0
        for gpu in range(first_of_node[node], first_of_node[node + 1] + 1):
            if gpu < first_of_node[node + 1] and free_at[gpu] <= now and not (barred and low <= gpu < high):
                if length == 0:
                    begin = gpu
                length += 1
            else:
                if size <= length < best_length:
                    best, best_length = begin, length
                length = 0
    return best


@inner
def _shortest_row(
    free_at: Floats, now: float, size: int, first_of_node: Ints, suitable: Mask, low: int, high: int, barred: bool
) -> int:
    """Return the first GPU of the shortest row of wholly free nodes of which some make up the block, or -1."""
    best, best_length = NOWHERE, 1 << 60
    begin, length = NOWHERE, 0
    nodes = len(first_of_node) - 1
    for node in range(nodes + 1):
        free = node < nodes and suitable[node]
        if free:
            for gpu in range(first_of_node[node], first_of_node[node + 1]):
                if free_at[gpu] > now or (barred and low <= gpu < high):
                    free = False
                    break
        if free:
            if length == 0:
                begin = node
            length += 1
        elif length > 0:
            gpu = _exact(first_of_node, begin, begin + length, size)
            total = first_of_node[begin + length] - first_of_node[begin]
            if gpu != NOWHERE and total < best_length:
                best, best_length = gpu, total
            length = 0
    return best


@inner
def _exact(first_of_node: Ints, low: int, high: int, size: int) -> int:
    """Return the first GPU of the lowest row of whole nodes within [low, high) that has `size` GPUs, or -1."""
    last = low
    for node in range(low, high):
        if last < node:
            last = node
        while last < high and first_of_node[last] - first_of_node[node] < size:
            last += 1
        if first_of_node[last] - first_of_node[node] == size:
            return int(first_of_node[node])
    return NOWHERE


@making_kernel
def first_free_block(free_at: Floats, size: int, first_of_node: Ints, suitable: Mask) -> tuple[float, int]:
    """Return the first moment at which a block of the size will be free, and its first GPU; infinity and -1 if none."""
    best, best_gpu = np.inf, NOWHERE
    nodes = len(first_of_node) - 1
    inside = False
    for node in range(nodes):
        last = first_of_node[node + 1] - size
        if not suitable[node] or last < first_of_node[node] or size & (size - 1) != 0:
            continue
        inside = True
        for gpu in range(first_of_node[node], last + 1):
            latest = free_at[gpu]
            for other in range(gpu + 1, gpu + size):
                if free_at[other] > latest:
                    latest = free_at[other]
                if latest >= best:
                    break
            if latest < best:
                best, best_gpu = latest, gpu
    if inside:
        return best, best_gpu
    busy_until = np.empty(nodes, dtype=np.float64)
    for node in range(nodes):
        until = free_at[first_of_node[node] : first_of_node[node + 1]].max()
        busy_until[node] = until if suitable[node] else np.inf
    for node in range(nodes):
        latest, last = 0.0, node
        while last < nodes and first_of_node[last] - first_of_node[node] < size:
            if busy_until[last] > latest:
                latest = busy_until[last]
            last += 1
        if first_of_node[last] - first_of_node[node] == size and latest < best:
            best, best_gpu = latest, first_of_node[node]
    return best, best_gpu


@making_kernel
def start_in_order(
    mode: int, order: Ints, need: Ints, size: Ints, run_seconds: Floats, ready_at: Floats, free_at: Floats, now: float,
    first_of_node: Ints, suitable: Mask, started: Ints,
) -> int:  # fmt: skip
    """Start what may start of the jobs in `order`; return how many, their (job, GPU) in `started`.

    `suitable` (needs, nodes) says which nodes meet a need; `need`, `size` and the rest are by job. In mode EASY the
    first job that must wait gets a reservation: the first block that will be free for it, by the expected ends; a later
    one starts where it is over by then or leaves that block alone (Lifka 1995). A job for which nobody can say when a
    block will be free holds nobody up. `free_at` is written to.
    """
    found, shadow, low, high, reserved = 0, np.inf, 0, 0, False
    # A job fails where one of its need, no longer and no larger, failed before: free GPUs only get fewer.
    failed = np.full((len(suitable), len(free_at) + 1), np.inf)
    for job in order:
        wanted, run, fits = size[job], run_seconds[job], suitable[need[job]]
        if ready_at[job] > now or run >= failed[need[job], wanted]:
            continue
        gpu = best_free_block(free_at, now, wanted, first_of_node, fits, low, high, reserved)
        if gpu == NOWHERE and reserved and now + run <= shadow:
            gpu = best_free_block(free_at, now, wanted, first_of_node, fits, low, high, False)
        if gpu != NOWHERE:
            started[found, 0], started[found, 1] = job, gpu
            found += 1
            free_at[gpu : gpu + wanted] = now + run
            continue
        fails_from = run if reserved else 0.0
        if not reserved:
            shadow, low = first_free_block(free_at, wanted, first_of_node, fits)
            if low != NOWHERE and shadow < np.inf:
                if mode == STRICT:
                    break
                reserved, high = True, low + wanted
            else:
                shadow, low = np.inf, 0
        _note_failure(failed[need[job]], wanted, fails_from)
        if failed[:, 1].max() <= 0.0:
            break
    return found


@inner
def _note_failure(failed: Floats, size: int, run: float) -> None:
    """Note that no job of `size` GPUs or more that runs for `run` seconds or longer can start."""
    for larger in range(size, len(failed)):
        if failed[larger] <= run:
            break
        failed[larger] = run
