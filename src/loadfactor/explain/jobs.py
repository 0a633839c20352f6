"""The story of one job: where it is, what kept it from starting earlier or larger, what would place it."""

from __future__ import annotations

from loadfactor.explain.attempts import Attempts
from loadfactor.explain.blockers import in_between, making_way, own_limits
from loadfactor.explain.findings import Blocker, JobExplanation, Opening, Status
from loadfactor.explain.holdings import Holdings
from loadfactor.explain.job_changes import changes_for_job
from loadfactor.explain.telling import MOST_NAMED, at_step, count, in_steps, names, on_gpus
from loadfactor.explain.trials import Trials
from loadfactor.model import Job, Placement


def explain_job(holdings: Holdings, job: Job, trials: Trials | None) -> JobExplanation:
    """Return why `job` is where it is; with `trials`, also the changes that would place it if it is left out."""
    placed = holdings.placements.get(job.id)
    if placed is None:
        return _left_out(holdings, job, trials)
    place = Opening(placed.start, placed.end, placed.gpus)
    horizon = holdings.problem.horizon
    where = f"{on_gpus(placed.gpus)}, {in_steps(horizon, placed.start, placed.end)}"
    if job.running:
        summary = f"is running and keeps {where} (R2, R5)"
        return JobExplanation(job.id, "running", place, summary)
    status = _status(holdings, job, placed)
    if status == "on_time":
        summary = f"runs on {where}: as soon as it may, on its largest size"
        return JobExplanation(job.id, status, place, summary)
    return _placed_short(holdings, job, placed, status, where)


def _status(holdings: Holdings, job: Job, placed: Placement) -> Status:
    later, smaller = placed.start > job.submit, len(placed.gpus) < holdings.blocks.sizes(job)[-1]
    if later:
        return "later_and_smaller" if smaller else "later"
    return "smaller" if smaller else "on_time"


def _placed_short(holdings: Holdings, job: Job, placed: Placement, status: Status, where: str) -> JobExplanation:
    largest = holdings.blocks.sizes(job)[-1]
    # a start one step earlier, or at the submit on the largest size, would have needed these steps
    until = max(placed.start, job.submit + 1) - 1 + job.duration_at(largest)
    blockers = in_between(holdings, job, largest, job.submit, min(until, holdings.steps))
    opening = _better(holdings, job, placed)
    facts = []
    if placed.start > job.submit:
        facts.append(f"{count(placed.start - job.submit, 'step')} after its submit at step {job.submit}")
    if len(placed.gpus) < largest:
        facts.append(f"on {count(len(placed.gpus), 'GPU')} where it could use {largest}")
    summary = f"runs on {where}: {', '.join(facts)}. {_who(blockers)}"
    if opening is not None:
        summary += f". It could have started at {at_step(holdings.problem.horizon, opening.start)} on "
        summary += f"{on_gpus(opening.gpus)}, which the plan leaves free"
    place = Opening(placed.start, placed.end, placed.gpus)
    return JobExplanation(job.id, status, place, summary, blockers, opening)


def _better(holdings: Holdings, job: Job, placed: Placement) -> Opening | None:
    """Return an opening that is earlier, or as early and larger, than where the job is, all else in place."""
    opening = holdings.opening(job, holdings.free(without=job.id))
    if opening is None or (opening.start, -len(opening.gpus)) >= (placed.start, -len(placed.gpus)):
        return None
    return opening


def _left_out(holdings: Holdings, job: Job, trials: Trials | None) -> JobExplanation:
    limits = own_limits(holdings, job)
    changes, refuted = changes_for_job(Attempts(holdings, job, trials)) if trials else ((), ())
    searched = trials is not None
    if limits:
        summary = f"is left out: {limits[0].message}"
        return JobExplanation(job.id, "unplaced", None, summary, limits, None, None, changes, refuted, searched)
    size = holdings.blocks.sizes(job)[0]
    blockers = in_between(holdings, job, size, job.submit, holdings.steps)
    opening = holdings.opening(job, holdings.free())
    way = making_way(holdings, job) if opening is None else None
    return JobExplanation(
        job.id,
        "unplaced",
        None,
        _why_left_out(holdings, job, size, blockers, opening),
        blockers,
        opening,
        way,
        changes,
        refuted,
        searched,
    )


def _why_left_out(
    holdings: Holdings, job: Job, size: int, blockers: tuple[Blocker, ...], opening: Opening | None
) -> str:
    horizon = holdings.problem.horizon
    if opening is not None:
        place = f"{on_gpus(opening.gpus)} at {at_step(horizon, opening.start)}"
        return f"is left out although it could start on {place}: {holdings.plan.policy!r} left that place free"
    need = f"{count(size, 'GPU')} for {count(job.duration_at(size), 'step')}"
    return f"is left out: no block of {need} is free from {at_step(horizon, job.submit)} on. {_who(blockers)}"


def _who(blockers: tuple[Blocker, ...]) -> str:
    holders = [f"{item.holder} (priority {item.priority:g})" for item in blockers if item.holder is not None]
    closed = [on_gpus(item.gpus) for item in blockers if item.rule == "R1" and item.holder is None]
    said = [f"In the way: {names(holders)}"] if holders else []
    if closed:
        said.append(f"{closed[0]} unavailable")
    said += [item.message for item in blockers if item.rule == "R3"][:MOST_NAMED]
    return "; ".join(said) if said else "Nobody is in the way"
