"""What stands in a job's way, rule by rule: its own needs (R2, R3, R5), those who hold the GPUs (R1, R2, R4)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from loadfactor.explain.findings import Blocker, MakingWay, Opening, Rule
from loadfactor.explain.holdings import Holdings, Mask, Obstacle, free_windows, ramp, reward_of
from loadfactor.explain.telling import amount, at_step, count, in_steps, names, on_gpus
from loadfactor.judge import judge
from loadfactor.model import Job, Placement, Unplaced


def own_limits(holdings: Holdings, job: Job) -> tuple[Blocker, ...]:
    """Return what rules `job` out whatever anybody else does: no such block, or no time before the horizon ends."""
    problem = holdings.problem
    suitable = holdings.blocks.suitable_gpus(job)
    wanted = _range_text(job)
    if not suitable.any():
        fact = f"no GPU of the cluster meets its needs ({_needs_text(job)})"
        return (_about_job("R2", job, holdings, fact),)
    sizes = holdings.blocks.sizes(job)
    if not sizes:
        fact = f"no block of {wanted} exists on the {count(int(suitable.sum()), 'GPU')} that meet its needs"
        return (_about_job("R3", job, holdings, fact),)
    if all(job.submit > holdings.last_start(job, size, holdings.steps) for size in sizes):
        duration = min(job.duration_at(size) for size in sizes)
        fact = (
            f"{count(duration, 'step')} from {at_step(problem.horizon, job.submit)}, where it is submitted, end behind "
            f"{at_step(problem.horizon, holdings.steps)}, the end of the horizon"
        )
        return (_about_job("R2", job, holdings, fact),)
    return ()


def in_between(holdings: Holdings, job: Job, size: int, from_step: int, until_step: int) -> tuple[Blocker, ...]:
    """Return who holds what of the suitable GPUs in [from_step, until_step), and where the rest is fragmented (R3)."""
    where: Mask = np.zeros_like(holdings.owner, dtype=np.bool_)
    where[holdings.blocks.suitable_gpus(job), from_step:until_step] = True
    fragmented = _fragmented(holdings, job, size, from_step, until_step)
    return (*obstacles_told(holdings, where, job.id), *fragmented)


def obstacles_told(holdings: Holdings, where: Mask, own: str) -> tuple[Blocker, ...]:
    """Return who other than `own` holds the cells in `where`, the largest share first."""
    return tuple(_of_obstacle(holdings, obstacle) for obstacle in holdings.in_the_way(where, own=own))


def making_way(holdings: Holdings, job: Job) -> MakingWay | None:
    """Return the first place that opens when every waiting job of lower priority leaves the plan."""
    lower = [index for index, holder in enumerate(holdings.holders) if _gives_way(holder.kind, holder.priority, job)]
    free = holdings.free(without=job.id)
    opening = holdings.opening(job, free | np.isin(holdings.owner, lower))
    if opening is None:
        return None
    where: Mask = np.zeros_like(free)
    where[list(opening.gpus), opening.start : opening.end] = True
    displaced = [item.holder for item in holdings.in_the_way(where & ~free) if item.holder is not None]
    if not displaced:
        return None
    if not _is_legal(holdings, job, opening, {holder.id for holder in displaced}):
        return None
    lost = sum(holder.reward for holder in displaced)
    gained = reward_of(holdings.problem, job, opening.start, opening.end, len(opening.gpus))
    ids = tuple(holder.id for holder in displaced)
    balance = "worth it: the plan can be improved" if gained > lost else "not worth it"
    place = f"{on_gpus(opening.gpus)} at {at_step(holdings.problem.horizon, opening.start)}"
    message = f"{place} if {names(ids)} made way: {amount(lost)} lost, {amount(gained)} gained ({balance})"
    return MakingWay(opening, ids, lost, gained, message)


def _is_legal(holdings: Holdings, job: Job, opening: Opening, displaced: set[str]) -> bool:
    """Return whether the judge accepts the plan with `job` at `opening` in the place of the `displaced`."""
    plan = holdings.plan
    placement = Placement(id=job.id, start=opening.start, end=opening.end, gpus=opening.gpus)
    staying = (placed for placed in plan.jobs if placed.id not in displaced)
    unplaced = (entry for entry in plan.unplaced if entry.id != job.id)
    update = {
        "jobs": (*staying, placement),
        "unplaced": (*unplaced, *(Unplaced(id=id_) for id_ in sorted(displaced))),
    }
    return judge(holdings.problem, plan.model_copy(update=update)).legal


def _gives_way(kind: str, priority: float, job: Job) -> bool:
    return kind == "job" and priority < job.priority


def _of_obstacle(holdings: Holdings, obstacle: Obstacle) -> Blocker:
    horizon, holder = holdings.problem.horizon, obstacle.holder
    place = f"{on_gpus(obstacle.gpus)} in {in_steps(horizon, obstacle.from_step, obstacle.until_step)}"
    if holder is None:
        return _blocker("R1", obstacle, f"{place}: unavailable")
    who = f"{holder.id} (priority {amount(holder.priority)})"
    if holder.kind == "running":
        return _blocker("R2", obstacle, f"{place}: {who} is running and keeps them until step {holder.until}")
    if holder.kind == "job":
        return _blocker("R1", obstacle, f"{place}: {who}")
    idle = _ramp_inside(holdings, obstacle)
    if idle:
        reason = f"of which {count(idle, 'GPU-step')} only because its swap cap forbids to give them back and take them"
        return _blocker("R4", obstacle, f"{place}: {who}, a service, {reason}")
    return _blocker("R1", obstacle, f"{place}: {who}, a service")


def _blocker(rule: Rule, obstacle: Obstacle, message: str) -> Blocker:
    holder = obstacle.holder
    return Blocker(
        rule,
        None if holder is None else holder.id,
        None if holder is None else holder.priority,
        obstacle.gpus,
        obstacle.from_step,
        obstacle.until_step,
        obstacle.gpu_steps,
        message,
    )


def _ramp_inside(holdings: Holdings, obstacle: Obstacle) -> int:
    assert obstacle.holder is not None  # noqa: S101 - only called for services
    service = next(service for service in holdings.problem.services if service.id == obstacle.holder.id)
    idle = ramp(service, holdings.counts(service))
    return int(idle[obstacle.from_step : obstacle.until_step].sum())


def _fragmented(holdings: Holdings, job: Job, size: int, from_step: int, until_step: int) -> Iterator[Blocker]:
    """Yield the first step at which enough GPUs are free for long enough, but no block of them (R3)."""
    duration = job.duration_at(size)
    last = min(until_step - 1, holdings.last_start(job, size, holdings.steps))
    free = holdings.free(without=job.id)
    windows = free_windows(free, duration) & holdings.blocks.suitable_gpus(job)[:, None]
    enough = windows.sum(axis=0) >= size
    block = holdings.places(job, size, free).any(axis=0)
    for step in np.flatnonzero((enough & ~block)[from_step : last + 1])[:1] + from_step:
        gpus = tuple(int(gpu) for gpu in np.flatnonzero(windows[:, step]))
        message = (
            f"{on_gpus(gpus)} are free from {at_step(holdings.problem.horizon, int(step))} for "
            f"{count(duration, 'step')}, but no block of {size} is among them"
        )
        until = min(int(step) + duration, holdings.steps)
        yield Blocker("R3", None, None, gpus, int(step), until, len(gpus) * (until - int(step)), message)


def _about_job(rule: Rule, job: Job, holdings: Holdings, message: str) -> Blocker:
    return Blocker(rule, None, None, (), min(job.submit, holdings.steps), holdings.steps, 0, message)


def _range_text(job: Job) -> str:
    low, high = job.gpus.min, job.gpus.max
    return count(low, "GPU") if low == high else f"{low} to {high} GPUs"


def _needs_text(job: Job) -> str:
    needs = [] if job.gpu_types is None else [" or ".join(job.gpu_types)]
    if job.gpu_memory_gib is not None:
        needs.append(f"{amount(job.gpu_memory_gib)} GiB")
    return ", ".join(needs)
