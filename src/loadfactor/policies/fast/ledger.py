"""From the plan as it stands to the plan document, remaking only what moved; the other half of the incremental form."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from loadfactor.model import Job, Metrics, Placement, Plan, Problem, Service, ServiceAllocation, Unplaced
from loadfactor.policies.draft import WORTH_MORE, ServiceFigures, decayed_steps
from loadfactor.policies.fast.counts import NONE
from loadfactor.policies.fast.following import figures_of_jobs, moved_since
from loadfactor.policies.fast.layout import allocation_of, churn_of
from loadfactor.policies.fast.standing import Standing
from loadfactor.policies.instance import DURATION, SIZE

UNSEEN = -2
"""An option that no job has, so that a job is new to the ledger even where it has no place."""


class Ledger:
    """The pieces of the last plan document, kept so that a new one costs what has changed.

    Every job has a slot, in the order of the problem; a job that has arrived gets the next. A slot holds the placement
    of its job, or why it has none, or neither once the job is over.
    """

    def __init__(self, problem: Problem, plan: Plan, standing: Standing) -> None:
        self._problem = problem
        self._standing = standing
        self._policy = plan.policy
        self._placements: list[Placement | None] = [None] * len(problem.jobs)
        self._unplaced: list[Unplaced | None] = [None] * len(problem.jobs)
        self._slots = [slot for slot, job in enumerate(problem.jobs) if job.running is None]
        self._running = {job.id: slot for slot, job in enumerate(problem.jobs) if job.running}
        self._seen = np.full((3, 0), NONE)
        self._allocations: dict[str, tuple[object, Service, ServiceAllocation, ServiceFigures]] = {}
        placed = {placement.id: placement for placement in plan.jobs}
        for name, slot in self._running.items():
            self._placements[slot] = placed[name]
        self.follow_running({job.id: job for job in problem.jobs})
        self._follow_jobs()  # here, so that the first event waits for no more
        for service in problem.services:
            self._follow_service(service)

    def follow_running(self, jobs: Mapping[str, Job]) -> None:
        """Count the running jobs anew: one of them is over, is lost, or has another priority."""
        steps = self._problem.horizon.steps
        self._earned, self._cells, self._finished = 0.0, 0, 0
        for name, slot in self._running.items():
            job = jobs.get(name)
            if job is None or job.running is None:
                self._placements[slot] = None
                continue
            inside = min(job.running.remaining, steps)
            self._earned += job.priority * len(job.running.gpus) * decayed_steps(self._problem, 0, inside)
            self._cells += len(job.running.gpus) * inside
            self._finished += job.running.remaining <= steps

    def forget(self, row: int) -> None:
        """Clear the slot of a job that is over."""
        self._placements[self._slots[row]] = self._unplaced[self._slots[row]] = None

    def compose(self, services: Mapping[str, Service], solve_seconds: float) -> Plan:
        """Return the plan document of the plan as it stands."""
        self._follow_jobs()
        for service in services.values():
            self._follow_service(service)
        return Plan.trusted(
            {
                "problem": self._problem.name,
                "policy": self._policy,
                "jobs": tuple(filter(None, self._placements)),
                "unplaced": tuple(filter(None, self._unplaced)),
                "services": tuple(self._allocations[name][2] for name in services),
                "metrics": self._metrics(),
                "bound": None,
                "optimal": None,
                "solve_seconds": solve_seconds,
            }
        )

    def _follow_jobs(self) -> None:
        """Remake the placements of the jobs that moved since the last time."""
        s = self._standing
        arrived = len(s.names) - self._seen.shape[1]
        if arrived:
            self._seen = np.concatenate([self._seen, np.full((3, arrived), UNSEEN)], axis=1)
            missing = len(s.names) - len(self._slots)
            self._slots += range(len(self._placements), len(self._placements) + missing)
            self._placements += [None] * missing
            self._unplaced += [None] * missing
        for row in moved_since(self._seen, s.chosen, s.begin, s.where).tolist():
            name, slot, placed = s.names[row], self._slots[row], s.where[row] != NONE
            self._placements[slot] = self._placement(name, row) if name and placed else None
            self._unplaced[slot] = None if placed or not name else Unplaced.trusted({"id": name, "reason": WORTH_MORE})

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

    def _metrics(self) -> Metrics:
        s = self._standing
        earned, cells, finished = figures_of_jobs(s.options, s.reward, s.instance.weight, s.chosen, s.begin, s.where)
        reward, finished = self._earned + earned, self._finished + finished
        figures = [entry[3] for entry in self._allocations.values()]
        penalty = s.penalty * sum(entry.weighted_shortfall for entry in figures)
        cells += self._cells + sum(entry.useful for entry in figures)
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
