"""The incremental form of `fast` where work runs and services hold GPUs: what is lost, what stays, what is refused."""

from __future__ import annotations

import random

import pytest

from loadfactor.errors import InputError
from loadfactor.judge import judge
from loadfactor.model import (
    Cluster,
    GpuRange,
    Horizon,
    Job,
    Node,
    Placement,
    Plan,
    Problem,
    Running,
    Service,
)
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
from tests.support.generators import MEDIUM, SMALL, random_problem

SEEDS = range(200)
FAILURES = 4


def _replanner(problem: Problem, seed: int = 0) -> Replanner:
    return Replanner(problem, policy("fast").plan(problem, Effort(iterations=30, seed=seed)))


def _apply(replanner: Replanner, event: Event, searched: bool = True) -> Plan:
    """Return the plan after the event, which has to be legal, honest and complete."""
    plan = replanner.apply(event) if searched else replanner.apply(event, rounds=0, tries=0)
    problem = replanner.problem
    verdict = judge(problem, plan)
    assert verdict.violations == (), event
    assert plan.metrics is not None
    assert plan.metrics.model_dump() == pytest.approx(verdict.metrics.model_dump(), rel=1e-9, abs=1e-9)
    placed = {entry.id for entry in plan.jobs}
    assert [entry.id for entry in plan.jobs] == [job.id for job in problem.jobs if job.id in placed]
    assert [entry.id for entry in plan.unplaced] == [job.id for job in problem.jobs if job.id not in placed]
    return plan


def _used(problem: Problem) -> list[int]:
    """Return the GPUs held by services and under running jobs."""
    used = {gpu for job in problem.jobs if job.running for gpu in job.running.gpus}
    return sorted(used | {gpu for service in problem.services for gpu in service.held or ()})


def test_failures_under_running_jobs_and_held_gpus_leave_a_legal_plan() -> None:
    under_job = under_service = 0
    for seed in SEEDS:
        problem = random_problem(seed, MEDIUM if seed % 10 == 0 else SMALL)
        if not _used(problem):
            continue
        dice, replanner = random.Random(seed), _replanner(problem, seed)
        for _ in range(FAILURES):
            before = replanner.problem
            if not _used(before):
                break
            gpu = dice.choice(_used(before))
            _apply(replanner, GpuFailed(gpu, dice.randint(1, before.horizon.steps + 2)))
            assert gpu not in _used(replanner.problem)
            under_job += any(job.running and gpu in job.running.gpus for job in before.jobs)
            under_service += any(gpu in (service.held or ()) for service in before.services)
    assert min(under_job, under_service) >= 30, "the random problems no longer reach what this test is about"


def _job(name: str, priority: float, gpus: int = 1, duration: int = 3, running: Running | None = None) -> Job:
    sizes = GpuRange(min=gpus, max=gpus)
    return Job(id=name, kind="training", priority=priority, gpus=sizes, duration=duration, running=running)


def _four_gpus(*jobs: Job, services: tuple[Service, ...] = (), steps: int = 6) -> Problem:
    cluster = Cluster(nodes=(Node(name="node", gpus=4),))
    return Problem(name="four-gpus", horizon=Horizon(steps=steps), cluster=cluster, jobs=jobs, services=services)


def test_a_running_job_on_a_failed_gpu_starts_again_from_its_beginning() -> None:
    running = _job("earlier", 5.0, gpus=2, duration=5, running=Running(gpus=(0, 1), remaining=2))
    replanner = _replanner(_four_gpus(running))
    (after,) = _apply(replanner, GpuFailed(1, until_step=6)).jobs
    assert (after.start, after.end, after.gpus) == (0, 5, (2, 3))
    (job,) = replanner.problem.jobs
    assert job.running is None


def test_a_running_job_of_an_exempt_size_waits_for_the_next_larger_block() -> None:
    """An inherited block is exempt from R3; once lost, no block of its size exists."""
    running = _job("odd", 5.0, gpus=3, duration=5, running=Running(gpus=(0, 1, 2), remaining=2))
    replanner = _replanner(_four_gpus(running))
    plan = _apply(replanner, GpuFailed(1, until_step=1))
    (waiting,) = replanner.problem.jobs
    assert (waiting.running, waiting.gpus.min, waiting.gpus.max) == (None, 3, 4)
    assert [(placement.start, placement.gpus) for placement in plan.jobs] == [(1, (0, 1, 2, 3))]


def test_a_failed_gpu_that_a_service_holds_is_replaced_as_fast_as_its_swap_cap_allows() -> None:
    service = Service(id="chat", priority=9.0, demand=(2,) * 6, max_swap=1, held=(0, 1))
    replanner = _replanner(_four_gpus(services=(service,)))
    plan = _apply(replanner, GpuFailed(0, until_step=6))
    (allocation,) = plan.services
    assert all(0 not in gpus for gpus in allocation.gpus)
    assert [len(gpus) for gpus in allocation.gpus] == [2] * 6
    assert replanner.problem.services[0].held == (1,)


