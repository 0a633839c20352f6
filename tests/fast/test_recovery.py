"""What the incremental form wins back: jobs that wait, demand that is unmet, and what a try in vain leaves behind."""

from __future__ import annotations

import random

import numpy as np
import pytest

from loadfactor.judge import judge
from loadfactor.model import Cluster, GpuRange, Horizon, Job, Node, Problem, Service
from loadfactor.policies import Effort, policy
from loadfactor.policies.fast import DemandChanged, JobEnded, Replanner
from loadfactor.policies.fast.counts import NONE
from loadfactor.policies.fast.filling import total_worth
from loadfactor.policies.fast.standing import Standing
from tests.fast.test_events import random_event
from tests.support.generators import MEDIUM, SMALL, random_problem

LEAST_WON = 10
"""Seeds on which recovery has to win something, so that the property tests more than a plan that stays as it is."""


def _replanner(problem: Problem, seed: int = 0) -> Replanner:
    return Replanner(problem, policy("fast").plan(problem, Effort(iterations=1, seed=seed)), seed)


def _value(replanner: Replanner) -> float:
    assert replanner.plan.metrics is not None
    return replanner.plan.metrics.value


def test_recovery_keeps_the_plan_legal_and_never_lowers_its_value() -> None:
    won = 0
    for seed in range(60):
        replanner = _replanner(random_problem(seed, (SMALL, MEDIUM)[seed % 2]), seed)
        dice = random.Random(seed)
        for number in range(4):
            replanner.apply(random_event(replanner.problem, dice, number), rounds=0, tries=0)
        before = _value(replanner)
        plan = replanner.recover(tries=12)
        assert judge(replanner.problem, plan).violations == ()
        assert _value(replanner) >= before - 1e-6
        won += _value(replanner) > before + 1e-6
    assert won >= LEAST_WON


def _worth(standing: Standing) -> float:
    weight = standing.instance.weight
    return total_worth(standing.options, standing.reward, weight, standing.chosen, standing.begin, standing.where)


@pytest.mark.parametrize("seed", range(20))
def test_making_way_gains_exactly_what_the_jobs_earn_more_or_leaves_everything_as_it_was(seed: int) -> None:
    standing = _replanner(random_problem(seed, MEDIUM), seed)._standing
    for row in range(len(standing.where)):
        before, grid, where = _worth(standing), standing.grid.copy(), standing.where.copy()
        if standing._make_way(row):
            assert _worth(standing) > before
        else:
            assert (standing.grid == grid).all()
            assert (standing.where == where).all()


def _job(name: str, priority: float, gpus: int = 1, duration: int = 6) -> Job:
    return Job(id=name, kind="training", priority=priority, gpus=GpuRange(min=gpus, max=gpus), duration=duration)


def _nodes(*jobs: Job, count: int = 1, services: tuple[Service, ...] = ()) -> Problem:
    nodes = tuple(Node(name=f"node-{index}", gpus=2) for index in range(count))
    cluster = Cluster(nodes=nodes)
    return Problem(name="nodes", horizon=Horizon(steps=6), cluster=cluster, jobs=jobs, services=services)


def test_a_job_takes_the_block_of_the_least_dear() -> None:
    jobs = (_job("dear", 5.0, gpus=2), _job("cheap", 1.0, gpus=2), _job("dearer", 6.0, gpus=2))
    replanner = _replanner(_nodes(*jobs, count=3))
    assert len(replanner.plan.jobs) == 3
    standing = replanner._standing
    row = standing.row["cheap"]
    assert standing.where[row] != NONE
    standing._lift(np.array([row]))
    assert not replanner.recover(tries=3).unplaced


def test_unmet_demand_takes_the_gpu_whose_jobs_are_worth_least() -> None:
    service = Service(id="chat", priority=9.0, demand=(0,) * 6, max_swap=1)
    jobs = (_job("dear", 5.0), _job("short", 6.0, duration=3), _job("later", 6.0, duration=3))
    replanner = _replanner(_nodes(*jobs, services=(service,)))
    assert not replanner.plan.unplaced
    plan = replanner.apply(DemandChanged("chat", (1,) * 6))
    assert plan.metrics is not None
    assert plan.metrics.shortfall_gpu_steps == 0
    assert {placement.id for placement in plan.jobs} == {"short", "later"}


def test_what_was_unmet_is_served_once_a_job_is_over() -> None:
    """The job is dearer than the demand, so that it stays until it ends."""
    service = Service(id="chat", priority=1.0, demand=(0,) * 6, max_swap=2)
    replanner = _replanner(_nodes(_job("dear", 100.0, gpus=2), services=(service,)))
    plan = replanner.apply(DemandChanged("chat", (2,) * 6))
    assert [placement.id for placement in plan.jobs] == ["dear"]
    plan = replanner.apply(JobEnded("dear"))
    assert plan.metrics is not None
    assert plan.metrics.shortfall_gpu_steps == 0
