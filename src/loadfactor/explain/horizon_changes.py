"""Whether an unplaced job fits in a longer or an open-ended horizon."""

from __future__ import annotations

from collections.abc import Iterator

from loadfactor.explain.attempts import Attempts, Idea
from loadfactor.explain.findings import Change
from loadfactor.explain.holdings import Holdings
from loadfactor.explain.telling import count
from loadfactor.explain.trials import changed_or_none
from loadfactor.model import Plan, Problem, ServiceAllocation
from loadfactor.model.limits import MAX_STEPS

MOST_HORIZONS = 8
"""How many longer horizons are planned anew, one step longer each."""


def later_end(attempts: Attempts) -> Iterator[Change | str]:
    """Yield the shortest longer horizon found in which the job is placed.

    In the added steps the demand of every service stays what it is in its last step. Horizons of 1, 2, ... up to
    MOST_HORIZONS steps more are planned anew, until one is known to do with everything else in place.
    """
    most = _extra_with_all_in_place(attempts)
    planned = 0 if attempts.only_on_top else min(MOST_HORIZONS, MAX_STEPS if most is None else most - 1)
    for extra in range(1, planned + 1):
        changed = _longer(attempts.problem, extra)
        plan = None if changed is None else attempts.planned(changed)
        if changed is not None and plan is not None:
            yield attempts.told(_idea(attempts, extra, smallest=True), changed, plan, "planned")
            return
    on_top = None if most is None else _on_top(attempts, most)
    if most is None or on_top is None:
        yield f"a horizon longer by up to {count(planned, 'step')}" if planned else "a longer horizon"
        return
    yield attempts.told(_idea(attempts, most, most == planned + 1), *on_top, "constructed")


def open_end(attempts: Attempts) -> Iterator[Change | str]:
    """Yield `finish_inside: false`, if that places the job."""
    horizon = attempts.problem.horizon
    if not horizon.finish_inside:
        return
    changed = attempts.problem.replace(horizon=horizon.model_copy(update={"finish_inside": False}))
    opening = Holdings(changed, attempts.trials.plan).opening(attempts.job, attempts.holdings.free())
    words = "let jobs run past the horizon (finish_inside: false)"
    yield attempts.attempt(Idea("open_end", attempts.job.id, words), changed, opening) or "finish_inside: false"


def _idea(attempts: Attempts, extra: int, smallest: bool) -> Idea:
    steps = attempts.problem.horizon.steps
    least = "" if smallest else " (fewer were not all tried)"
    words = f"lengthen the horizon by {count(extra, 'step')} to {steps + extra}{least}"
    return Idea("later_end", attempts.job.id, words, float(steps), float(steps + extra))


def _extra_with_all_in_place(attempts: Attempts) -> int | None:
    """Return the fewest steps that make room for the job behind the plan as it is, or None where none do."""
    holdings, job, steps = attempts.holdings, attempts.job, attempts.problem.horizon.steps
    ends = [_first_end(attempts, size) for size in holdings.blocks.sizes(job)]
    first = min((end for end in ends if end is not None), default=None)
    return None if first is None or first <= steps else first - steps


def _first_end(attempts: Attempts, size: int) -> int | None:
    """Return the least horizon in which a block of `size` is free for the job, all else in place."""
    problem, job = attempts.problem, attempts.job
    duration = job.duration_at(size)
    busy_until = max((placed.end for placed in attempts.trials.plan.jobs), default=0)
    steps = problem.horizon.steps
    extra = min(MAX_STEPS - steps, max(job.submit, busy_until, steps) + duration - steps)
    changed = _longer(problem, extra) if extra > 0 else None
    if changed is None:
        return None
    holdings = Holdings(changed, _stretched(attempts.trials.plan, extra))
    opening = holdings.opening(job, holdings.free(), (size,))
    if opening is None:
        return None
    return opening.end if problem.horizon.finish_inside else opening.start + 1


def _on_top(attempts: Attempts, extra: int) -> tuple[Problem, Plan] | None:
    changed, stretched = _longer(attempts.problem, extra), _stretched(attempts.trials.plan, extra)
    if changed is None:
        return None
    holdings = Holdings(changed, stretched)
    opening = holdings.opening(attempts.job, holdings.free())
    if opening is None:
        return None
    plan = attempts.trials.placed_on_top(changed, attempts.placement(opening), stretched.services)
    return None if plan is None else (changed, plan)


def _longer(problem: Problem, extra: int) -> Problem | None:
    services = tuple(
        service.model_copy(update={"demand": (*service.demand, *service.demand[-1:] * extra)})
        for service in problem.services
    )
    horizon = problem.horizon.model_copy(update={"steps": problem.horizon.steps + extra})
    return changed_or_none(problem, horizon=horizon, services=services)


def _stretched(plan: Plan, extra: int) -> Plan:
    """Return `plan` with every service holding on to what it holds in the last step."""
    services = tuple(
        ServiceAllocation.model_construct(id=entry.id, gpus=(*entry.gpus, *entry.gpus[-1:] * extra))
        for entry in plan.services
    )
    return plan.model_copy(update={"services": services})
