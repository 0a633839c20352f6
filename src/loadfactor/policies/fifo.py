"""The baselines `fifo` and `backfill`: peak reservation for services, jobs in order of arrival, no regard for worth."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from loadfactor.model import Job, Plan, Problem, Service
from loadfactor.policies.blocks import block_table
from loadfactor.policies.draft import Draft, Gpus
from loadfactor.policies.occupancy import NOWHERE, Bits, earliest_start, empty_grid, set_steps, take
from loadfactor.policies.protocol import DEFAULT_EFFORT, Effort

ORDER = "no block of {size} GPUs is free for {duration} steps behind the jobs that came before"
NO_BLOCK = "no block of its size exists on GPUs that meet its needs"
TOO_LONG = "it cannot end inside the horizon"


@dataclass(frozen=True)
class Fifo:
    """Jobs in order of (submit, position), each at its largest size, none before the one placed before it."""

    name: str = "fifo"
    may_overtake: bool = False

    def plan(self, problem: Problem, effort: Effort = DEFAULT_EFFORT) -> Plan:
        """Return the baseline plan; `effort` changes nothing."""
        began = time.perf_counter()
        grid = _Grid(problem)
        held = grid.reserve_peaks()
        placed, reasons = grid.place_in_order(self.may_overtake)
        draft = Draft(problem, placed, held, reasons)
        return draft.plan(self.name, time.perf_counter() - began)


@dataclass(frozen=True)
class Backfill(Fifo):
    """As `fifo`, but a job may overtake wherever that delays no job placed earlier (conservative backfill)."""

    name: str = "backfill"
    may_overtake: bool = True


class _Grid:
    """The grid while the baseline fills it."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.steps = problem.horizon.steps
        self.blocks = block_table(problem.cluster)
        self.busy: Bits = empty_grid(problem)
        self.closed = self.busy.copy()

    def reserve_peaks(self) -> list[list[Gpus]]:
        """Reserve every service's peak, in file order, and return what each holds at every step."""
        taken = np.any(self.closed != 0, axis=1)
        for service in self.problem.services:
            taken[list(service.held or ())] = True
        return [self._reserve(service, taken) for service in self.problem.services]

    def _reserve(self, service: Service, taken: npt.NDArray[np.bool_]) -> list[Gpus]:
        peak = min(max(service.demand), self.problem.cluster.gpu_count)
        target = peak if service.max_gpus is None else min(peak, service.max_gpus)
        leaving, staying = self._sort_held(service, target)
        free = np.flatnonzero(self.blocks.suitable_gpus(service) & ~taken)
        coming = [int(gpu) for gpu in free[::-1][: max(0, target - len(staying))]]
        taken[coming] = True
        set_steps(self.busy, np.array(coming, dtype=np.int64), 0, self.steps)
        set_steps(self.busy, np.array(staying, dtype=np.int64), 0, self.steps)
        allocation = _timeline(service, leaving, staying, coming, self.steps)
        for gpu in leaving:
            until = sum(gpu in gpus for gpus in allocation)
            set_steps(self.busy, np.array([gpu]), 0, until)
        return allocation

    def _sort_held(self, service: Service, target: int) -> tuple[list[int], list[int]]:
        """Return the held GPUs that must be given back, the most urgent first, and those that stay.

        A GPU that becomes unavailable goes before it does; beyond the target the lowest-numbered go.
        """
        held = service.held or ()
        lost = [(int(self._first_closed(gpu)), gpu) for gpu in held if self.closed[gpu].any()]
        sound = [gpu for gpu in held if not self.closed[gpu].any()]
        surplus = max(0, len(sound) - target)
        return [gpu for _, gpu in sorted(lost)] + sound[:surplus], sound[surplus:]

    def _first_closed(self, gpu: int) -> int:
        return next(step for step in range(self.steps) if int(self.closed[gpu, step >> 6]) >> (step & 63) & 1)

    def place_in_order(self, may_overtake: bool) -> tuple[dict[str, tuple[int, Gpus]], dict[str, str]]:
        """Place running jobs, then the others in order; return the placed ones and why the rest was left out."""
        placed = {job.id: (0, job.running.gpus) for job in self.problem.jobs if job.running}
        reasons: dict[str, str] = {}
        not_before = 0
        for job in sorted((job for job in self.problem.jobs if not job.running), key=lambda job: job.submit):
            sizes = self.blocks.sizes(job)
            if not sizes:
                reasons[job.id] = NO_BLOCK
                continue
            start, gpu = self._place(job, sizes[-1], max(job.submit, not_before))
            if start == NOWHERE:
                reasons[job.id] = self._reason(job, sizes[-1])
                continue
            placed[job.id] = (start, tuple(range(gpu, gpu + sizes[-1])))
            if not may_overtake:
                not_before = start
        return placed, reasons

    def _place(self, job: Job, size: int, first: int) -> tuple[int, int]:
        duration = job.duration_at(size)
        starts = self.blocks.starts(job, size)
        start, gpu = earliest_start(self.busy, starts, size, duration, first, self._last(duration), self.steps)
        if start != NOWHERE:
            take(self.busy, gpu, size, start, min(start + duration, self.steps))
        return start, gpu

    def _last(self, duration: int) -> int:
        return self.steps - (duration if self.problem.horizon.finish_inside else 1)

    def _reason(self, job: Job, size: int) -> str:
        duration = job.duration_at(size)
        if job.submit > self._last(duration):
            return TOO_LONG
        return ORDER.format(size=size, duration=duration)


def _timeline(service: Service, leaving: list[int], staying: list[int], coming: list[int], steps: int) -> list[Gpus]:
    """Return the GPUs held at every step: leavers go first, then the new ones come, `max_swap` a step (R4)."""
    if service.held is None:
        return [tuple(sorted(coming))] * steps
    timeline: list[Gpus] = []
    gone = come = 0
    current = service.held
    for _ in range(steps):
        swappable = service.max_swap
        out = min(swappable, len(leaving) - gone)
        into = min(swappable - out, len(coming) - come)
        if out or into:
            gone, come = gone + out, come + into
            current = tuple(sorted([*leaving[gone:], *staying, *coming[:come]]))
        timeline.append(current)
    return timeline
