"""What there is to draw of a plan, in GPUs and steps, before anyone asks on what it is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from loadfactor.errors import Fault, InputError
from loadfactor.model import Job, Placement, Plan, Problem, Service, ServiceAllocation
from loadfactor.pictures.boxes import Box, boxes_of_block, boxes_of_holdings, boxes_of_unavailable

MAX_BOXES = 12_000
"""The most boxes that a picture draws one by one; a browser still moves through them without a pause."""

Steps = NDArray[np.int64]


@dataclass(frozen=True)
class DrawnJob:
    """A placed job and its boxes: one, unless it inherited a scattered block."""

    job: Job
    placement: Placement
    boxes: tuple[Box, ...]

    @property
    def waited_steps(self) -> int:
        """The steps between submission and start."""
        return max(0, self.placement.start - self.job.submit)


@dataclass(frozen=True)
class DrawnService:
    """A service, its boxes, and its demand, holdings and shortfall in GPUs at each of the T steps."""

    index: int
    service: Service
    boxes: tuple[Box, ...]
    held: Steps

    @cached_property
    def demand(self) -> Steps:
        """The GPUs that the service needs at each step."""
        return np.asarray(self.service.demand, dtype=np.int64)

    @cached_property
    def shortfall(self) -> Steps:
        """The GPUs that it lacks at each step: max(0, demand - held)."""
        lacking: Steps = np.maximum(self.demand - self.held, 0)
        return lacking


@dataclass(frozen=True)
class Scene:
    """A plan taken apart into boxes and curves."""

    problem: Problem
    plan: Plan
    jobs: tuple[DrawnJob, ...]
    services: tuple[DrawnService, ...]
    unavailable: tuple[Box, ...]

    @property
    def steps(self) -> int:
        """The number of steps, T."""
        return self.problem.horizon.steps

    @property
    def gpu_count(self) -> int:
        """The number of GPUs, N."""
        return self.problem.cluster.gpu_count

    @property
    def is_crowded(self) -> bool:
        """Whether there are too many boxes to draw each of them."""
        return self.box_count > MAX_BOXES

    @property
    def box_count(self) -> int:
        """How many boxes the whole grid takes."""
        of_jobs = sum(len(drawn.boxes) for drawn in self.jobs)
        return of_jobs + sum(len(drawn.boxes) for drawn in self.services) + len(self.unavailable)

    @cached_property
    def available(self) -> Steps:
        """The GPUs that may serve someone, at each step."""
        return self.gpu_count - _gpus_by_step(self.unavailable, self.steps)

    @cached_property
    def busy_with_jobs(self) -> Steps:
        """The GPUs held by jobs, at each step."""
        return _gpus_by_step([box for drawn in self.jobs for box in drawn.boxes], self.steps)

    @cached_property
    def serving(self) -> Steps:
        """The GPUs that meet demand of services, at each step: the sum of min(demand, held)."""
        total = np.zeros(self.steps, dtype=np.int64)
        for drawn in self.services:
            total += np.minimum(drawn.demand, drawn.held)
        return total

    @property
    def utilization(self) -> float:
        """The share of the available cells that does useful work, as section "Metrics" of the docs defines it."""
        return float((self.busy_with_jobs + self.serving).sum() / max(1, self.available.sum()))


def scene_of(problem: Problem, plan: Plan) -> Scene:
    """Return the scene of `plan`; raise `InputError` if it speaks of other jobs, services, GPUs or steps."""
    faults = list(_faults(problem, plan))
    if faults:
        raise InputError(faults)
    steps = problem.horizon.steps
    jobs = {job.id: job for job in problem.jobs}
    held = {allocation.id: allocation for allocation in plan.services}
    return Scene(
        problem,
        plan,
        tuple(_drawn_job(jobs[placement.id], placement, steps) for placement in plan.jobs),
        tuple(_drawn_service(i, service, held.get(service.id), steps) for i, service in enumerate(problem.services)),
        boxes_of_unavailable(problem.cluster.unavailable, steps),
    )


def _drawn_job(job: Job, placement: Placement, steps: int) -> DrawnJob:
    return DrawnJob(job, placement, boxes_of_block(placement.gpus, placement.start, placement.end, steps))


def _drawn_service(index: int, service: Service, allocation: ServiceAllocation | None, steps: int) -> DrawnService:
    gpus_by_step = allocation.gpus if allocation else ((),) * steps
    held = np.fromiter(map(len, gpus_by_step), dtype=np.int64, count=steps)
    return DrawnService(index, service, boxes_of_holdings(gpus_by_step, steps), held)


def _gpus_by_step(boxes: list[Box] | tuple[Box, ...], steps: int) -> Steps:
    change = np.zeros(steps + 1, dtype=np.int64)
    for box in boxes:
        change[box.start] += box.until_gpu - box.first_gpu
        change[box.end] -= box.until_gpu - box.first_gpu
    return np.cumsum(change)[:steps]


def _faults(problem: Problem, plan: Plan) -> Iterator[Fault]:
    other = "draw the plan with the problem that it was made for"
    jobs, services = {job.id for job in problem.jobs}, {service.id for service in problem.services}
    for index, placement in enumerate(plan.jobs):
        path = f"jobs[{index}]"
        if placement.id not in jobs:
            yield Fault(f"{path}.id", f"the problem {problem.name!r} has no job {placement.id!r}", other)
        yield from _faults_of_gpus(f"{path}.gpus", placement.gpus, problem.cluster.gpu_count)
    for index, allocation in enumerate(plan.services):
        path = f"services[{index}]"
        if allocation.id not in services:
            yield Fault(f"{path}.id", f"the problem {problem.name!r} has no service {allocation.id!r}", other)
        if len(allocation.gpus) != problem.horizon.steps:
            fact = f"{len(allocation.gpus)} entries for {problem.horizon.steps} steps"
            yield Fault(f"{path}.gpus", fact, "give the GPUs held at every step")
        highest = {max(gpus) for gpus in allocation.gpus if gpus}
        yield from _faults_of_gpus(f"{path}.gpus", sorted(highest), problem.cluster.gpu_count)


def _faults_of_gpus(path: str, gpus: tuple[int, ...] | list[int], gpu_count: int) -> Iterator[Fault]:
    if gpus and max(gpus) >= gpu_count:
        fact = f"GPU {max(gpus)} does not exist in a cluster of {gpu_count}"
        yield Fault(path, fact, f"GPU numbers run from 0 to {gpu_count - 1}")
