"""A job that waits takes the block of jobs that are worth less, for the incremental form.

Each placed job adds what it earns to a range of blocks, so that one sweep over the sums tells what every block costs at
a start; what services hold does not make way.
"""

from __future__ import annotations

import numpy as np

from loadfactor.policies.blocks import Starts
from loadfactor.policies.compiled import inner, kernel
from loadfactor.policies.fast.filling import insert_all, worth
from loadfactor.policies.fast.moving import dearest_first, remove, restore
from loadfactor.policies.instance import (
    DURATION,
    FIRST_BLOCK,
    FIRST_OPTION,
    LAST_BLOCK,
    LAST_OPTION,
    LAST_START,
    SIZE,
    SUBMIT,
    Floats,
    Ints,
)
from loadfactor.policies.occupancy import NOWHERE, Bits, next_busy

STARTS_COMPARED = 4
"""Starts at which blocks are compared, the closer together the earlier: decay makes early ones dearer."""
WAYS = 2
"""Blocks and starts tried before a job goes on waiting."""
MOST_EVICTED = 64
"""Jobs that may make way for one; a block that needs more is passed over."""
EXPECTED_LOSS = 0.5
"""Share of what jobs that make way earn which is taken to be lost: most find another place."""
JOB, FIRST, BEHIND, BEGIN, END = range(5)


@kernel
def make_way(
    row: int,
    grid: Bits,
    fixed: Bits,
    node_of_gpu: Ints,
    first_of_node: Ints,
    pool_of_gpu: Ints,
    free: Ints,
    jobs: Ints,
    options: Ints,
    reward: Floats,
    starts: Starts,
    weight: Floats,
    chosen: Ints,
    begin: Ints,
    where: Ints,
) -> float:
    """Let jobs that are worth less make way for one that waits, and look for other places; return what that gains.

    Nothing moves where the whole would not be worth more. `fixed` (N, W) are the bits that no job may have.
    """
    if jobs[row, FIRST_OPTION] == jobs[row, LAST_OPTION]:
        return 0.0
    near = np.empty((len(where), 5), dtype=np.int64)
    value = np.empty(len(where), dtype=np.float64)
    count = _others(row, options, reward, weight, chosen, begin, where, near, value)
    way = np.empty((WAYS, 2), dtype=np.int64)
    found = _cheapest_ways(
        row, fixed, jobs, options, reward, starts, weight, chosen, begin, where, near, value, count, way
    )
    for i in range(found):
        moved = _in_the_way(row, way[i, 0], way[i, 1], jobs, options, near, count)
        dearest_first(moved, 1, jobs, options, reward)
        gain = _place_anew(
            moved, grid, node_of_gpu, first_of_node, pool_of_gpu, free, jobs, options, reward, starts, weight, chosen,
            begin, where,
        )  # fmt: skip
        if gain > 0:
            return gain
    return 0.0


@inner
def _place_anew(
    moved: Ints,
    grid: Bits,
    node_of_gpu: Ints,
    first_of_node: Ints,
    pool_of_gpu: Ints,
    free: Ints,
    jobs: Ints,
    options: Ints,
    reward: Floats,
    starts: Starts,
    weight: Floats,
    chosen: Ints,
    begin: Ints,
    where: Ints,
) -> float:
    """Take the jobs out and place them in this order; return what that gains, or 0 where all is as before."""
    before = np.empty((3, len(moved)), dtype=np.int64)
    old = remove(
        moved, len(moved), before, grid, node_of_gpu, first_of_node, pool_of_gpu, free, options, reward, weight, chosen,
        begin, where,
    )  # fmt: skip
    new = insert_all(
        moved, grid, node_of_gpu, first_of_node, pool_of_gpu, free, jobs, options, reward, starts, weight, chosen,
        begin, where,
    )  # fmt: skip
    if new > old + 1e-9:
        return new - old
    restore(
        moved, len(moved), before, grid, node_of_gpu, first_of_node, pool_of_gpu, free, options, len(weight) - 1,
        chosen, begin, where,
    )  # fmt: skip
    return 0.0


@inner
def _others(
    row: int,
    options: Ints,
    reward: Floats,
    weight: Floats,
    chosen: Ints,
    begin: Ints,
    where: Ints,
    near: Ints,
    value: Floats,
) -> int:
    """Write the other placed jobs, their GPUs and steps to `near`, what each earns to `value`; return how many."""
    count = 0
    for job in range(len(where)):
        if where[job] == NOWHERE or job == row:
            continue
        near[count, JOB], near[count, FIRST], near[count, BEGIN] = job, where[job], begin[job]
        near[count, BEHIND] = where[job] + options[chosen[job], SIZE]
        near[count, END] = begin[job] + options[chosen[job], DURATION]
        value[count] = worth(job, options, reward, weight, chosen, begin)
        count += 1
    return count


@inner
def _cheapest_ways(
    row: int,
    fixed: Bits,
    jobs: Ints,
    options: Ints,
    reward: Floats,
    starts: Starts,
    weight: Floats,
    chosen: Ints,
    begin: Ints,
    where: Ints,
    near: Ints,
    value: Floats,
    count: int,
    way: Ints,
) -> int:
    """Write the (start, first GPU) that promise most for the job at its largest size to `way`; return how many."""
    steps, option, first = len(weight) - 1, jobs[row, LAST_OPTION] - 1, jobs[row, SUBMIT]
    last, present = options[option, LAST_START], 0.0
    if where[row] != NOWHERE:
        last, present = min(last, begin[row]), worth(row, options, reward, weight, chosen, begin)
    blocks = options[option, LAST_BLOCK] - options[option, FIRST_BLOCK]
    position = _positions(option, options, starts, len(fixed))
    change, meets = np.empty(blocks + 1, dtype=np.float64), np.empty(blocks + 1, dtype=np.int64)
    promise = np.empty(WAYS, dtype=np.float64)
    found, before = 0, NOWHERE
    for part in range(STARTS_COMPARED):
        start = first + (last - first) * part * part // (STARTS_COMPARED * STARTS_COMPARED)
        if start == before or start > last:
            continue
        before = start
        end = min(start + options[option, DURATION], steps)
        gain = reward[option] * (weight[end] - weight[start]) - present
        _sum_up(
            start, start + options[option, DURATION], options[option, SIZE], position, near, value, count, change, meets
        )
        found = _best_of(option, start, end, gain, fixed, options, starts, change, meets, way, promise, found)
    return found


