"""From the plan as it stands to the plan document, remaking only what moved; the other half of the incremental form."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from loadfactor.model import Job, Metrics, Placement, Plan, Problem, Service, ServiceAllocation, Unplaced
from loadfactor.policies.draft import WORTH_MORE, ServiceFigures, decayed_steps
from loadfactor.policies.fast.counts import NONE
from loadfactor.policies.fast.layout import allocation_of
from loadfactor.policies.fast.standing import Standing
from loadfactor.policies.instance import DURATION, SIZE


class Ledger:
    """The pieces of the last plan document, kept so that a new one costs what has changed."""

    def __init__(self, problem: Problem, plan: Plan, standing: Standing) -> None:
        self._problem = problem
        self._standing = standing
        self._policy = plan.policy
        self._placements: dict[str, Placement] = {placement.id: placement for placement in plan.jobs}
        self._allocations: dict[str, tuple[object, Service, ServiceAllocation, ServiceFigures]] = {}

    def compose(self, jobs: Mapping[str, Job], services: Mapping[str, Service], solve_seconds: float) -> Plan:
        """Return the plan document of the plan as it stands."""
        self._follow_jobs(jobs)
        for service in services.values():
            self._follow_service(service)
        placed = self._placements
        return Plan.trusted(
            problem=self._problem.name,
            policy=self._policy,
            jobs=tuple(placed[name] for name in jobs if name in placed),
            unplaced=tuple(Unplaced.trusted(id=name, reason=WORTH_MORE) for name in jobs if name not in placed),
            services=tuple(self._allocations[name][2] for name in services),
            metrics=self._metrics(jobs),
            bound=None,
            optimal=None,
            solve_seconds=solve_seconds,
        )

    def _follow_jobs(self, jobs: Mapping[str, Job]) -> None:
        s = self._standing
        placed = np.flatnonzero(s.where != NONE)
        size = s.options[s.chosen[placed], SIZE]
        end = s.begin[placed] + s.options[s.chosen[placed], DURATION]
        figures = zip(
            placed.tolist(),
            s.begin[placed].tolist(),
            end.tolist(),
            s.where[placed].tolist(),
            size.tolist(),
            strict=True,
        )
        kept = {name: self._placements[name] for name, job in jobs.items() if job.running}
        for row, start, until, gpu, gpus in figures:
            name = s.names[row]
            assert name is not None  # noqa: S101 - a job that was removed is nowhere on the grid
            known = self._placements.get(name)
            if known is None or known.start != start or known.gpus[0] != gpu or len(known.gpus) != gpus:
                known = Placement.trusted(id=name, start=start, end=until, gpus=tuple(range(gpu, gpu + gpus)))
            kept[name] = known
        self._placements = kept

    def _follow_service(self, service: Service) -> None:
        s = self._standing
        changes = s.changes[s.service_row[service.id]]
        known = self._allocations.get(service.id)
        if known is None or known[0] is not changes or known[1] is not service:
            gpus = allocation_of(service.held or (), changes, s.instance.steps)
            allocation = ServiceAllocation.trusted(id=service.id, gpus=tuple(gpus))
            self._allocations[service.id] = changes, service, allocation, ServiceFigures.of(service, gpus)

    def _metrics(self, jobs: Mapping[str, Job]) -> Metrics:
        s = self._standing
        steps = s.instance.steps
        placed = np.flatnonzero(s.where != NONE)
        ends = s.begin[placed] + s.options[s.chosen[placed], DURATION]
        size = s.options[s.chosen[placed], SIZE]
        cells = int((size * (np.minimum(ends, steps) - s.begin[placed])).sum())
        reward, finished = s.worth(), int((ends <= steps).sum())
        for job in jobs.values():
            if job.running:
                inside = min(job.running.remaining, steps)
                reward += job.priority * len(job.running.gpus) * decayed_steps(self._problem, 0, inside)
                cells += len(job.running.gpus) * inside
                finished += job.running.remaining <= steps
        figures = [entry[3] for entry in self._allocations.values()]
        penalty = s.penalty * sum(entry.weighted_shortfall for entry in figures)
        cells += sum(entry.useful for entry in figures)
        grid = s.available_cells
        return Metrics.trusted(
            utilization=cells / grid if grid else 0.0,
            value=reward - penalty,
            batch_reward=reward,
            shortfall_penalty=penalty,
            shortfall_gpu_steps=sum(entry.shortfall for entry in figures),
            jobs_finished=finished,
            churn=sum(entry.churn for entry in figures),
        )