def test_a_gpu_that_failed_for_a_while_is_used_again_afterwards() -> None:
    replanner = _replanner(_four_gpus(_job("wide", 5.0, gpus=4, duration=4)))
    (after,) = _apply(replanner, GpuFailed(2, until_step=2)).jobs
    assert (after.start, after.end) == (2, 6)


def test_what_runs_past_its_failed_gpu_is_left_out_where_nothing_else_fits() -> None:
    replanner = _replanner(_four_gpus(_job("wide", 5.0, gpus=4, duration=4)))
    plan = _apply(replanner, GpuFailed(2, until_step=3))
    assert plan.jobs == ()
    assert [entry.id for entry in plan.unplaced] == ["wide"]


def _placements(plan: Plan, without: str = "") -> dict[str, Placement]:
    return {placement.id: placement for placement in plan.jobs if placement.id != without}


@pytest.mark.parametrize("seed", range(40))
def test_an_event_that_changes_nothing_material_moves_nothing(seed: int) -> None:
    """The same priority, and a job that fits nowhere, comes and goes, each with no neighbourhood searched."""
    problem = random_problem(seed, SMALL)
    replanner = _replanner(problem, seed)
    before = _placements(replanner.plan)
    placed = [job for job in problem.jobs if job.id in before and before[job.id].start == job.submit]
    events: list[Event] = [PriorityChanged(job.id, job.priority) for job in placed[:2]]
    if problem.horizon.finish_inside:
        endless = _job("endless", 1.0, duration=problem.horizon.steps + 1)
        events += [JobArrived(endless), JobEnded("endless")]
    for event in events:
        plan = _apply(replanner, event, searched=False)
        assert _placements(plan) == before, event


@pytest.mark.parametrize("seed", range(40))
def test_a_job_that_ends_leaves_all_the_others_where_they_are(seed: int) -> None:
    problem = random_problem(seed, SMALL)
    replanner = _replanner(problem, seed)
    if not replanner.plan.jobs:
        pytest.skip("nothing is placed")
    name = replanner.plan.jobs[0].id
    before = _placements(replanner.plan, without=name)
    after = _placements(_apply(replanner, JobEnded(name), searched=False))
    assert before.items() <= after.items()


def test_the_gpu_that_a_service_no_longer_needs_goes_to_the_job_that_waited() -> None:
    service = Service(id="chat", priority=9.0, demand=(4,) * 6, max_swap=4)
    replanner = _replanner(_four_gpus(_job("patient", 1.0, gpus=2, duration=6), services=(service,)))
    assert replanner.plan.jobs == ()
    plan = _apply(replanner, DemandChanged("chat", (2,) * 6))
    (allocation,) = plan.services
    assert [len(gpus) for gpus in allocation.gpus] == [2] * 6
    assert [(placement.id, placement.start) for placement in plan.jobs] == [("patient", 0)]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (
            JobArrived(_job("new", 1.0, running=Running(gpus=(3,), remaining=2))),
            "event: 'new' is running already; start a new Replanner with that problem",
        ),
        (JobArrived(_job("chat", 1.0)), "event: 'chat' exists already; give the job an id of its own"),
        (JobEnded("chat"), "event: no job is called 'chat'; correct the id"),
        (DemandChanged("first", (1,) * 6), "event: no service is called 'first'; correct the id"),
        (DemandChanged("chat", (1, 1, 1, 1, 1, -1)), "event.demand[5]: is -1, and must be at least 0; raise it"),
        (PriorityChanged("first", -1.0), "event.priority: is -1.0, and must be at least 0; raise it"),
        (PriorityChanged("chat", -1.0), "event.priority: is -1.0, and must be at least 0; raise it"),
        (GpuFailed(-1, 2), "event.gpu: GPU -1 does not exist in a cluster of 4; GPU numbers run from 0 to 3"),
        (GpuFailed(0, 0), "event.until_step: 0 is not after step 0; name the first step at which the GPU serves again"),
    ],
)
def test_a_wrong_event_is_refused_and_the_next_plan_is_as_if_it_had_never_come(event: Event, text: str) -> None:
    service = Service(id="chat", priority=9.0, demand=(1,) * 6, max_swap=4)
    problem = _four_gpus(_job("first", 9.0, gpus=2), services=(service,))
    disturbed, quiet = _replanner(problem), _replanner(problem)
    with pytest.raises(InputError) as refused:
        disturbed.apply(event)
    assert str(refused.value) == text
    assert disturbed.problem == problem
    follow_up = JobArrived(_job("later", 2.0, gpus=1))
    ignoring_time = {"solve_seconds": None}
    plans = [_apply(replanner, follow_up).model_copy(update=ignoring_time) for replanner in (disturbed, quiet)]
    assert plans[0] == plans[1]
