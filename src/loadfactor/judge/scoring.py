"""The metrics of a plan, recomputed from its placements alone; what an illegal plan leaves undefined counts nothing.

Of a job that is placed twice the first placement counts, of a service with two entries the first; an unknown job or
service counts nothing; a service without an entry for a step holds nothing there; a GPU named twice is one GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from math import fsum
from typing import Any

import numpy as np

from loadfactor.judge.evidence import Evidence, PlannedJob, PlannedService
from loadfactor.model import Job, Metrics, Service

Counts = np.ndarray[Any, np.dtype[np.int64]]


def metrics_of(evidence: Evidence, unavailable_cells: int) -> Metrics:
    """Return every metric of the plan; `unavailable_cells` are the cells of the horizon that serve none."""
    horizon, objective = evidence.problem.horizon, evidence.problem.objective
    jobs = list(_first_placements(evidence))
    batch_reward = _batch_reward(jobs, horizon.steps, objective.decay)
    served, shortfall, penalty = _service_sums(evidence)
    shortfall_penalty = objective.realtime_penalty * penalty
    cells = evidence.problem.cluster.gpu_count * horizon.steps - unavailable_cells
    utilized = served + sum(planned.block.size * _steps_inside(planned, horizon.steps) for _, planned in jobs)
    return Metrics(
        utilization=utilized / cells if cells else 0.0,
        value=batch_reward - shortfall_penalty,
        batch_reward=batch_reward,
        shortfall_penalty=shortfall_penalty,
        shortfall_gpu_steps=shortfall,
        jobs_finished=sum(planned.placement.end <= horizon.steps for _, planned in jobs),
        churn=_churn(evidence),
    )


def _first_placements(evidence: Evidence) -> Iterator[tuple[Job, PlannedJob]]:
    seen: set[str] = set()
    for job, planned in evidence.known_jobs():
        if job.id not in seen:
            seen.add(job.id)
            yield job, planned


def _steps_inside(planned: PlannedJob, steps: int) -> int:
    return max(0, min(planned.placement.end, steps) - planned.placement.start)


def _batch_reward(jobs: list[tuple[Job, PlannedJob]], steps: int, decay: float) -> float:
    """Sum priority · size · decay^t over the steps of every job inside the horizon."""
    before = _worth_before(decay, steps)
    return fsum(
        job.priority
        * planned.block.size
        * (before[min(planned.placement.end, steps)] - before[planned.placement.start])
        for job, planned in jobs
        if _steps_inside(planned, steps)
    )


@lru_cache(maxsize=8)
def _worth_before(decay: float, steps: int) -> tuple[float, ...]:
    """Return Σ decay^s over the steps s before t, for t from 0 to `steps`."""
    return (0.0, *accumulate(decay**step for step in range(steps)))


def _service_sums(evidence: Evidence) -> tuple[int, int, float]:
    """Return Σ min(demand, held), Σ shortfall, and Σ priority · shortfall."""
    served, shortfall, penalty = 0, 0, []
    for service, planned in _first_allocations(evidence):
        demand = np.array(service.demand, dtype=np.int64)
        met = int(np.minimum(demand, _held(planned, evidence.steps)).sum())
        missing = int(demand.sum()) - met
        served += met
        shortfall += missing
        penalty.append(service.priority * missing)
    return served, shortfall, fsum(penalty)


def _first_allocations(evidence: Evidence) -> Iterator[tuple[Service, PlannedService | None]]:
    """Yield every service of the problem with its first entry in the plan, or None."""
    first: dict[str, PlannedService] = {}
    for service, planned in evidence.known_services():
        first.setdefault(service.id, planned)
    return ((service, first.get(service.id)) for service in evidence.problem.services)


def _held(planned: PlannedService | None, steps: int) -> Counts:
    """Return how many GPUs the service holds at every step of the horizon."""
    held = np.zeros(steps, dtype=np.int64)
    for stretch in planned.stretches if planned else ():
        held[stretch.start : stretch.end] = stretch.block.size
    return held


def _churn(evidence: Evidence) -> int:
    return sum(
        swap.given + swap.taken
        for _, planned in _first_allocations(evidence)
        if planned is not None
        for swap in planned.swaps
    )
