"""The plan laid beside the problem once, so that every rule and every metric reads the same evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from loadfactor.model import Job, Placement, Plan, Problem, Service, ServiceAllocation

Rows = slice | np.ndarray[Any, np.dtype[np.intp]]


class Block(NamedTuple):
    """The distinct GPUs that a plan names in one place, ascending.

    `rows` selects those that exist from an array over the GPUs of the cluster.
    """

    gpus: tuple[int, ...]
    rows: Rows
    outside: tuple[int, ...] = ()
    repeated: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """The number of distinct GPUs, existing or not."""
        return len(self.gpus)


class PlannedJob(NamedTuple):
    """A placement; `job` is None where the problem has no job of that id."""

    job: Job | None
    placement: Placement
    block: Block


class Stretch(NamedTuple):
    """The same GPUs held through the consecutive steps [`start`, `end`)."""

    block: Block
    start: int
    end: int


class Swap(NamedTuple):
    """What a service is given and what is taken away at the start of a step; `gpu` is one of these GPUs."""

    step: int
    given: int
    taken: int
    gpu: int


class PlannedService(NamedTuple):
    """An allocation as stretches inside the horizon; `service` is None where the problem has none of that id."""

    service: Service | None
    allocation: ServiceAllocation
    stretches: tuple[Stretch, ...]
    swaps: tuple[Swap, ...]


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
    jobs = {job.id: job for job in problem.jobs}
    services = {service.id: service for service in problem.services}
    blocks = _Blocks(problem.cluster.gpu_count)
    return Evidence(
        problem,
        plan,
        tuple(PlannedJob(jobs.get(placed.id), placed, blocks[placed.gpus]) for placed in plan.jobs),
        tuple(_planned_service(services.get(entry.id), entry, problem, blocks) for entry in plan.services),
    )


class _Blocks(dict[tuple[int, ...], Block]):
    """The blocks of one plan, each made once however often the plan names it."""

    def __init__(self, gpu_count: int) -> None:
        super().__init__()
        self._gpu_count = gpu_count

    def __missing__(self, gpus: tuple[int, ...]) -> Block:
        block = self[gpus] = block_of(gpus, self._gpu_count)
        return block


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


def _planned_service(
    service: Service | None, allocation: ServiceAllocation, problem: Problem, blocks: _Blocks
) -> PlannedService:
    """Join consecutive steps that name the same GPUs; steps behind the horizon are left out."""
    entries = allocation.gpus[: problem.horizon.steps]
    starts: list[int] = []
    before: tuple[int, ...] | None = None
    for step, gpus in enumerate(entries):
        if gpus is not before and gpus != before:
            starts.append(step)
            before = gpus
    ends = [*starts[1:], len(entries)]
    stretches = tuple(
        Stretch(blocks[entries[start]], start, end) for start, end in zip(starts, ends, strict=True) if start < end
    )
    return PlannedService(service, allocation, stretches, tuple(_swaps(service, stretches)))


def _swaps(service: Service | None, stretches: tuple[Stretch, ...]) -> Iterator[Swap]:
    """Compare step 0 with `held` where that is given, and with nothing otherwise."""
    before = None if service is None or service.held is None else set(service.held)
    for stretch in stretches:
        now = set(stretch.block.gpus)
        if before is not None and now != before:
            given, taken = now - before, before - now
            yield Swap(stretch.start, len(given), len(taken), min(given or taken))
        before = now
