"""Who is busy when: one row of bits a GPU, one bit a step, and the compiled searches over them.

`busy` is a uint64 array of shape (N, W) with W = ceil(T / 64); bit t of a row is set where the GPU is taken at step t.
Bits at and beyond T stay clear: a job that runs past an open horizon meets nobody there. A block is free in
[start, end) exactly when the OR of its rows has no bit set there, so that one word answers for 64 steps at once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from loadfactor.model import Problem
from loadfactor.policies.compiled import inner, kernel

Bits = npt.NDArray[np.uint64]
WORD = 64
NOWHERE = -1

# Position of the lowest set bit by a de Bruijn sequence (Leiserson, Prokop and Randall 1998).
_DE_BRUIJN = 0x03F79D71B4CB0A89
_LOWEST = np.zeros(64, dtype=np.int64)
for _bit in range(64):
    _LOWEST[((_DE_BRUIJN << _bit) & (2**64 - 1)) >> 58] = _bit


def empty_grid(problem: Problem) -> Bits:
    """Return the bits of a grid in which nothing is placed yet: unavailable GPUs and running jobs are busy."""
    cluster, steps = problem.cluster, problem.horizon.steps
    busy = np.zeros((cluster.gpu_count, -(-steps // WORD)), dtype=np.uint64)
    for entry in cluster.unavailable:
        set_steps(busy, np.array(entry.gpus), entry.from_step, min(entry.until_step, steps))
    for job in problem.jobs:
        if job.running:
            set_steps(busy, np.array(job.running.gpus), 0, min(job.running.remaining, steps))
    return busy


def set_steps(busy: Bits, gpus: npt.NDArray[np.int64], start: int, end: int) -> None:
    """Mark `gpus` as taken in the steps [start, end)."""
    for word in range(busy.shape[1]):
        mask = word_mask(start - word * WORD, end - word * WORD)
        if mask:
            busy[gpus, word] |= np.uint64(mask)


def word_mask(low: int, high: int) -> int:
    """Return a word with the bits [low, high) set, clipped to 0 and 64."""
    low, high = max(low, 0), min(high, WORD)
    return ((1 << (high - low)) - 1) << low if low < high else 0


@inner
def lowest_bit(word: np.uint64) -> int:
    """Return the position of the lowest set bit of a word that is not 0."""
    isolated = word & (~word + np.uint64(1))
    position: int = _LOWEST[(isolated * np.uint64(_DE_BRUIJN)) >> np.uint64(58)]
    return position


@inner
def highest_bit(word: np.uint64) -> int:
    """Return the position of the highest set bit of a word that is not 0."""
    for shift in (1, 2, 4, 8, 16, 32):
        word |= word >> np.uint64(shift)
    return lowest_bit(word ^ (word >> np.uint64(1)))


@inner
def mask_between(low: int, high: int) -> np.uint64:
    """Return a word with the bits [low, high) set, clipped to 0 and 64."""
    if low < 0:
        low = 0
    if high > 64:
        high = 64
    if low >= high:
        return np.uint64(0)
    return (~np.uint64(0) >> np.uint64(64 - high + low)) << np.uint64(low)


@inner
def next_busy(busy: Bits, gpu: int, size: int, step: int, steps: int) -> int:
    """Return the first step >= `step` at which any GPU of the block is taken, or `steps`."""
    word = step >> 6
    skip = np.uint64(step & 63)
    while word < busy.shape[1]:
        bits = busy[gpu, word]
        for other in range(gpu + 1, gpu + size):
            bits |= busy[other, word]
        bits = (bits >> skip) << skip
        if bits != 0:
            return min((word << 6) + lowest_bit(bits), steps)
        skip = np.uint64(0)
        word += 1
    return steps


@inner
def next_free(busy: Bits, gpu: int, size: int, step: int, steps: int) -> int:
    """Return the first step >= `step` at which no GPU of the block is taken, or `steps`."""
    word = step >> 6
    skip = np.uint64(step & 63)
    while word < busy.shape[1]:
        bits = busy[gpu, word]
        for other in range(gpu + 1, gpu + size):
            bits |= busy[other, word]
        bits = ((~bits) >> skip) << skip
        if bits != 0:
            return min((word << 6) + lowest_bit(bits), steps)
        skip = np.uint64(0)
        word += 1
    return steps


@kernel
def earliest_in_block(busy: Bits, gpu: int, size: int, duration: int, first: int, last: int, steps: int) -> int:
    """Return the first start in [first, last] at which the block is free for `duration` steps, or -1."""
    words = busy.shape[1]
    if words <= 2:
        low, high = np.uint64(0), np.uint64(0)
        for other in range(gpu, gpu + size):
            low |= busy[other, 0]
            high |= busy[other, words - 1]
        if words == 1:
            high = np.uint64(0)
        return earliest_run(low, high, min(duration, steps), first, last)
    start = next_free(busy, gpu, size, first, steps)
    while start <= last:
        taken = next_busy(busy, gpu, size, start, steps)
        if taken >= min(start + duration, steps):
            return start
        start = next_free(busy, gpu, size, taken, steps)
    return NOWHERE


@kernel
def earliest_run(low: np.uint64, high: np.uint64, length: int, first: int, last: int) -> int:
    """Return the first position in [first, last] at which `length` clear bits of the 128-bit word begin, or -1.

    Runs by doubling: shifted by what is known to be free and ANDed with itself. Beyond bit 127 all is clear.
    """
    low, high = ~low, ~high
    low_starts, high_starts = mask_between(first, last + 1), mask_between(first - 64, last - 63)
    known = 1
    while known < length:
        if (low & low_starts) | (high & high_starts) == 0:
            return NOWHERE
        by = min(known, length - known)
        if by >= 64:
            low &= high
        else:
            shift = np.uint64(by)
            low &= (low >> shift) | (high << (np.uint64(64) - shift))
            high &= (high >> shift) | ~(~np.uint64(0) >> shift)
        known += by
    low &= low_starts
    if low != 0:
        return lowest_bit(low)
    high &= high_starts
    if high != 0:
        return 64 + lowest_bit(high)
    return NOWHERE


@kernel
def earliest_start(
    busy: Bits, starts: npt.NDArray[np.int64], size: int, duration: int, first: int, last: int, steps: int
) -> tuple[int, int]:
    """Return (start, first GPU) of the earliest place among the candidate blocks, the lowest block first, or -1s."""
    best_start, best_gpu = NOWHERE, NOWHERE
    limit = last
    for gpu in starts:
        start = earliest_in_block(busy, gpu, size, duration, first, limit, steps)
        if start != NOWHERE:
            best_start, best_gpu = start, gpu
            if start == first:
                break
            limit = start - 1
    return best_start, best_gpu


@kernel
def take(busy: Bits, gpu: int, size: int, start: int, end: int) -> None:
    """Mark the block as taken in the steps [start, end)."""
    for word in range(start >> 6, min(busy.shape[1], ((end - 1) >> 6) + 1)):
        mask = mask_between(start - (word << 6), end - (word << 6))
        for other in range(gpu, gpu + size):
            busy[other, word] |= mask


@kernel
def release(busy: Bits, gpu: int, size: int, start: int, end: int) -> None:
    """Mark the block as free in the steps [start, end)."""
    for word in range(start >> 6, min(busy.shape[1], ((end - 1) >> 6) + 1)):
        mask = ~mask_between(start - (word << 6), end - (word << 6))
        for other in range(gpu, gpu + size):
            busy[other, word] &= mask


def with_summary(busy: Bits, first_of_node: npt.NDArray[np.int64]) -> Bits:
    """Return `busy` (N, W) with two more rows a node below it: when any of its GPUs is taken, and when all are.

    Row N + n is the OR and row N + nodes + n the AND of the rows of node n. A block of whole nodes is free when the OR
    rows of its nodes are, and no block inside a node is free when the AND row is not.
    """
    nodes = len(first_of_node) - 1
    grid = np.empty((len(busy) + 2 * nodes, busy.shape[1]), dtype=np.uint64)
    grid[: len(busy)] = busy
    summarise(grid, first_of_node, 0, nodes)
    return grid


@kernel
def summarise(grid: Bits, first_of_node: npt.NDArray[np.int64], low: int, high: int) -> None:
    """Write the OR and AND rows of the nodes [low, high)."""
    nodes = len(first_of_node) - 1
    gpus = first_of_node[nodes]
    for node in range(low, high):
        for word in range(grid.shape[1]):
            some, every = np.uint64(0), ~np.uint64(0)
            for gpu in range(first_of_node[node], first_of_node[node + 1]):
                some |= grid[gpu, word]
                every &= grid[gpu, word]
            grid[gpus + node, word] = some
            grid[gpus + nodes + node, word] = every


@kernel
def take_block(
    grid: Bits,
    node_of_gpu: npt.NDArray[np.int64],
    first_of_node: npt.NDArray[np.int64],
    gpu: int,
    size: int,
    start: int,
    end: int,
) -> None:
    """Mark the block as taken in [start, end), its nodes' summaries included."""
    take(grid, gpu, size, start, end)
    summarise(grid, first_of_node, node_of_gpu[gpu], node_of_gpu[gpu + size - 1] + 1)


@kernel
def release_block(
    grid: Bits,
    node_of_gpu: npt.NDArray[np.int64],
    first_of_node: npt.NDArray[np.int64],
    gpu: int,
    size: int,
    start: int,
    end: int,
) -> None:
    """Mark the block as free in [start, end), its nodes' summaries included."""
    release(grid, gpu, size, start, end)
    summarise(grid, first_of_node, node_of_gpu[gpu], node_of_gpu[gpu + size - 1] + 1)
