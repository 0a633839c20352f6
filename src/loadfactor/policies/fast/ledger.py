"""From the plan as it stands to the plan document, remaking only what moved; the other half of the incremental form."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from loadfactor.model import Job, Metrics, Placement, Plan, Problem, Service, ServiceAllocation, Unplaced
from loadfactor.policies.draft import WORTH_MORE, ServiceFigures, decayed_steps
from loadfactor.policies.fast.curves import NONE
from loadfactor.policies.fast.layout import allocation_of, churn_of
from loadfactor.policies.fast.standing import Standing
from loadfactor.policies.instance import DURATION, SIZE


class Ledger:
    """The pieces of the last plan document, kept so that a new one costs what has changed."""

    def __init__(self, problem: Problem, plan: Plan, standing: Standing) -> None:
        self._problem = problem
        self._standing = standing
        self._policy = plan.policy
        self._placements: dict[str, Placement] = {placement.id: placement for placement in plan.jobs}
        self._unplaced: dict[str, Unplaced] = {}
        self._running = [job.id for job in problem.jobs if job.running]
        self._seen = np.full((3, 0), NONE)
        self._allocations: dict[str, tuple[object, Service, ServiceAllocation, ServiceFigures]] = {}
        self._follow_jobs({job.id: job for job in problem.jobs})  # here, so that the first event waits for no more
        for service in problem.services:
            self._follow_service(service)

    def compose(self, jobs: Mapping[str, Job], services: Mapping[str, Service], solve_seconds: float) -> Plan:
        """Return the plan document of the plan as it stands."""
        self._follow_jobs(jobs)
        for service in services.values():
            self._follow_service(service)
        return Plan.trusted(
            {
                "problem": self._problem.name,
                "policy": self._policy,
                "jobs": tuple(self._placements.values()),
                "unplaced": tuple(self._unplaced.values()),
                "services": tuple(self._allocations[name][2] for name in services),
                "metrics": self._metrics(jobs),
                "bound": None,
                "optimal": None,
                "solve_seconds": solve_seconds,
            }
        )

    def _follow_jobs(self, jobs: Mapping[str, Job]) -> None:
        """Remake the placements of the jobs that moved since the last time."""
        s = self._standing
        now = np.stack([s.chosen, s.begin, s.where])
        moved = np.ones(now.shape[1], dtype=np.bool_)
        known = self._seen.shape[1]
        moved[:known] = (now[:, :known] != self._seen).any(axis=0)
        self._seen = now
        for row in np.flatnonzero(moved).tolist():
            name = s.names[row]
            if name is None:
                continue
            if s.where[row] == NONE:
                self._placements.pop(name, None)
                self._unplaced[name] = Unplaced.trusted({"id": name, "reason": WORTH_MORE})
            else:
                self._unplaced.pop(name, None)
                self._placements[name] = self._placement(name, row)
        if len(self._placements) + len(self._unplaced) != len(jobs):
            for gone in (self._placements.keys() | self._unplaced.keys()) - jobs.keys():
                self._placements.pop(gone, None)
                self._unplaced.pop(gone, None)

    def _placement(self, name: str, row: int) -> Placement:
        s = self._standing
        size, duration = (int(number) for number in s.options[s.chosen[row], [SIZE, DURATION]])
        start, gpu = int(s.begin[row]), int(s.where[row])
        gpus = tuple(range(gpu, gpu + size))
        return Placement.trusted({"id": name, "start": start, "end": start + duration, "gpus": gpus})

    def _follow_service(self, service: Service) -> None:
        s = self._standing
        changes = s.changes[s.service_row[service.id]]
        known = self._allocations.get(service.id)
        if known is None or known[0] is not changes or known[1] is not service:
            rows = changes.tolist()
            gpus = allocation_of(service.held or (), rows, s.instance.steps)
            allocation = ServiceAllocation.trusted({"id": service.id, "gpus": tuple(gpus)})
            self._allocations[service.id] = (
                changes,
                service,
                allocation,
                ServiceFigures.of(service, gpus, churn_of(service, rows)),
            )

    def _metrics(self, jobs: Mapping[str, Job]) -> Metrics:
        s = self._standing
        steps = s.instance.steps
        placed = np.flatnonzero(s.where != NONE)
        ends = s.begin[placed] + s.options[s.chosen[placed], DURATION]
        size = s.options[s.chosen[placed], SIZE]
        cells = int((size * (np.minimum(ends, steps) - s.begin[placed])).sum())
        reward, finished = s.worth(), int((ends <= steps).sum())
        for name in self._running:
            job = jobs.get(name)
            if job and job.running:
                inside = min(job.running.remaining, steps)
                reward += job.priority * len(job.running.gpus) * decayed_steps(self._problem, 0, inside)
                cells += len(job.running.gpus) * inside
                finished += job.running.remaining <= steps
        figures = [entry[3] for entry in self._allocations.values()]
        penalty = s.penalty * sum(entry.weighted_shortfall for entry in figures)
        cells += sum(entry.useful for entry in figures)
        grid = s.available_cells
        return Metrics.trusted(
            {
                "utilization": cells / grid if grid else 0.0,
                "value": reward - penalty,
                "batch_reward": reward,
                "shortfall_penalty": penalty,
                "shortfall_gpu_steps": sum(entry.shortfall for entry in figures),
                "jobs_finished": finished,
                "churn": sum(entry.churn for entry in figures),
            }
        )
