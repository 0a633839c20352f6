"""The grid of a plan: who holds which GPU at which step, and where a job would still fit.

Arrays are of shape (N, T): N GPUs, T steps of the horizon.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from loadfactor.explain.findings import Opening
from loadfactor.model import Job, Plan, Problem, Service
from loadfactor.policies.blocks import BlockTable, block_table
from loadfactor.policies.draft import decayed_steps, unavailable_cells

Mask = npt.NDArray[np.bool_]
Owners = npt.NDArray[np.int32]
FREE, UNAVAILABLE = -1, -2
HolderKind = Literal["job", "running", "service"]


@dataclass(frozen=True)
class Holder:
    """A job or service that holds cells; `reward` is what a job earns in the plan (0 for a service)."""

    id: str
    kind: HolderKind
    priority: float
    reward: float
    until: int
    """The end of a job, which may lie behind the horizon; T for a service."""


@dataclass(frozen=True)
class Obstacle:
    """Cells that are taken: by `holder`, or by nobody (None) because the GPUs are unavailable."""

    holder: Holder | None
    gpus: tuple[int, ...]
    from_step: int
    until_step: int
    gpu_steps: int


class Holdings:
    """Who holds what in `plan`: the index of a holder, FREE or UNAVAILABLE for every cell."""

    def __init__(self, problem: Problem, plan: Plan) -> None:
        self.problem = problem
        self.plan = plan
        self.steps = problem.horizon.steps
        self.blocks: BlockTable = block_table(problem.cluster)
        self.owner: Owners = np.full((problem.cluster.gpu_count, self.steps), FREE, dtype=np.int32)
        self.owner[unavailable_cells(problem)] = UNAVAILABLE
        self.holders: list[Holder] = []
        self.placements = {placed.id: placed for placed in plan.jobs}
        self.held = {service.id: service.gpus for service in plan.services}
        self._enter_jobs()
        self._enter_services()

    def _enter_jobs(self) -> None:
        for job in self.problem.jobs:
            placed = self.placements.get(job.id)
            if placed is None:
                continue
            self.owner[list(placed.gpus), placed.start : placed.end] = len(self.holders)
            kind: HolderKind = "running" if job.running else "job"
            reward = reward_of(self.problem, job, placed.start, placed.end, len(placed.gpus))
            self.holders.append(Holder(job.id, kind, job.priority, reward, placed.end))

    def _enter_services(self) -> None:
        for service in self.problem.services:
            for step, gpus in enumerate(self.held[service.id]):
                self.owner[list(gpus), step] = len(self.holders)
            self.holders.append(Holder(service.id, "service", service.priority, 0.0, self.steps))

    def free(self, without: str | None = None) -> Mask:
        """Return the cells that nobody holds; those of `without` count as free too."""
        mine = [index for index, holder in enumerate(self.holders) if holder.id == without]
        mask: Mask = self.owner == FREE
        return mask | (self.owner == mine[0]) if mine else mask

    def counts(self, service: Service) -> npt.NDArray[np.int64]:
        """Return how many GPUs `service` holds at every step, (T,)."""
        return np.array([len(gpus) for gpus in self.held[service.id]], dtype=np.int64)

    def opening(self, job: Job, free: Mask, sizes: tuple[int, ...] | None = None) -> Opening | None:
        """Return the first place for `job` in the cells `free`, the largest size first where several begin together."""
        best: tuple[int, int, int] | None = None
        for size in self.blocks.sizes(job) if sizes is None else sizes:
            found = self._first_place(job, size, free)
            if found is not None and (best is None or (found[0], -size) < (best[0], -best[1])):
                best = (found[0], size, found[1])
        if best is None:
            return None
        start, size, gpu = best
        return Opening(start, start + job.duration_at(size), tuple(range(gpu, gpu + size)))

    def _first_place(self, job: Job, size: int, free: Mask) -> tuple[int, int] | None:
        starts = self.blocks.starts(job, size)
        last = self.last_start(job, size, free.shape[1])
        if last < job.submit or not len(starts):
            return None
        fits = self.places(job, size, free)[:, job.submit : last + 1]
        columns = np.flatnonzero(fits.any(axis=0))
        if not len(columns):
            return None
        return job.submit + int(columns[0]), int(starts[np.argmax(fits[:, columns[0]])])

    def places(self, job: Job, size: int, free: Mask) -> Mask:
        """Return (blocks, T): whether the block is free from that step on for as long as the job takes."""
        starts = self.blocks.starts(job, size).astype(np.int64)
        windows = free_windows(free, job.duration_at(size))
        below = np.zeros((windows.shape[0] + 1, windows.shape[1]), dtype=np.int32)
        np.cumsum(windows, axis=0, out=below[1:])
        mask: Mask = below[starts + size] - below[starts] == size
        return mask

    def last_start(self, job: Job, size: int, steps: int) -> int:
        """Return the last step at which `job` may start in a horizon of `steps` steps; below its submit if none."""
        return steps - (job.duration_at(size) if self.problem.horizon.finish_inside else 1)

    def in_the_way(self, where: Mask, own: str | None = None) -> Iterator[Obstacle]:
        """Yield everyone but `own` who holds cells in `where`, the largest share first."""
        gpus, steps = np.nonzero(where & (self.owner != FREE))
        owners = self.owner[gpus, steps]
        order = np.argsort(owners, kind="stable")
        present, first, sizes = np.unique(owners[order], return_index=True, return_counts=True)
        for share in np.argsort(-sizes, kind="stable"):
            holder = self.holders[present[share]] if present[share] >= 0 else None
            if holder is not None and holder.id == own:
                continue
            mine = order[first[share] : first[share] + sizes[share]]
            named = tuple(int(gpu) for gpu in np.unique(gpus[mine]))
            until = int(steps[mine].max()) + 1
            yield Obstacle(holder, named, int(steps[mine].min()), until, int(sizes[share]))


def free_windows(free: Mask, duration: int) -> Mask:
    """Return (N, T): whether a GPU is free in [t, min(t + duration, T))."""
    steps = free.shape[1]
    busy_before = np.zeros((free.shape[0], steps + 1), dtype=np.int32)
    np.cumsum(~free, axis=1, out=busy_before[:, 1:])
    ends = np.minimum(np.arange(steps) + duration, steps)
    mask: Mask = busy_before[:, ends] == busy_before[:, :-1]
    return mask


def reward_of(problem: Problem, job: Job, start: int, end: int, size: int) -> float:
    """Return what `job` earns on `size` GPUs in [start, end), cut at the horizon."""
    inside = min(end, problem.horizon.steps)
    return job.priority * size * decayed_steps(problem, start, inside) if start < inside else 0.0


def ramp(service: Service, held: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the idle GPUs that the swap cap (R4) makes `service` hold at every step for what it serves, (T,).

    The least curve that serves as much is a(t) = max over τ of served(τ) − cap·|τ − t|.
    """
    served = np.minimum(service.demand, held)
    least = served.copy()
    for step in range(1, len(least)):
        least[step] = max(least[step], least[step - 1] - service.max_swap)
    for step in range(len(least) - 2, -1, -1):
        least[step] = max(least[step], least[step + 1] - service.max_swap)
    return np.asarray(np.minimum(least, held) - served)
