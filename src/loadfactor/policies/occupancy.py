"""Who is busy when: one row of bits a GPU, one bit a step, and the compiled searches over them.

`busy` is a uint64 array of shape (N, W) with W = ceil(T / 64); bit t of a row is set where the GPU is taken at step t.
Bits at and beyond T stay clear: a job that runs past an open horizon meets nobody there. A block is free in
[start, end) exactly when the OR of its rows has no bit set there, so that one word answers for 64 steps at once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from loadfactor.model import Problem
from loadfactor.policies.bits import leading_zeros, trailing_zeros
from loadfactor.policies.compiled import inner, kernel

Bits = npt.NDArray[np.uint64]
WORD = 64
NOWHERE = -1


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
    return trailing_zeros(word)


@inner
def highest_bit(word: np.uint64) -> int:
    """Return the position of the highest set bit of a word that is not 0."""
    return 63 - leading_zeros(word)


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
    """Return `busy` (N, W) with rows below it that say when nodes have room (see `room_row`)."""
    nodes, largest = len(first_of_node) - 1, largest_node(first_of_node)
    levels = 1 + max(1, (largest - 1).bit_length())
    grid = np.empty((len(busy) + levels * nodes, busy.shape[1]), dtype=np.uint64)
    grid[: len(busy)] = busy
    summarise(grid, first_of_node, 0, nodes)
    return grid


@kernel
def largest_node(first_of_node: npt.NDArray[np.int64]) -> int:
    """Return the GPUs of the largest node."""
    largest = 0
    for node in range(len(first_of_node) - 1):
        largest = max(largest, first_of_node[node + 1] - first_of_node[node])
    return largest


@inner
def room_row(node: int, size: int, first_of_node: npt.NDArray[np.int64]) -> int:
    """Return the row whose bits say when no block of `size` GPUs inside the node is free.

    Of the node's size or larger, when any of its GPUs is taken: a block of whole nodes is free when these rows of its
    nodes are. Row N + n is that of node n as a whole, row N + (1 + k) · nodes + n that of blocks of 2^k GPUs in it. A
    smaller block is free at no step whose bit is set, but one that is free at each step may be another at the next.
    """
    nodes = len(first_of_node) - 1
    row: int = first_of_node[nodes] + node
    if size < first_of_node[node + 1] - first_of_node[node]:
        row += nodes * (1 + lowest_bit(np.uint64(size)))
    return row


@kernel
def summarise(grid: Bits, first_of_node: npt.NDArray[np.int64], low: int, high: int) -> None:
    """Write the rows that say when the nodes [low, high) have room."""
    for node in range(low, high):
        summarise_node(grid, first_of_node, node)


@inner
def summarise_node(grid: Bits, first_of_node: npt.NDArray[np.int64], node: int) -> None:
    """Write the rows that say when the node has room.

    One pass for blocks of 1, 2 and 4 GPUs: of two GPUs is taken what either was, of four what the last two and those
    before them were. A row of ones stands for the GPUs before the first, so that blocks which reach there do not count.
    """
    nodes, first, behind = len(first_of_node) - 1, first_of_node[node], first_of_node[node + 1]
    gpus, whole = first_of_node[nodes], ~np.uint64(0)
    for word in range(grid.shape[1]):
        some, singles, pairs, fours = np.uint64(0), whole, whole, whole
        single_before, pair_before, pair_before_that = whole, whole, whole
        for gpu in range(first, behind):
            single = grid[gpu, word]
            pair = single | single_before
            some |= single
            singles &= single
            pairs &= pair
            fours &= pair | pair_before_that
            single_before, pair_before, pair_before_that = single, pair, pair_before
        row = gpus + node
        grid[row, word], grid[row + nodes, word] = some, singles
        if row + 2 * nodes < grid.shape[0]:
            grid[row + 2 * nodes, word] = pairs
        if row + 3 * nodes < grid.shape[0]:
            grid[row + 3 * nodes, word] = fours
        row, size = row + 4 * nodes, 8
        while row < grid.shape[0]:
            grid[row, word] = taken_everywhere(grid, first, behind, size, word)
            row, size = row + nodes, 2 * size


@inner
def taken_everywhere(grid: Bits, first: int, behind: int, size: int, word: int) -> np.uint64:
    """Return in which steps of the word no block of `size` among the GPUs [first, behind) is free."""
    none = ~np.uint64(0)
    for gpu in range(first, behind - size + 1):
        taken = grid[gpu, word]
        for other in range(gpu + 1, gpu + size):
            taken |= grid[other, word]
        none &= taken
    return none


@inner
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
    for word in range(start >> 6, min(grid.shape[1], ((end - 1) >> 6) + 1)):
        mask = mask_between(start - (word << 6), end - (word << 6))
        for other in range(gpu, gpu + size):
            grid[other, word] |= mask
    for node in range(node_of_gpu[gpu], node_of_gpu[gpu + size - 1] + 1):
        summarise_node(grid, first_of_node, node)


@inner
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
    for word in range(start >> 6, min(grid.shape[1], ((end - 1) >> 6) + 1)):
        mask = ~mask_between(start - (word << 6), end - (word << 6))
        for other in range(gpu, gpu + size):
            grid[other, word] &= mask
    for node in range(node_of_gpu[gpu], node_of_gpu[gpu + size - 1] + 1):
        summarise_node(grid, first_of_node, node)
