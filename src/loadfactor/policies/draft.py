"""From a policy's decisions to a plan document: placements, allocations, metrics and reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise, repeat
from operator import mul

import numpy as np
import numpy.typing as npt

from loadfactor.model import Job, Metrics, Placement, Plan, Problem, Service, ServiceAllocation, Unplaced

Gpus = tuple[int, ...]
Allocation = Sequence[Gpus]

WORTH_MORE = "the blocks and steps that it could take serve work that is worth more; `loadfactor explain` names it"


@dataclass(frozen=True)
class Draft:
    """The decisions of a policy: start and GPUs of every placed job, GPUs of every service at every step."""

    problem: Problem
    placed: Mapping[str, tuple[int, Gpus]]
    held: Sequence[Allocation]
    reasons: Mapping[str, str] = field(default_factory=dict)
    churn: Sequence[int] | None = None
    """The churn of every service, where the policy has counted it."""

    def plan(self, policy: str, solve_seconds: float, bound: float | None = None, optimal: bool | None = None) -> Plan:
        """Return the plan document with the metrics computed here; the judge computes them again on its own."""
        placed, reasons = self.placed, self.reasons
        return Plan.trusted(
            {
                "problem": self.problem.name,
                "policy": policy,
                "jobs": tuple(
                    [
                        Placement.trusted({"id": job.id, "start": start, "end": end, "gpus": gpus})
                        for job, start, end, gpus in self._placements
                    ]
                ),
                "unplaced": tuple(
                    [
                        Unplaced.trusted({"id": job.id, "reason": reasons.get(job.id, WORTH_MORE)})
                        for job in self.problem.jobs
                        if job.id not in placed
                    ]
                ),
                "services": tuple(
                    [
                        ServiceAllocation.trusted({"id": service.id, "gpus": tuple(allocation)})
                        for service, allocation in zip(self.problem.services, self.held, strict=True)
                    ]
                ),
                "metrics": self.metrics,
                "bound": bound,
                "optimal": optimal,
                "solve_seconds": solve_seconds,
            }
        )

    @cached_property
    def _placements(self) -> list[tuple[Job, int, int, Gpus]]:
        """Every placed job with its start, end and GPUs, in file order."""
        placements = []
        for job in self.problem.jobs:
            found = self.placed.get(job.id)
            if found is not None:
                start, gpus = found
                placements.append((job, start, start + duration_of(job, len(gpus)), gpus))
        return placements

    @cached_property
    def metrics(self) -> Metrics:
        """The metrics of design section "Metrics of a plan"."""
        steps, grid = self.problem.horizon.steps, available_cells(self.problem)
        weights = decay_weights(steps, self.problem.objective.decay)
        reward, cells, finished = 0.0, 0, 0
        for job, start, end, gpus in self._placements:
            inside = min(end, steps)
            reward += job.priority * len(gpus) * (weights[inside] - weights[start])
            cells += len(gpus) * (inside - start)
            finished += end <= steps
        churn: Sequence[int | None] = self.churn or [None] * len(self.held)
        services = [ServiceFigures.of(*given) for given in zip(self.problem.services, self.held, churn, strict=True)]
        penalty = self.problem.objective.realtime_penalty * sum(figures.weighted_shortfall for figures in services)
        cells += sum(figures.useful for figures in services)
        return Metrics.trusted(
            {
                "utilization": cells / grid if grid else 0.0,
                "value": reward - penalty,
                "batch_reward": reward,
                "shortfall_penalty": penalty,
                "shortfall_gpu_steps": sum(figures.shortfall for figures in services),
                "jobs_finished": finished,
                "churn": sum(figures.churn for figures in services),
            }
        )


@dataclass(frozen=True)
class ServiceFigures:
    """What one service adds to the metrics, in GPU-steps and in GPUs given plus taken away."""

    useful: int
    shortfall: int
    weighted_shortfall: float
    churn: int

    @classmethod
    def of(cls, service: Service, held: Allocation, churn: int | None = None) -> ServiceFigures:
        """Return the figures of `service` when it holds these GPUs, one entry a step; `churn` where it is known."""
        sizes = [len(gpus) for gpus in held]
        shortfall = sum(demand - size for demand, size in zip(service.demand, sizes, strict=True) if demand > size)
        useful = sum(service.demand) - shortfall
        if churn is None:
            known: list[Gpus | None] = [service.held, *held]
            churn = sum(swaps(before, after or ()) for before, after in pairwise(known))
        return cls(useful, shortfall, service.priority * shortfall, churn)


def swaps(before: Gpus | None, after: Gpus) -> int:
    """Return the GPUs given plus taken away between two steps (R4); 0 where nothing is known of the first."""
    if before is None or before is after or before == after:
        return 0
    return len(set(before) ^ set(after))


def duration_of(job: Job, size: int) -> int:
    """Return the steps that `job` still takes on `size` GPUs: what remains, for a running job."""
    return job.running.remaining if job.running else job.duration_at(size)


def decayed_steps(problem: Problem, start: int, end: int) -> float:
    """Return Σ decay^t over the steps [start, end), the weight of one GPU held for that long."""
    decay = problem.objective.decay
    if decay == 1.0:
        return float(end - start)
    return float((decay**start - decay**end) / (1.0 - decay))


@lru_cache(maxsize=8)
def decay_weights(steps: int, decay: float) -> tuple[float, ...]:
    """Return T + 1 sums Σ decay^k over k < t: the weight of one GPU held in [a, b) is the difference of two of them."""
    return 0.0, *accumulate(accumulate(repeat(decay, steps - 1), mul, initial=1.0))


def available_cells(problem: Problem) -> int:
    """Return N·T less the unavailable cells, the denominator of the utilization."""
    cluster, steps = problem.cluster, problem.horizon.steps
    if not cluster.unavailable:
        return cluster.gpu_count * steps
    return cluster.gpu_count * steps - int(unavailable_cells(problem).sum())


def unavailable_cells(problem: Problem) -> npt.NDArray[np.bool_]:
    """Return a boolean array of shape (N, T): which cells are unavailable."""
    closed = np.zeros((problem.cluster.gpu_count, problem.horizon.steps), dtype=np.bool_)
    for entry in problem.cluster.unavailable:
        closed[list(entry.gpus), entry.from_step : entry.until_step] = True
    return closed
