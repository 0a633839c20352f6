"""R1: a GPU serves at most one job or service per step; an unavailable GPU serves none."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from loadfactor.judge.evidence import Block, Evidence
from loadfactor.judge.verdict import Violation
from loadfactor.model import Problem

FREE = 0
UNAVAILABLE = -1
Grid = np.ndarray[Any, np.dtype[np.int32]]


class _Claim(NamedTuple):
    """A job or service that wants a block in the steps [`start`, `end`) of the horizon."""

    id: str
    is_job: bool
    block: Block
    start: int
    end: int

    def violation(self, message: str, gpu: int, step: int) -> Violation:
        job, service = (self.id, None) if self.is_job else (None, self.id)
        return Violation("R1", message, job=job, service=service, gpu=gpu, step=step)


def unavailable_grid(problem: Problem) -> Grid:
    """Return the grid of N rows and T columns: `UNAVAILABLE` where a GPU serves none, `FREE` elsewhere."""
    grid = np.zeros((problem.cluster.gpu_count, problem.horizon.steps), dtype=np.int32)
    for entry in problem.cluster.unavailable:
        grid[np.array(entry.gpus, dtype=np.intp), entry.from_step : entry.until_step] = UNAVAILABLE
    return grid


def r1_one_holder_per_cell(evidence: Evidence, grid: Grid) -> list[Violation]:
    """Return every breach of R1; `grid` comes from `unavailable_grid` and is filled with the holders.

    Of two that claim the same cells, the later in the plan (jobs first, then services) is named as the culprit.
    """
    violations: list[Violation] = []
    claims = list(_claims(evidence))
    for number, claim in enumerate(claims, start=1):
        violations += _repeated(claim)
        cells = grid[claim.block.rows, claim.start : claim.end]
        if np.count_nonzero(cells):
            violations += _collisions(claim, cells, claims)
            cells = np.where(cells == FREE, number, cells)
            grid[claim.block.rows, claim.start : claim.end] = cells
        else:
            grid[claim.block.rows, claim.start : claim.end] = number
    return violations


def _claims(evidence: Evidence) -> Iterator[_Claim]:
    for planned in evidence.jobs:
        placement = planned.placement
        yield _Claim(placement.id, True, planned.block, placement.start, placement.end)
    for service in evidence.services:
        for stretch in service.stretches:
            yield _Claim(service.allocation.id, False, stretch.block, stretch.start, stretch.end)


def _repeated(claim: _Claim) -> Iterator[Violation]:
    for gpu in claim.block.repeated:
        message = f"{claim.id!r} names GPU {gpu} twice from step {claim.start}; name every GPU once"
        yield claim.violation(message, gpu, claim.start)


def _collisions(claim: _Claim, cells: Grid, claims: list[_Claim]) -> Iterator[Violation]:
    existing = [gpu for gpu in claim.block.gpus if gpu not in claim.block.outside]
    for row in np.flatnonzero(cells.any(axis=1)):
        gpu = existing[int(row)]
        for holder, start, end in _runs(cells[row], claim.start):
            yield claim.violation(_message(claim, gpu, holder, claims, f"in steps [{start}, {end})"), gpu, start)


def _message(claim: _Claim, gpu: int, holder: int, claims: list[_Claim], when: str) -> str:
    if holder == UNAVAILABLE:
        return f"{claim.id!r} holds GPU {gpu} {when}, and it is unavailable; move {claim.id!r} off it"
    other = claims[holder - 1].id
    return f"GPU {gpu} serves {other!r} and {claim.id!r} {when}; move one of them"


def _runs(row: Grid, first_step: int) -> Iterator[tuple[int, int, int]]:
    """Yield (holder, start, end) for every run of steps in which the same holder has the GPU."""
    step = first_step
    for holder, run in groupby(row.tolist()):
        end = step + sum(1 for _ in run)
        if holder != FREE:
            yield holder, step, end
        step = end
