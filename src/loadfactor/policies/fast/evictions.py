"""Who could make way: the least dear jobs in the way of a job or of demand, for the incremental form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from loadfactor.policies.blocks import Starts
from loadfactor.policies.compiled import making_kernel
from loadfactor.policies.fast.curves import NONE
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
from loadfactor.policies.occupancy import Bits, next_busy

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
    others = _Placed(standing, row)
    for start in sorted({first + (last - first) * part // STARTS_COMPARED for part in range(STARTS_COMPARED)}):
        end = min(start + duration, standing.instance.steps)
        possible = blocks[free_blocks(fixed, blocks, size, start, end)]
        found += others.cheapest(possible, size, start, start + duration)
    most = _most(standing, row)
    return [jobs for cost, jobs in sorted(found, key=lambda entry: entry[0])[:EVICTION_TRIES] if cost < most]


@making_kernel
def free_blocks(busy: Bits, blocks: Starts, size: int, start: int, end: int) -> npt.NDArray[np.bool_]:
    """Return for each block, given by its first GPU, whether it is free in [start, end)."""
    free = np.empty(len(blocks), dtype=np.bool_)
    for index in range(len(blocks)):
        free[index] = next_busy(busy, blocks[index], size, start, end) >= end
    return free


class _Placed:
    """The placed jobs besides one: where and when each is, and what it earns."""

    def __init__(self, standing: Standing, row: int) -> None:
        placed = np.flatnonzero(standing.where != NONE)
        self.rows = placed[placed != row]
        options = standing.options[standing.chosen[self.rows]]
        self.begin, self.low = standing.begin[self.rows], standing.where[self.rows]
        self.end, self.high = self.begin + options[:, DURATION], self.low + options[:, SIZE]
        self.worth = _worths(standing, self.rows)

    def cheapest(self, blocks: Ints, size: int, start: int, end: int) -> list[tuple[float, list[int]]]:
        """Return what the jobs in each block earn in the least dear cases, and which they are."""
        meeting = np.flatnonzero((self.begin < end) & (self.end > start))
        low, high = self.low[meeting], self.high[meeting]
        overlaps = (low[None, :] < blocks[:, None] + size) & (high[None, :] > blocks[:, None])
        cost = overlaps @ self.worth[meeting]
        cheapest = np.argsort(cost, kind="stable")[:EVICTION_TRIES]
        return [(float(cost[block]), self.rows[meeting[overlaps[block]]].tolist()) for block in cheapest]


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
