"""The plan as it stands between events: what is kept by what changes alone agrees with what is made from scratch."""

from __future__ import annotations

import random

import numpy as np
import pytest

from loadfactor.policies import Effort, policy
from loadfactor.policies.fast import Replanner
from loadfactor.policies.fast.standing import Standing
from loadfactor.policies.instance import DURATION, SIZE
from loadfactor.policies.occupancy import Bits, empty_grid, set_steps, with_summary
from tests.fast.test_events import random_event
from tests.support.generators import MEDIUM, SMALL, random_problem

EVENTS = 6


def _grid_from_scratch(replanner: Replanner, standing: Standing) -> tuple[Bits, Bits]:
    """Return the grid and what of it no job may have, made from the problem and the plan document."""
    problem, plan = replanner.problem, replanner.plan
    running = {job.id for job in problem.jobs if job.running}
    fixed = empty_grid(problem)
    for allocation in plan.services:
        for step, gpus in enumerate(allocation.gpus):
            set_steps(fixed, np.array(gpus, dtype=np.int64), step, step + 1)
    grid = fixed.copy()
    for placement in plan.jobs:
        if placement.id not in running:
            end = min(placement.end, problem.horizon.steps)
            set_steps(grid, np.array(placement.gpus), placement.start, end)
    return with_summary(grid, standing.instance.first_of_node), fixed


def _check(replanner: Replanner) -> None:
    standing = replanner._standing
    i = standing.instance
    grid, fixed = _grid_from_scratch(replanner, standing)
    assert (standing.grid == grid).all()
    assert (standing.fixed == fixed).all()
    busy = np.unpackbits(grid[: len(fixed)].view(np.uint8), axis=1, bitorder="little")[:, : i.steps]
    for pool in range(len(standing.free)):
        assert (standing.free[pool] == (1 - busy[i.pool_of_gpu == pool].astype(np.int64)).sum(axis=0)).all()
    unmet = [
        standing.price[row]
        * sum(max(0, want - len(gpus)) for want, gpus in zip(service.demand, given.gpus, strict=True))
        for row, (service, given) in enumerate(zip(replanner.problem.services, replanner.plan.services, strict=True))
    ]
    assert standing.unmet.tolist() == pytest.approx(unmet)
    placed = {placement.id: placement for placement in replanner.plan.jobs}
    for name, row in standing.row.items():
        if name in placed:
            size, duration = standing.options[standing.chosen[row], [SIZE, DURATION]].tolist()
            known = placed[name]
            assert (len(known.gpus), known.end - known.start) == (size, duration)


@pytest.mark.parametrize("seed", range(40))
def test_grid_counts_and_shortfalls_agree_with_the_plan_after_every_event(seed: int) -> None:
    problem = random_problem(seed, (SMALL, MEDIUM)[seed % 2])
    dice = random.Random(seed)
    replanner = Replanner(problem, policy("fast").plan(problem, Effort(iterations=30, seed=seed)), seed)
    _check(replanner)
    for number in range(EVENTS):
        plan = replanner.apply(random_event(replanner.problem, dice, number))
        _check(replanner)
        placed = {placement.id for placement in plan.jobs}
        assert [entry.id for entry in plan.jobs] == [job.id for job in replanner.problem.jobs if job.id in placed]
        assert [entry.id for entry in plan.unplaced] == [
            job.id for job in replanner.problem.jobs if job.id not in placed
        ]
