"""The plan laid beside the problem once, so that every rule and every metric reads the same evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from loadfactor.model import Job, Placement, Plan, Problem, Service, ServiceAllocation

Index = slice | np.ndarray[Any, np.dtype[np.intp]]


@dataclass(frozen=True, slots=True)
class Block:
    """The distinct GPUs that a plan names in one place, ascending.

    `index` selects those that exist from an array over the GPUs of the cluster.
    """

    gpus: tuple[int, ...]
    index: Index
    outside: tuple[int, ...] = ()
    repeated: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """The number of distinct GPUs, existing or not."""
        return len(self.gpus)


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """A placement; `job` is None where the problem has no job of that id."""

    job: Job | None
    placement: Placement
    block: Block


@dataclass(frozen=True, slots=True)
class Stretch:
    """The same GPUs held through the consecutive steps [`start`, `end`)."""

    block: Block
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PlannedService:
    """An allocation as stretches inside the horizon; `service` is None where the problem has none of that id."""

    service: Service | None
    allocation: ServiceAllocation
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The problem, the plan, and every entry of the plan beside the job or service that it speaks of."""

    problem: Problem
    plan: Plan
    jobs: tuple[PlannedJob, ...]
    services: tuple[PlannedService, ...]

    @property
    def steps(self) -> int:
        """The number of steps of the horizon, T."""
        return self.problem.horizon.steps

    def known_jobs(self) -> Iterator[tuple[Job, PlannedJob]]:
        """Yield every placement of a job that the problem has."""
        return ((planned.job, planned) for planned in self.jobs if planned.job is not None)

    def known_services(self) -> Iterator[tuple[Service, PlannedService]]:
        """Yield every allocation of a service that the problem has."""
        return ((planned.service, planned) for planned in self.services if planned.service is not None)


def gather(problem: Problem, plan: Plan) -> Evidence:
    """Return `plan` laid beside `problem`."""
    gpu_count = problem.cluster.gpu_count
    jobs = {job.id: job for job in problem.jobs}
    services = {service.id: service for service in problem.services}
    return Evidence(
        problem,
        plan,
        tuple(
            PlannedJob(jobs.get(placement.id), placement, block_of(placement.gpus, gpu_count))
            for placement in plan.jobs
        ),
        tuple(
            PlannedService(services.get(allocation.id), allocation, _stretches(allocation, problem))
            for allocation in plan.services
        ),
    )


def block_of(gpus: tuple[int, ...], gpu_count: int) -> Block:
    """Return the block that `gpus` names in a cluster of `gpu_count` GPUs."""
    if not gpus:
        return Block((), slice(0, 0))
    first, end = gpus[0], gpus[0] + len(gpus)
    if end <= gpu_count and (len(gpus) == 1 or gpus == tuple(range(first, end))):
        return Block(gpus, slice(first, end))
    return _irregular_block(gpus, gpu_count)


def _irregular_block(gpus: tuple[int, ...], gpu_count: int) -> Block:
    ordered = sorted(gpus)
    distinct = tuple(sorted(set(ordered)))
    inside = np.array([gpu for gpu in distinct if gpu < gpu_count], dtype=np.intp)
    outside = tuple(gpu for gpu in distinct if gpu >= gpu_count)
    repeated: tuple[int, ...] = ()
    if len(distinct) < len(ordered):
        repeated = tuple(sorted({earlier for earlier, later in pairwise(ordered) if earlier == later}))
    return Block(distinct, inside, outside, repeated)


def _stretches(allocation: ServiceAllocation, problem: Problem) -> tuple[Stretch, ...]:
    """Join consecutive steps that name the same GPUs; steps behind the horizon are left out."""
    entries = allocation.gpus[: problem.horizon.steps]
    gpu_count = problem.cluster.gpu_count
    starts = [
        step
        for step, gpus in enumerate(entries)
        if step == 0 or not (gpus is entries[step - 1] or gpus == entries[step - 1])
    ]
    ends = [*starts[1:], len(entries)]
    return tuple(
        Stretch(block_of(entries[start], gpu_count), start, end) for start, end in zip(starts, ends, strict=True)
    )
