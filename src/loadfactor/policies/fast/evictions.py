"""Who could make way: the least dear jobs in the way of a job or of demand, for the incremental form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from loadfactor.policies.fast.counts import NONE
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
from loadfactor.policies.occupancy import earliest_in_block

if TYPE_CHECKING:
    from loadfactor.policies.fast.standing import Standing

BLOCKS_COMPARED, STARTS_COMPARED = 64, 4
EVICTION_TRIES = 2
MAKING_WAY = 8
"""Jobs that may make way at once for demand that is worth more."""


def cheapest_evictions(standing: Standing, row: int) -> list[list[int]]:
    """Return sets of jobs whose blocks the job could have instead, the least dear first.

    Compared are some of its blocks at some starts from its submit on; what services hold does not make way.
    """
    if standing.jobs[row, FIRST_OPTION] == standing.jobs[row, LAST_OPTION]:
        return []
    option = int(standing.jobs[row, LAST_OPTION]) - 1
    size, duration = int(standing.options[option, SIZE]), int(standing.options[option, DURATION])
    first, last = int(standing.jobs[row, SUBMIT]), int(standing.options[option, LAST_START])
    fixed = standing.fixed()
    blocks = standing.starts[standing.options[option, FIRST_BLOCK] : standing.options[option, LAST_BLOCK]]
    blocks = blocks[:: max(1, len(blocks) // BLOCKS_COMPARED)]
    found: list[tuple[float, list[int]]] = []
    for start in sorted({first + (last - first) * part // STARTS_COMPARED for part in range(STARTS_COMPARED)}):
        possible = [
            gpu
            for gpu in blocks.tolist()
            if earliest_in_block(fixed, gpu, size, duration, start, start, standing.instance.steps) == start
        ]
        found += _costs(standing, row, np.array(possible, dtype=np.int64), size, start, start + duration)
    most = _most(standing, row)
    return [jobs for cost, jobs in sorted(found, key=lambda entry: entry[0])[:EVICTION_TRIES] if cost < most]


def _costs(
    standing: Standing, row: int, blocks: Ints, size: int, start: int, end: int
) -> list[tuple[float, list[int]]]:
    """Return what the jobs in each block earn in the least dear cases, and which they are."""
    placed = np.flatnonzero(standing.where != NONE)
    placed = placed[placed != row]
    ends = standing.begin[placed] + standing.options[standing.chosen[placed], DURATION]
    placed = placed[(standing.begin[placed] < end) & (ends > start)]
    low, high = standing.where[placed], standing.where[placed] + standing.options[standing.chosen[placed], SIZE]
    overlaps = (low[None, :] < blocks[:, None] + size) & (high[None, :] > blocks[:, None])
    cost = overlaps @ _worths(standing, placed)
    cheapest = np.argsort(cost, kind="stable")[:EVICTION_TRIES]
    return [(float(cost[block]), placed[overlaps[block]].tolist()) for block in cheapest]


def cheapest_at(standing: Standing, row: int, step: int, missing: int) -> list[int]:
    """Return jobs of least density that run at `step` on GPUs that suit the service, until `missing` are freed."""
    i = standing.instance
    placed = np.flatnonzero(standing.where != NONE)
    ends = standing.begin[placed] + standing.options[standing.chosen[placed], DURATION]
    suits = i.service_pools[row, i.pool_of_gpu[standing.where[placed]]]
    running = placed[(standing.begin[placed] <= step) & (ends > step) & suits]
    density = _worths(standing, running) / standing.options[standing.chosen[running], SIZE]
    chosen: list[int] = []
    for other in running[np.argsort(density, kind="stable")][:MAKING_WAY].tolist():
        if missing <= 0:
            break
        chosen.append(other)
        missing -= int(standing.options[standing.chosen[other], SIZE])
    return chosen


def _worths(standing: Standing, rows: Ints) -> Floats:
    """Return what each of the placed jobs earns."""
    weight, options = standing.instance.weight, standing.chosen[rows]
    ends = np.minimum(standing.begin[rows] + standing.options[options, DURATION], standing.instance.steps)
    worths: Floats = standing.reward[options] * (weight[ends] - weight[standing.begin[rows]])
    return worths


def _most(standing: Standing, row: int) -> float:
    """Return what the job would earn from its submit at its largest size."""
    option, start = int(standing.jobs[row, LAST_OPTION]) - 1, int(standing.jobs[row, SUBMIT])
    weight = standing.instance.weight
    end = min(start + int(standing.options[option, DURATION]), standing.instance.steps)
    return float(standing.reward[option] * (weight[end] - weight[start]))
