"""The incremental form of `fast`: whatever happens, the next plan is legal and its figures are true."""

from __future__ import annotations

import random

import pytest

from loadfactor.errors import InputError
from loadfactor.judge import judge
from loadfactor.model import Cluster, GpuRange, Horizon, Job, Node, Problem, Service
from loadfactor.policies import Effort, policy
from loadfactor.policies.fast import (
    DemandChanged,
    Event,
    GpuFailed,
    JobArrived,
    JobEnded,
    PriorityChanged,
    Replanner,
)
from tests.support.generators import MEDIUM, SMALL, TINY, random_problem

SHAPES = (TINY, SMALL, MEDIUM)
EVENTS = 8


@pytest.mark.parametrize("seed", range(24))
def test_the_plan_after_every_event_is_legal_and_honest(seed: int) -> None:
    problem = random_problem(seed, SHAPES[seed % len(SHAPES)])
    dice = random.Random(seed)
    replanner = Replanner(problem, policy("fast").plan(problem, Effort(iterations=30, seed=seed)))
    for number in range(EVENTS):
        event = random_event(replanner.problem, dice, number)
        plan = replanner.apply(event)
        verdict = judge(replanner.problem, plan)
        assert not verdict.violations, (number, event, verdict.violations)
        assert plan.metrics is not None
        assert plan.metrics.model_dump() == pytest.approx(verdict.metrics.model_dump(), rel=1e-9, abs=1e-9)


def random_event(problem: Problem, dice: random.Random, number: int) -> Event:
    """Draw an event of any kind; `number` makes the name of a new job."""
    kinds = ["arrive", "fail"] + ["end", "reprioritise"] * bool(problem.jobs) + ["demand"] * bool(problem.services)
    kind = dice.choice(kinds)
    if kind == "end":
        return JobEnded(dice.choice(problem.jobs).id)
    if kind == "reprioritise":
        names = [job.id for job in problem.jobs] + [service.id for service in problem.services]
        return PriorityChanged(dice.choice(names), float(dice.randint(0, 20)))
    if kind == "demand":
        service = dice.choice(problem.services)
        return DemandChanged(service.id, tuple(max(0, gpus + dice.randint(-2, 3)) for gpus in service.demand))
    if kind == "fail":
        return GpuFailed(dice.randrange(problem.cluster.gpu_count), dice.randint(1, problem.horizon.steps))
    gpus = GpuRange(min=1, max=dice.choice([1, 2, 4]))
    priority, duration = float(dice.randint(1, 20)), dice.randint(1, 4)
    return JobArrived(Job(id=f"new-{number}", kind="training", priority=priority, gpus=gpus, duration=duration))


def _one_node(*jobs: Job, services: tuple[Service, ...] = ()) -> Problem:
    cluster = Cluster(nodes=(Node(name="node", gpus=4),))
    return Problem(name="one-node", horizon=Horizon(steps=6), cluster=cluster, jobs=jobs, services=services)


def _job(name: str, priority: float, gpus: int = 4, duration: int = 6) -> Job:
    return Job(id=name, kind="training", priority=priority, gpus=GpuRange(min=gpus, max=gpus), duration=duration)


def _replanner(problem: Problem) -> Replanner:
    return Replanner(problem, policy("fast").plan(problem, Effort(iterations=50)))


def test_a_freed_block_goes_to_the_job_that_waited() -> None:
    replanner = _replanner(_one_node(_job("first", 9.0), _job("second", 5.0)))
    assert [placement.id for placement in replanner.plan.jobs] == ["first"]
    plan = replanner.apply(JobEnded("first"))
    assert [(placement.id, placement.start) for placement in plan.jobs] == [("second", 0)]
    assert plan.unplaced == ()


def test_a_higher_priority_takes_the_block_from_a_lower_one() -> None:
    replanner = _replanner(_one_node(_job("first", 9.0), _job("second", 5.0)))
    plan = replanner.apply(PriorityChanged("second", 20.0))
    assert [placement.id for placement in plan.jobs] == ["second"]


def test_an_urgent_arrival_makes_cheaper_work_wait() -> None:
    replanner = _replanner(_one_node(_job("first", 2.0)))
    plan = replanner.apply(JobArrived(_job("urgent", 10.0)))
    assert [placement.id for placement in plan.jobs] == ["urgent"]


def test_demand_that_is_worth_more_takes_gpus_from_a_job() -> None:
    service = Service(id="chat", priority=9.0, demand=(0,) * 6, max_swap=4)
    replanner = _replanner(_one_node(_job("first", 2.0), services=(service,)))
    plan = replanner.apply(DemandChanged("chat", (4,) * 6))
    assert plan.metrics is not None
    assert plan.metrics.shortfall_gpu_steps == 0
    assert plan.jobs == ()


def test_a_job_on_a_failed_gpu_moves_to_another_block() -> None:
    replanner = _replanner(_one_node(_job("small", 5.0, gpus=1)))
    (before,) = replanner.plan.jobs
    (after,) = replanner.apply(GpuFailed(before.gpus[0], until_step=6)).jobs
    assert after.gpus != before.gpus
    assert after.start == 0


def test_what_an_event_does_not_touch_stays() -> None:
    replanner = _replanner(_one_node(_job("left", 5.0, gpus=2), _job("right", 5.0, gpus=1)))
    before = replanner.plan.jobs
    after = replanner.apply(JobArrived(_job("new", 1.0, gpus=1)), rounds=0, tries=0).jobs
    assert after[:2] == before


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (JobEnded("nobody"), "event: no job is called 'nobody'; correct the id"),
        (PriorityChanged("nobody", 1.0), "event: no job or service is called 'nobody'; correct the id"),
        (DemandChanged("nobody", (1,) * 6), "event: no service is called 'nobody'; correct the id"),
        (JobArrived(_job("first", 1.0)), "event: 'first' exists already; give the job an id of its own"),
        (
            GpuFailed(4, 1),
            "event.gpu: GPU 4 does not exist in a cluster of 4; GPU numbers run from 0 to 3",
        ),
        (DemandChanged("chat", (1, -2, 1, 1, 1, 1)), "event.demand[1]: is -2, and must be at least 0; raise it"),
        (PriorityChanged("first", -1.0), "event.priority: is -1.0, and must be at least 0; raise it"),
        (PriorityChanged("chat", -1.0), "event.priority: is -1.0, and must be at least 0; raise it"),
        (JobArrived(_job("odd", 1.0, gpus=3)), "event.job.gpus: no power of two between 3 and 3; widen the range"),
        (DemandChanged("chat", (1, 2)), "event.demand: 2 entries for 6 steps; give one number for every step"),
    ],
)
def test_an_event_about_nothing_is_refused_and_changes_nothing(event: Event, text: str) -> None:
    service = Service(id="chat", priority=9.0, demand=(1,) * 6, max_swap=4)
    replanner = _replanner(_one_node(_job("first", 9.0, gpus=2), services=(service,)))
    problem, plan = replanner.problem, replanner.plan
    with pytest.raises(InputError) as refused:
        replanner.apply(event)
    assert str(refused.value) == text
    assert replanner.problem == problem
    assert replanner.plan == plan
