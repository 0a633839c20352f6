"""One event after another on a standing plan: how long the incremental form of `fast` takes to answer each."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from loadfactor.bench.dice import Dice
from loadfactor.bench.results import Row
from loadfactor.bench.timing import Timing
from loadfactor.judge import Verdict, judge
from loadfactor.model import Plan, Problem
from loadfactor.policies import relative_gap
from loadfactor.policies.fast import (
    DemandChanged,
    GpuFailed,
    JobArrived,
    JobEnded,
    PriorityChanged,
    Replanner,
)
from loadfactor.policies.prices import price_capacity

Event = DemandChanged | GpuFailed | JobArrived | JobEnded | PriorityChanged
Draw = Callable[[Problem, Dice], Event]
POLICY = "fast"


def job_arrived(problem: Problem, dice: Dice) -> Event:
    """Draw the arrival of a job like one of those that are there."""
    twin = dice.choice(problem.jobs)
    return JobArrived(twin.model_copy(update={"id": f"{twin.id}-again-{len(problem.jobs)}", "running": None}))


def job_ended(problem: Problem, dice: Dice) -> Event:
    """Draw a job that is over before its time, or cancelled."""
    return JobEnded(dice.choice(problem.jobs).id)


def demand_changed(problem: Problem, dice: Dice) -> Event:
    """Draw a forecast of one service that is a tenth higher or lower in one half of the horizon."""
    service = dice.choice(problem.services)
    half = len(service.demand) // 2
    changed = range(half) if dice.chance(0.5) else range(half, len(service.demand))
    higher = dice.chance(0.5)
    demand = (_by_a_tenth(gpus, higher) if step in changed else gpus for step, gpus in enumerate(service.demand))
    return DemandChanged(service.id, tuple(demand))


def _by_a_tenth(gpus: int, higher: bool) -> int:
    """Return a tenth more or less, rounded away from `gpus`."""
    return -(-11 * gpus // 10) if higher else 9 * gpus // 10


def priority_changed(problem: Problem, dice: Dice) -> Event:
    """Draw another priority for a job."""
    return PriorityChanged(dice.choice(problem.jobs).id, float(dice.between((1, 10))))


def gpu_failed(problem: Problem, dice: Dice) -> Event:
    """Draw a GPU that is out for a quarter of the horizon."""
    return GpuFailed(dice.between((0, problem.cluster.gpu_count - 1)), max(1, problem.horizon.steps // 4))


EVENTS: dict[str, Draw] = {
    "event: job arrived": job_arrived,
    "event: job ended": job_ended,
    "event: demand changed": demand_changed,
    "event: priority changed": priority_changed,
    "event: GPU failed": gpu_failed,
}


@dataclass(frozen=True)
class Answers:
    """The plans after events of one kind, judged, and the problem that the last event left."""

    timing: Timing
    verdicts: tuple[Verdict, ...]
    problem: Problem


def answer_events(problem: Problem, plan: Plan, kind: str, repeats: int) -> Answers:
    """Answer `repeats` events of one kind, one after the other, after one that warms up; judge the plan after each."""
    replanner, dice = Replanner(problem, plan), Dice(0)
    seconds: list[float] = []
    verdicts: list[Verdict] = []
    for number in range(repeats + 1):
        event = EVENTS[kind](replanner.problem, dice)
        began = time.perf_counter()
        answer = replanner.apply(event)
        if number:
            seconds.append(time.perf_counter() - began)
            verdicts.append(judge(replanner.problem, answer))
    return Answers(Timing.of(seconds), tuple(verdicts), replanner.problem)


def event_row(case: str, kind: str, answers: Answers) -> Row:
    """Return the row of one kind of event: the figures of the last plan, and a bound on the last problem."""
    metrics = answers.verdicts[-1].metrics
    bound = price_capacity(answers.problem, metrics.value).bound
    broken = next((f"ILLEGAL {v.violations[0]}" for v in answers.verdicts if not v.legal), None)
    gap = relative_gap(metrics.value, bound)
    return Row(case, POLICY, kind, metrics, None, None, bound, gap, gap, None, answers.timing, fault=broken)
