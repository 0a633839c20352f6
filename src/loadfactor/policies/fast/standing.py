"""The plan as it stands, in arrays that events change in place; the mutable half of the incremental form."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from loadfactor.model import Job, Plan, Problem, Service
from loadfactor.policies.catalogue import catalogue_of
from loadfactor.policies.draft import available_cells
from loadfactor.policies.fast.changes import count_bits, hold, in_order, withdraw
from loadfactor.policies.fast.counts import NONE, serve
from loadfactor.policies.fast.evictions import make_way, most_regretted, settle
from loadfactor.policies.fast.filling import count_free, insert_all
from loadfactor.policies.fast.handing import hand_out
from loadfactor.policies.fast.moving import lay_back, lift
from loadfactor.policies.fast.relocate import improve
from loadfactor.policies.fast.search import POSITIONS_HEAT
from loadfactor.policies.fast.unmet import jobs_for_demand
from loadfactor.policies.instance import (
    FIRST_BLOCK,
    FIRST_OPTION,
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
from loadfactor.policies.occupancy import Bits, empty_grid, release, summarise, take

MOST_IN_FOCUS = 8
"""Jobs without a place whose neighbourhoods are searched after an event that frees GPUs."""
CLAIMS = 2
"""Times that jobs make way for the demand of a service at one event."""
CLAIM_TRIES = 3
"""What a claim costs, in tries for a job."""
PATIENCE = 0.5
"""What one try in vain leaves of the weight of a job among those that wait."""


class Standing:
    """Jobs, services and grid of the plan as it stands.

    Invariant: `grid` is what is unavailable or running, the placed jobs and the GPUs of the services (`reserved`), each
    cell from one of them; its summary rows agree with it, `free` (P, T) counts the GPUs that it leaves, and `fixed`
    (N, W) is the grid without the jobs that may still move. Every event keeps all of them by what it changes alone.
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
        self.fixed = i.grid[: len(self.held)].copy()
        self.free = np.empty_like(i.free)
        self.level, self.unmet = np.zeros_like(i.demand), np.zeros(len(i.services))
        self._patience, self._service_patience = np.ones(len(i.jobs)), np.ones(len(i.services))
        self._claims = 0
        self._open = np.repeat(self.catalogue.gpus_of_pool[:, None], i.steps, axis=1)
        self._load(problem, plan)

    def _load(self, problem: Problem, plan: Plan) -> None:
        count_free(self.grid, self.instance.pool_of_gpu, self.free)
        for placement in plan.jobs:
            if placement.id in self.row:
                self._place(self.row[placement.id], placement.start, placement.gpus[0], len(placement.gpus))
        for service, allocation in zip(problem.services, plan.services, strict=True):
            row = self.service_row[service.id]
            self._hold(row, _changes(row, service.held, allocation.gpus))

    def _place(self, row: int, start: int, gpu: int, size: int) -> None:
        for option in range(self.jobs[row, FIRST_OPTION], self.jobs[row, LAST_OPTION]):
            low, high = self.options[option, FIRST_BLOCK], self.options[option, LAST_BLOCK]
            if self.options[option, SIZE] == size and gpu in self.starts[low:high]:
                self._lay_back(np.array([row]), np.array([[option], [start], [gpu]]))
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
        self._patience = np.append(self._patience, 1.0)
        self.names.append(job.id)
        self.row[job.id] = row
        self._insert([row])
        return [row]

    def remove(self, job: Job) -> list[int]:
        """Take a job out of the problem; return the rows of jobs that may gain from it."""
        if job.running is not None:
            for gpu in job.running.gpus:
                self._reopen(gpu, min(job.running.remaining, self.instance.steps))
            return self._left_out()
        row = self.row.pop(job.id)
        self._lift(np.array([row]))
        self.jobs[row, LAST_OPTION] = self.jobs[row, FIRST_OPTION]
        self.names[row] = None
        return self._left_out()

    def _reopen(self, gpu: int, end: int) -> None:
        """Give back what a running job had of a GPU in [0, `end`)."""
        i, node = self.instance, self.instance.node_of_gpu[gpu]
        release(self.grid, gpu, 1, 0, end)
        release(self.fixed, gpu, 1, 0, end)
        self.free[i.pool_of_gpu[gpu], :end] += 1
        summarise(self.grid, i.first_of_node, node, node + 1)

    def reprice(self, job: Job) -> list[int]:
        """Give a job another priority; return the rows whose places may change."""
        if job.id not in self.row:
            return []
        row = self.row[job.id]
        options = slice(self.jobs[row, FIRST_OPTION], self.jobs[row, LAST_OPTION])
        self.reward[options] = job.priority * self.options[options, SIZE]
        self._patience[row] = 1.0
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
            self._service_patience[row] = 1.0
            self._hand_out(row)
            for _ in range(CLAIMS):
                if self.unmet[row] <= 0 or not self._claim(row):
                    break
        return self._left_out()

    def close(self, gpu: int, until_step: int, services: list[Service], holders: list[str]) -> list[int]:
        """Take a GPU out of use in [0, `until_step`); place what it served elsewhere."""
        i, end = self.instance, min(until_step, self.instance.steps)
        moved = self._on(gpu, end)
        self._lift(np.array(moved, dtype=np.int64))
        using = [name for name, row in self.service_row.items() if self.reserved[row, gpu].any()]
        self.held[gpu] = NONE
        for name in using:
            release(self.reserved[self.service_row[name]], gpu, 1, 0, end)
        closed = np.zeros((1, self.grid.shape[1]), dtype=np.uint64)
        take(closed, 0, 1, 0, end)
        self.available_cells -= int(np.bitwise_count(closed[0] & ~self.closed[gpu]).sum())
        for word, added in enumerate(closed[0] & ~self.grid[gpu]):
            count_bits(self.free, i.pool_of_gpu[gpu], word, added, -1)
        for bits in (self.closed, self.fixed, self.grid):
            bits[gpu] |= closed[0]
        summarise(self.grid, i.first_of_node, i.node_of_gpu[gpu], i.node_of_gpu[gpu] + 1)
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
            self.free, self.jobs, self.options, self.reward, self.starts, i.weight, self.random,
            np.array(alive, dtype=np.int64), self.fixed, self.chosen, self.begin, self.where,
        )  # fmt: skip

    def recover(self, tries: int) -> None:
        """Win back what earlier events cost, a little at a time.

        Cheaper jobs make way for the demand that costs most unmet, and for the jobs that lose most by waiting; whoever
        was tried in vain stands back for a while. Each job costs one of the `tries` and each claim `CLAIM_TRIES`, those
        since the last time included, so that an event that claimed much already takes no longer for it.
        """
        tries -= CLAIM_TRIES * self._claims
        unmet = self.unmet * self._service_patience
        if tries >= CLAIM_TRIES and unmet.any():
            row = int(unmet.argmax())
            self._service_patience[row] = 1.0 if self._claim(row) else PATIENCE * self._service_patience[row]
            tries -= CLAIM_TRIES
        self._claims = 0
        for _ in range(tries):
            row = most_regretted(
                self.jobs, self.options, self.reward, self.instance.weight, self.chosen, self.begin, self.where,
                self._patience,
            )  # fmt: skip
            if row == NONE:
                return
            self._patience[row] = 1.0 if self._make_way(row) else PATIENCE * self._patience[row]

    def _insert(self, rows: list[int]) -> None:
        """Place the jobs at their earliest start, the dearest first; force those that would wait."""
        dearest = np.array(sorted(rows, key=lambda row: -self._density(row)), dtype=np.int64)
        i = self.instance
        settle(
            dearest, self.grid, self.fixed, i.node_of_gpu, i.first_of_node, i.pool_of_gpu, self.free, self.jobs,
            self.options, self.reward, self.starts, i.weight, self.chosen, self.begin, self.where,
        )  # fmt: skip

    def _make_way(self, row: int) -> bool:
        """Let cheaper jobs make way for one that waits, where the whole is worth more afterwards; return whether."""
        i = self.instance
        gain = make_way(
            row, self.grid, self.fixed, i.node_of_gpu, i.first_of_node, i.pool_of_gpu, self.free, self.jobs,
            self.options, self.reward, self.starts, i.weight, self.chosen, self.begin, self.where,
        )  # fmt: skip
        return gain > 0

    def _claim(self, row: int) -> bool:
        """Let cheap jobs make way for unmet demand, where the whole is worth more afterwards; return whether."""
        i = self.instance
        self._claims += 1
        missing = self._curve(row, self._open).sum(axis=0) - self.level[row]
        evicted = jobs_for_demand(
            np.maximum(0, missing), self.price[row], i.service_pools[row], i.pool_of_gpu, self.fixed,
            self.reserved[row], self.jobs, self.options, self.reward, i.weight, self.chosen, self.begin, self.where,
        )  # fmt: skip
        return self._exchange(row, evicted)

    def _exchange(self, row: int, evicted: Ints) -> bool:
        """Hand out GPUs to a service before the jobs in `evicted` have theirs; return whether the whole is worth more.

        Where it is not, all is as before.
        """
        changes, before = self.changes[row], self.unmet[row]
        worth, places = self._lift(evicted)
        self._hand_out(row)
        if self._put_back(evicted) - self.unmet[row] > worth - before + 1e-9:
            return True
        self._withdraw(row)
        self._lay_back(evicted, places)
        self._hold(row, changes)
        return False

    def _hand_out(self, row: int) -> None:
        """Give a service GPUs along its curve around everything else, its present ones first."""
        i = self.instance
        self._withdraw(row)
        curves = np.zeros((len(self.services), *self.free.shape), dtype=np.int64)
        curves[row] = self._curve(row, self.free)
        room = 4 * int(np.abs(np.diff(curves[row].sum(axis=0))).sum()) + 4 * len(self.held) + 64
        changes = np.empty((room, 4), dtype=np.int64)
        count = hand_out(
            np.array([row]), curves, self.services, i.service_pools, i.pool_of_gpu, self.held, self.grid, self.reserved,
            changes,
        )  # fmt: skip
        self._hold(row, in_order(changes, count, len(self.services), i.steps))

    def _curve(self, row: int, free: Ints) -> Ints:
        """Return the (P, T) GPUs that the service would hold where `free` (P, T) may serve it."""
        one = slice(row, row + 1)
        curve, rest = np.zeros((1, *free.shape), dtype=np.int64), np.empty_like(free)
        pools = self.instance.service_pools[one]
        serve(self.demand[one], self.services[one], pools, self.kept[one], free, rest, curve)
        found: Ints = curve[0]
        return found

    def _withdraw(self, row: int) -> None:
        """Take the service off the grid; `reserved` still tells what it had."""
        i = self.instance
        withdraw(self.reserved[row], self.grid, self.fixed, i.pool_of_gpu, i.node_of_gpu, i.first_of_node, self.free)

    def _hold(self, row: int, changes: Ints) -> None:
        """Give the service, which is not on the grid, what it holds after `changes`."""
        i = self.instance
        self.changes[row] = changes
        self.reserved[row] = 0
        hold(
            changes, row, self.held, self.level[row], self.reserved[row], self.grid, self.fixed, i.pool_of_gpu,
            i.node_of_gpu, i.first_of_node, self.free,
        )  # fmt: skip
        self.unmet[row] = self.price[row] * np.maximum(0, self.demand[row] - self.level[row]).sum()

    def _on(self, gpu: int, end: int) -> list[int]:
        """Return the jobs that begin on the GPU before step `end`."""
        placed = np.flatnonzero(self.where != NONE)
        first, size = self.where[placed], self.options[self.chosen[placed], SIZE]
        rows: list[int] = placed[(first <= gpu) & (gpu < first + size) & (self.begin[placed] < end)].tolist()
        return rows

    def _lift(self, rows: Ints) -> tuple[float, Ints]:
        """Take jobs off the grid, if they are there; return what they were worth, and what `_lay_back` needs."""
        i, places = self.instance, np.empty((3, len(rows)), dtype=np.int64)
        worth = lift(
            rows, places, self.grid, i.node_of_gpu, i.first_of_node, i.pool_of_gpu, self.free, self.options,
            self.reward, i.weight, self.chosen, self.begin, self.where,
        )  # fmt: skip
        return worth, places

    def _lay_back(self, rows: Ints, places: Ints) -> None:
        """Put jobs at these options, starts and first GPUs, wherever they are by now."""
        i = self.instance
        lay_back(
            rows, places, self.grid, i.node_of_gpu, i.first_of_node, i.pool_of_gpu, self.free, self.options, i.weight,
            self.chosen, self.begin, self.where,
        )  # fmt: skip

    def _put_back(self, rows: Ints) -> float:
        """Place the jobs that are not on the grid at their earliest start, in this order; return what that adds."""
        i = self.instance
        return insert_all(
            rows, self.grid, i.node_of_gpu, i.first_of_node, i.pool_of_gpu, self.free, self.jobs, self.options,
            self.reward, self.starts, i.weight, self.chosen, self.begin, self.where,
        )  # fmt: skip

    def _density(self, row: int) -> float:
        option = int(self.jobs[row, FIRST_OPTION])
        return 0.0 if option == self.jobs[row, LAST_OPTION] else float(self.reward[option] / self.options[option, SIZE])

    def _left_out(self) -> list[int]:
        """Return the dearest of the jobs that have no place, which a change of the grid may help."""
        waiting = np.flatnonzero((self.where == NONE) & (self.jobs[:, FIRST_OPTION] < self.jobs[:, LAST_OPTION]))
        options = self.jobs[waiting, FIRST_OPTION]
        density = self.reward[options] / self.options[options, SIZE]
        rows: list[int] = waiting[np.argsort(-density, kind="stable")[:MOST_IN_FOCUS]].tolist()
        return rows


def _closed(problem: Problem) -> Bits:
    """Return the (N, W) bits of the unavailable cells alone."""
    return empty_grid(problem.replace(jobs=()))


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
