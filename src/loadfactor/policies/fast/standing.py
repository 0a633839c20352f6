"""The plan as it stands, in arrays that events change in place; the mutable half of the incremental form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from loadfactor.model import Job, Plan, Problem, Service
from loadfactor.policies.catalogue import catalogue_of
from loadfactor.policies.draft import available_cells
from loadfactor.policies.fast.changes import in_order, mark
from loadfactor.policies.fast.curves import NONE, serve
from loadfactor.policies.fast.evictions import EVICTION_TRIES, MAKING_WAY, cheapest_at, cheapest_evictions
from loadfactor.policies.fast.filling import count_free, insert_all, total_worth
from loadfactor.policies.fast.handing import hand_out
from loadfactor.policies.fast.relocate import improve
from loadfactor.policies.fast.search import POSITIONS_HEAT
from loadfactor.policies.instance import (
    DURATION,
    FIRST_BLOCK,
    FIRST_OPTION,
    HELD,
    LAST_BLOCK,
    LAST_OPTION,
    LAST_START,
    SIZE,
    SUBMIT,
    Ints,
    compile_problem,
    kept_gpus,
    options_of_job,
    service_row,
)
from loadfactor.policies.occupancy import Bits, empty_grid, release, release_block, summarise, take


@dataclass
class _Saved:
    """What a try may change, kept to go back to."""

    grid: Bits
    reserved: Bits | None
    """Only where the try may change it."""
    chosen: Ints
    begin: Ints
    where: Ints
    changes: list[Ints]


class Standing:
    """Jobs, services and grid of the plan as it stands.

    Invariant: `grid` is what is unavailable or running, the placed jobs and the GPUs of the services (`reserved`), each
    cell from one of them; its summary rows agree with it.
    """

    def __init__(self, problem: Problem, plan: Plan, seed: int) -> None:
        i = compile_problem(problem)
        self.instance = i
        self.catalogue = catalogue_of(problem)
        self.inside = problem.horizon.finish_inside
        self.penalty = problem.objective.realtime_penalty
        self.jobs, self.options, self.reward = i.jobs.copy(), i.options.copy(), i.reward.copy()
        self.services, self.demand, self.price = i.services.copy(), i.demand.copy(), i.price.copy()
        self.held, self.kept, self.starts = i.held.copy(), i.kept.copy(), i.starts
        self.names: list[str | None] = [job.id for job in i.waiting]
        self.row = {job.id: row for row, job in enumerate(i.waiting)}
        self.service_row = {service.id: row for row, service in enumerate(problem.services)}
        self.random = np.array([2 * seed + 0x9E3779B97F4A7C15], dtype=np.uint64)
        self.grid = i.grid.copy()
        self.reserved = np.zeros((len(i.services), len(i.pool_of_gpu), i.grid.shape[1]), dtype=np.uint64)
        self.chosen, self.begin, self.where = (np.full(len(i.jobs), NONE, dtype=np.int64) for _ in range(3))
        self.closed = _closed(problem)
        self.available_cells = available_cells(problem)
        self.changes = [np.empty((0, 4), dtype=np.int64) for _ in problem.services]
        self._fixed: Bits | None = None
        self._load(problem, plan)

    def _load(self, problem: Problem, plan: Plan) -> None:
        for placement in plan.jobs:
            if placement.id in self.row:
                self._place(self.row[placement.id], placement.start, placement.gpus[0], len(placement.gpus))
        for service, allocation in zip(problem.services, plan.services, strict=True):
            row = self.service_row[service.id]
            self.changes[row] = _changes(row, service.held, allocation.gpus)
            self._mark(row)
        self._summarise()

    def _place(self, row: int, start: int, gpu: int, size: int) -> None:
        for option in range(self.jobs[row, FIRST_OPTION], self.jobs[row, LAST_OPTION]):
            low, high = self.options[option, FIRST_BLOCK], self.options[option, LAST_BLOCK]
            if self.options[option, SIZE] == size and gpu in self.starts[low:high]:
                self.chosen[row], self.begin[row], self.where[row] = option, start, gpu
                end = min(start + int(self.options[option, DURATION]), self.instance.steps)
                take(self.grid, gpu, size, start, end)
                return

    def add(self, job: Job) -> list[int]:
        """Add a waiting job and place it where it fits; return its row."""
        i = self.instance
        first = len(self.options)
        rows = options_of_job(job, i.steps, self.inside, self.catalogue)
        fitting = [option for option in rows if option[LAST_START] >= job.submit]
        self.starts = self.catalogue.starts
        if fitting:
            self.options = np.concatenate([self.options, np.array(fitting, dtype=np.int64)])
            self.reward = np.concatenate([self.reward, [job.priority * option[SIZE] for option in fitting]])
        row = len(self.jobs)
        added = np.array([[min(job.submit, i.steps), first, first + len(fitting)]], dtype=np.int64)
        self.jobs = np.concatenate([self.jobs, added])
        self.chosen, self.begin, self.where = (
            np.append(column, NONE) for column in (self.chosen, self.begin, self.where)
        )
        self.names.append(job.id)
        self.row[job.id] = row
        self._insert([row])
        return [row]

    def remove(self, job: Job) -> list[int]:
        """Take a job out of the problem; return the rows of jobs that may gain from it."""
        i = self.instance
        if job.running is not None:
            for gpu in job.running.gpus:
                release(self.grid, gpu, 1, 0, min(job.running.remaining, i.steps))
            self._summarise()
            return self._left_out()
        row = self.row.pop(job.id)
        self._lift(row)
        self.jobs[row, LAST_OPTION] = self.jobs[row, FIRST_OPTION]
        self.names[row] = None
        return self._left_out()

    def reprice(self, job: Job) -> list[int]:
        """Give a job another priority; return the rows whose places may change."""
        if job.id not in self.row:
            return []
        row = self.row[job.id]
        options = slice(self.jobs[row, FIRST_OPTION], self.jobs[row, LAST_OPTION])
        self.reward[options] = job.priority * self.options[options, SIZE]
        if self.where[row] == NONE or self.begin[row] > self.jobs[row, SUBMIT]:
            self._make_way(row)
        return [row]

    def serve_again(self, services: list[Service], names: Iterable[str]) -> list[int]:
        """Hand out GPUs anew to the named services; where they fall short, let cheaper jobs make way."""
        for name in names:
            row = self.service_row[name]
            service = services[row]
            self.services[row] = service_row(service, len(self.held), self.catalogue)
            self.kept[row] = kept_gpus(service, self.closed, self.catalogue, self.instance.steps)
            self.demand[row] = service.demand
            self.price[row] = self.penalty * service.priority
            self._hand_out(row)
            self._claim(row)
        return self._left_out()

    def close(self, gpu: int, until_step: int, services: list[Service], holders: list[str]) -> list[int]:
        """Take a GPU out of use in [0, `until_step`); place what it served elsewhere."""
        end = min(until_step, self.instance.steps)
        moved = self._on(gpu, end)
        for row in moved:
            self._lift(row)
        using = [name for name, row in self.service_row.items() if self.reserved[row, gpu].any()]
        if self.held[gpu] != NONE:
            self.held[gpu] = NONE
        for name in using:
            release(self.reserved[self.service_row[name]], gpu, 1, 0, end)
        closed = np.zeros((1, self.grid.shape[1]), dtype=np.uint64)
        take(closed, 0, 1, 0, end)
        self.available_cells -= int(np.bitwise_count(closed[0] & ~self.closed[gpu]).sum())
        self.closed[gpu] |= closed[0]
        self.fixed()[gpu] |= closed[0]
        self.grid[gpu] |= closed[0]
        self._summarise()
        focus = self.serve_again(services, dict.fromkeys([*using, *holders]))
        self._insert(moved)
        return [*moved, *focus]

    def improve(self, focus: list[int], rounds: int) -> None:
        """Take the neighbourhoods of the jobs in `focus` apart and put them back where that is worth more."""
        alive = [row for row in focus if self.names[row] is not None]
        if not alive or rounds < 1:
            return
        i = self.instance
        improve(
            rounds, POSITIONS_HEAT * i.mean_worth * 0.01, 1.0, self.grid, i.node_of_gpu, i.first_of_node, i.pool_of_gpu,
            _NO_COUNTS, self.jobs, self.options, self.reward, self.starts, i.weight, self.random,
            np.array(alive, dtype=np.int64), self.fixed(), self.chosen, self.begin, self.where,
        )  # fmt: skip

    def fixed(self) -> Bits:
        """Return the (N, W) bits that no job may have: closed GPUs, running work and what services hold."""
        if self._fixed is None:
            self._fixed = self.instance.grid[: len(self.held)] | self.closed
            for reserved in self.reserved:
                self._fixed |= reserved
        return self._fixed

    def _insert(self, rows: list[int]) -> None:
        """Place the jobs at their earliest start, the dearest first; force those that would wait."""
        dearest = sorted(rows, key=lambda row: -self._density(row))
        self._put_back(dearest)
        for row in dearest:
            if self.where[row] == NONE or self.begin[row] > self.jobs[row, SUBMIT]:
                self._make_way(row)

    def _make_way(self, row: int) -> None:
        """Let cheaper jobs make way for one that waits, where the whole is worth more afterwards."""
        for evicted in cheapest_evictions(self, row):
            saved = self._save(services=False)
            before = self.worth()
            if self.where[row] != NONE:
                self._lift(row)
            for other in evicted:
                self._lift(other)
            self._put_back([row, *sorted(evicted, key=lambda other: -self._density(other))])
            if self.worth() > before + 1e-9:
                return
            self._restore(saved)

    def _claim(self, row: int) -> None:
        """Let cheap jobs make way for demand that is unmet, where the whole is worth more afterwards."""
        for _ in range(EVICTION_TRIES):
            missing = self.demand[row] - self._holding(row)
            step = int(missing.argmax())
            if missing[step] <= 0:
                return
            evicted = cheapest_at(self, row, step, int(missing[step]))
            if not evicted:
                return
            saved, before = self._save(services=True), self.worth() - self._unmet(row)
            for other in evicted:
                self._lift(other)
            self._hand_out(row)
            self._put_back(evicted)
            if self.worth() - self._unmet(row) <= before + 1e-9:
                self._restore(saved)
                return

    def _hand_out(self, row: int) -> None:
        """Give a service GPUs along its curve around everything else, its present ones first."""
        i = self.instance
        self.grid[: len(self.held)] &= ~self.reserved[row]
        free = np.empty_like(i.free)
        count_free(self.grid, i.pool_of_gpu, free)
        one = slice(row, row + 1)
        curve, rest = np.zeros((1, *free.shape), dtype=np.int64), np.empty_like(free)
        serve(self.demand[one], self.services[one], i.service_pools[one], self.kept[one], free, rest, curve)
        curves = np.zeros((len(self.services), *free.shape), dtype=np.int64)
        curves[row] = curve[0]
        room = 4 * int(np.abs(np.diff(curve[0].sum(axis=0))).sum()) + 4 * len(self.held) + 64
        changes = np.empty((room, 4), dtype=np.int64)
        count = hand_out(
            np.array([row]), curves, self.services, i.service_pools, i.pool_of_gpu, self.held, self.grid, self.reserved,
            changes,
        )  # fmt: skip
        self.changes[row] = in_order(changes, count, len(self.services), i.steps)
        self._mark(row)
        self._summarise()

    def _mark(self, row: int) -> None:
        """Let `reserved` and the grid say what the service holds after its changes."""
        fixed = self.fixed()
        fixed &= ~self.reserved[row]
        self.reserved[row] = 0
        mark(self.changes[row], row, self.held, self.instance.steps, self.reserved[row])
        self.grid[: len(self.held)] |= self.reserved[row]
        fixed |= self.reserved[row]

    def _holding(self, row: int) -> Ints:
        """Return how many GPUs the service holds at every step."""
        gained = np.zeros(self.instance.steps, dtype=np.int64)
        np.add.at(gained, self.changes[row][:, 1], self.changes[row][:, 3])
        holding: Ints = max(0, int(self.services[row, HELD])) + np.cumsum(gained)
        return holding

    def _unmet(self, row: int) -> float:
        return float(self.price[row] * np.maximum(0, self.demand[row] - self._holding(row)).sum())

    def _on(self, gpu: int, end: int) -> list[int]:
        """Return the jobs that begin on the GPU before step `end`."""
        placed = np.flatnonzero(self.where != NONE)
        first, size = self.where[placed], self.options[self.chosen[placed], SIZE]
        rows: list[int] = placed[(first <= gpu) & (gpu < first + size) & (self.begin[placed] < end)].tolist()
        return rows

    def _lift(self, row: int) -> None:
        """Take a job off the grid, if it is there."""
        if self.where[row] == NONE:
            return
        i = self.instance
        size = int(self.options[self.chosen[row], SIZE])
        end = min(int(self.begin[row] + self.options[self.chosen[row], DURATION]), i.steps)
        release_block(self.grid, i.node_of_gpu, i.first_of_node, int(self.where[row]), size, int(self.begin[row]), end)
        self.chosen[row] = self.begin[row] = self.where[row] = NONE

    def _put_back(self, rows: list[int]) -> None:
        """Place the jobs that are not on the grid at their earliest start, in this order."""
        i = self.instance
        insert_all(
            np.array(rows, dtype=np.int64), self.grid, i.node_of_gpu, i.first_of_node, i.pool_of_gpu, _NO_COUNTS,
            self.jobs, self.options, self.reward, self.starts, i.weight, self.chosen, self.begin, self.where,
        )  # fmt: skip

    def _save(self, services: bool) -> _Saved:
        reserved = self.reserved.copy() if services else None
        jobs = (self.chosen.copy(), self.begin.copy(), self.where.copy())
        return _Saved(self.grid.copy(), reserved, *jobs, list(self.changes))

    def _restore(self, saved: _Saved) -> None:
        if saved.reserved is not None:
            self.reserved, self._fixed = saved.reserved, None
        self.grid, self.changes = saved.grid, saved.changes
        self.chosen, self.begin, self.where = saved.chosen, saved.begin, saved.where

    def worth(self) -> float:
        """Return what all placed jobs earn."""
        i = self.instance
        return float(total_worth(self.options, self.reward, i.weight, self.chosen, self.begin, self.where))

    def _density(self, row: int) -> float:
        option = int(self.jobs[row, FIRST_OPTION])
        return 0.0 if option == self.jobs[row, LAST_OPTION] else float(self.reward[option] / self.options[option, SIZE])

    def _left_out(self) -> list[int]:
        """Return the dearest of the jobs that have no place, which a change of the grid may help."""
        waiting = np.flatnonzero((self.where == NONE) & (self.jobs[:, FIRST_OPTION] < self.jobs[:, LAST_OPTION]))
        options = self.jobs[waiting, FIRST_OPTION]
        density = self.reward[options] / self.options[options, SIZE]
        rows: list[int] = waiting[np.argsort(-density, kind="stable")[:MAKING_WAY]].tolist()
        return rows

    def _summarise(self) -> None:
        i = self.instance
        summarise(self.grid, i.first_of_node, 0, len(i.first_of_node) - 1)


def _closed(problem: Problem) -> Bits:
    """Return the (N, W) bits of the unavailable cells alone."""
    return empty_grid(problem.replace(jobs=()))


_NO_COUNTS = np.empty((0, 0), dtype=np.int64)


def _changes(row: int, held: tuple[int, ...] | None, allocation: Iterable[tuple[int, ...]]) -> Ints:
    """Return the changes that lead from `held` through the GPUs of every step."""
    changes: list[tuple[int, int, int, int]] = []
    before = held or ()
    for step, gpus in enumerate(allocation):
        if gpus is not before and gpus != before:
            now, then = set(gpus), set(before)
            changes += [(row, step, gpu, -1) for gpu in sorted(then - now)]
            changes += [(row, step, gpu, 1) for gpu in sorted(now - then)]
            before = gpus
    return np.array(changes, dtype=np.int64).reshape(-1, 4)