@inner
def _positions(option: int, options: Ints, starts: Starts, gpus: int) -> Ints:
    """Return for each GPU, and for what is behind the last, how many blocks of the option begin before it."""
    position = np.empty(gpus + 1, dtype=np.int64)
    low, high = options[option, FIRST_BLOCK], options[option, LAST_BLOCK]
    index = low
    for gpu in range(gpus + 1):
        while index < high and starts[index] < gpu:
            index += 1
        position[gpu] = index - low
    return position


@inner
def _sum_up(
    start: int,
    end: int,
    size: int,
    position: Ints,
    near: Ints,
    value: Floats,
    count: int,
    change: Floats,
    meets: Ints,
) -> None:
    """Write how the worth and the number of the jobs in the way in [start, end) change from each block to the next."""
    for block in range(len(change)):
        change[block], meets[block] = 0.0, 0
    for k in range(count):
        if near[k, BEGIN] < end and near[k, END] > start:
            low, high = position[max(near[k, FIRST] - size + 1, 0)], position[near[k, BEHIND]]
            change[low] += value[k]
            change[high] -= value[k]
            meets[low] += 1
            meets[high] -= 1


@inner
def _best_of(
    option: int,
    start: int,
    end: int,
    gain: float,
    fixed: Bits,
    options: Ints,
    starts: Starts,
    change: Floats,
    meets: Ints,
    way: Ints,
    promise: Floats,
    found: int,
) -> int:
    """Sweep over the blocks at a start and keep those that promise most in `way`; return how many it has then."""
    cost, number = 0.0, 0
    for block in range(len(change) - 1):
        cost += change[block]
        number += meets[block]
        promised = gain - EXPECTED_LOSS * cost
        if promised <= 0 or number > MOST_EVICTED or (found == WAYS and promised <= promise[WAYS - 1]):
            continue
        gpu = starts[options[option, FIRST_BLOCK] + block]
        if next_busy(fixed, gpu, options[option, SIZE], start, end) < end:
            continue
        found = min(found + 1, WAYS)
        place = found - 1
        while place > 0 and promise[place - 1] < promised:
            promise[place], way[place, 0], way[place, 1] = promise[place - 1], way[place - 1, 0], way[place - 1, 1]
            place -= 1
        promise[place], way[place, 0], way[place, 1] = promised, start, gpu
    return found


@inner
def _in_the_way(row: int, start: int, gpu: int, jobs: Ints, options: Ints, near: Ints, count: int) -> Ints:
    """Return the job and then those that it meets in the block from `start` on."""
    option = jobs[row, LAST_OPTION] - 1
    behind, end = gpu + options[option, SIZE], start + options[option, DURATION]
    moved = np.empty(count + 1, dtype=np.int64)
    moved[0], number = row, 1
    for k in range(count):
        if near[k, FIRST] < behind and near[k, BEHIND] > gpu and near[k, BEGIN] < end and near[k, END] > start:
            moved[number] = near[k, JOB]
            number += 1
    exact = np.empty(number, dtype=np.int64)
    for i in range(number):
        exact[i] = moved[i]
    return exact


@kernel
def settle(
    order: Ints,
    grid: Bits,
    fixed: Bits,
    node_of_gpu: Ints,
    first_of_node: Ints,
    pool_of_gpu: Ints,
    free: Ints,
    jobs: Ints,
    options: Ints,
    reward: Floats,
    starts: Starts,
    weight: Floats,
    chosen: Ints,
    begin: Ints,
    where: Ints,
) -> None:
    """Place the jobs that have no block at their earliest start, in `order`; others make way for those that wait."""
    insert_all(
        order, grid, node_of_gpu, first_of_node, pool_of_gpu, free, jobs, options, reward, starts, weight, chosen,
        begin, where,
    )  # fmt: skip
    for job in order:
        if where[job] == NOWHERE or begin[job] > jobs[job, SUBMIT]:
            make_way(
                job, grid, fixed, node_of_gpu, first_of_node, pool_of_gpu, free, jobs, options, reward, starts,
                weight, chosen, begin, where,
            )  # fmt: skip


@kernel
def most_regretted(
    jobs: Ints, options: Ints, reward: Floats, weight: Floats, chosen: Ints, begin: Ints, where: Ints, patience: Floats
) -> int:
    """Return the job that loses most by waiting, or by being left out, each weighed by `patience` (m,); or -1."""
    steps, best, most = len(weight) - 1, NOWHERE, 1e-9
    for job in range(len(where)):
        if jobs[job, FIRST_OPTION] == jobs[job, LAST_OPTION]:
            continue
        if where[job] != NOWHERE and begin[job] <= jobs[job, SUBMIT]:
            continue
        option, start = jobs[job, LAST_OPTION] - 1, jobs[job, SUBMIT]
        lost = reward[option] * (weight[min(start + options[option, DURATION], steps)] - weight[start])
        if where[job] != NOWHERE:
            lost -= worth(job, options, reward, weight, chosen, begin)
        if lost * patience[job] > most:
            best, most = job, lost * patience[job]
    return best
