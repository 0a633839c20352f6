"""The linear relaxation of a problem in counts: an upper bound on its value, and the price of a GPU at every step.

    maximise  Σ reward(job, size, start) · x(job, size, start) − Σ penalty(service) · shortfall(service, t)
    each job at most once:      Σ_{size, start} x ≤ 1
    capacity (R1, in counts):   Σ_groups use(group, pool, t) ≤ GPUs of the pool that are available at t and not held by
                                running jobs
    use covers what is active:  Σ_pools use(group, pool, t) ≥ GPUs that the jobs and services of the group hold at t
    swap cap (R4, in counts):   |held(service, t) − held(service, t − 1)| ≤ max_swap

A pool is all GPUs of one type and memory; a group, all jobs and services that suit the same pools. Positions (R3) are
left out, jobs may be split, and a job may pass from pool to pool: every legal plan is a solution of the same value, so
the optimum is an upper bound. Its dual price of the capacity of a pool at a step is what one more GPU of that pool for
that step alone would add to the optimum (see any text on linear programming; e.g. Chvátal 1983, chapter 5).

Where a step is exactly full its price is not unique: what a GPU more brings and what a GPU less takes differ, and every
number between them is a dual price. We want the former, so the capacities are nudged upwards by a thousandth of a GPU:
among the optimal prices that picks those of the least sum, which is the gain from more of every pool at every step. The
value is that of the unnudged problem (the dual objective at its capacities).

It is solved by GLOP. HiGHS would do as well, but OR-Tools 9.15 hands back the activity of a row for its dual price when
HiGHS solved the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from ortools.linear_solver.python import model_builder

from loadfactor.model import Job, Problem, Service
from loadfactor.policies.blocks import block_table
from loadfactor.policies.draft import decayed_steps, unavailable_cells

Floats = npt.NDArray[np.float64]
PoolKey = tuple[str | None, float | None]
Group = tuple[int, ...]
NUDGE = 1e-3
"""GPUs added to every capacity, so that the prices are those of more GPUs and not of fewer."""
MOST_ENTRIES = 1_000_000
"""Larger models (in entries of the matrix) are not solved: building this many takes some ten seconds."""


@dataclass(frozen=True)
class Relaxation:
    """The optimum of the relaxation and its prices, of shape (pools, T); `pools` says which row is which."""

    value: float
    pools: tuple[PoolKey, ...]
    prices: Floats


def relax(problem: Problem, time_limit_seconds: float = 30.0, extra: Floats | None = None) -> Relaxation | None:
    """Return the solved relaxation, or None where it is too large or the time does not suffice.

    `extra`, of shape (pools, T), is capacity added to every pool and step, for what-if questions.
    """
    model = _Model(problem, extra)
    if model.entries() > MOST_ENTRIES:
        return None
    model.build()
    solver = model_builder.Solver("glop")
    solver.set_time_limit_in_seconds(time_limit_seconds)
    if solver.solve(model.model) != model_builder.SolveStatus.OPTIMAL:
        return None
    # a maximum's price of a "≤" row is not negative; GLOP returns rounding errors around 0
    prices = np.array([[max(0.0, solver.dual_value(row)) for row in rows] for rows in model.capacity_rows])
    return Relaxation(float(solver.objective_value - NUDGE * prices.sum()), tuple(model.pools), prices)


def pools_of(problem: Problem) -> list[PoolKey]:
    """Return the pools of the cluster in the order of their first node."""
    return list(dict.fromkeys((node.gpu_type, node.gpu_memory_gib) for node in problem.cluster.nodes))


class _Model:
    """The model while it is built, one method for each family of constraints."""

    def __init__(self, problem: Problem, extra: Floats | None) -> None:
        self.problem = problem
        self.steps = problem.horizon.steps
        self.table = block_table(problem.cluster)
        self.pools = pools_of(problem)
        self.extra = extra
        self.model: Any = model_builder.Model()  # type: ignore[no-untyped-call]
        self.objective: list[Any] = []
        self.active: dict[Group, list[list[Any]]] = {}
        self.capacity_rows: list[list[Any]] = []
        self.constant = 0.0

    def entries(self) -> int:
        """Return about how many entries the matrix will have."""
        jobs = sum(
            max(0, last - job.submit + 1) * (1 + min(job.duration_at(size), self.steps))
            for job in self._waiting()
            for size, last in self._sizes(job)
        )
        return jobs + 8 * len(self.problem.services) * self.steps + 2 * len(self.pools) * self.steps

    def build(self) -> None:
        """Add every variable and constraint."""
        self._reward_of_running()
        for job in self._waiting():
            self._job_at_most_once(job)
        for service in self.problem.services:
            self._service_within_swap_cap(service)
        self._capacity()
        self.model.maximize(sum(self.objective) + self.constant)

    def _waiting(self) -> Iterator[Job]:
        return (job for job in self.problem.jobs if job.running is None)

    def _sizes(self, job: Job) -> Iterator[tuple[int, int]]:
        """Yield every size of `job` and the last step at which it may start on it."""
        for size in self.table.sizes(job):
            yield size, self.steps - (job.duration_at(size) if self.problem.horizon.finish_inside else 1)

    def _reward_of_running(self) -> None:
        for job in self.problem.jobs:
            if job.running is not None:
                end = min(job.running.remaining, self.steps)
                self.constant += job.priority * len(job.running.gpus) * decayed_steps(self.problem, 0, end)

    def _job_at_most_once(self, job: Job) -> None:
        active, chosen = self._active(job), []
        for size, last in self._sizes(job):
            for start in range(job.submit, last + 1):
                end = min(start + job.duration_at(size), self.steps)
                share = self.model.new_num_var(0.0, 1.0, "")
                chosen.append(share)
                self.objective.append(job.priority * size * decayed_steps(self.problem, start, end) * share)
                for step in range(start, end):
                    active[step].append(size * share)
        if chosen:
            self.model.add(sum(chosen) <= 1.0)

    def _service_within_swap_cap(self, service: Service) -> None:
        active = self._active(service)
        # no bound by the cluster's size here: the capacity must bind, or its price would be hidden
        most = np.inf if service.max_gpus is None else float(service.max_gpus)
        price = self.problem.objective.realtime_penalty * service.priority
        before: Any = None if service.held is None else float(len(service.held))
        for step, demand in enumerate(service.demand):
            held = self.model.new_num_var(0.0, most, "")
            shortfall = self.model.new_num_var(0.0, float(demand), "")
            self.model.add(held + shortfall >= float(demand))
            self.objective.append(-price * shortfall)
            active[step].append(held)
            if before is not None:
                self.model.add(held - before <= float(service.max_swap))
                self.model.add(before - held <= float(service.max_swap))
            before = held

    def _active(self, workload: Job | Service) -> list[list[Any]]:
        return self.active.setdefault(self._group(workload), [[] for _ in range(self.steps)])

    def _group(self, workload: Job | Service) -> Group:
        suitable = self.table.suitable_nodes(workload)
        nodes = self.problem.cluster.nodes
        keys = {(node.gpu_type, node.gpu_memory_gib) for node, suits in zip(nodes, suitable, strict=True) if suits}
        return tuple(index for index, pool in enumerate(self.pools) if pool in keys)

    def _capacity(self) -> None:
        used: list[list[list[Any]]] = [[[] for _ in range(self.steps)] for _ in self.pools]
        for group, active in self.active.items():
            for step, terms in enumerate(active):
                if terms:
                    uses = [self.model.new_num_var(0.0, np.inf, "") for _ in group]
                    self.model.add(sum(uses) >= sum(terms))
                    for pool, use in zip(group, uses, strict=True):
                        used[pool][step].append(use)
        for pool, capacity in enumerate(self.capacity):
            rows = [
                self.model.add(sum(terms, start=0.0 * self._nothing) <= float(capacity[step]))
                for step, terms in enumerate(used[pool])
            ]
            self.capacity_rows.append(rows)

    @cached_property
    def _nothing(self) -> Any:
        """A variable that is always 0, so that a step without any use still has a row, and a price of 0."""
        return self.model.new_num_var(0.0, 0.0, "")

    @cached_property
    def capacity(self) -> Floats:
        """The GPUs of every pool that are available at every step and not held by running jobs, (pools, T)."""
        taken = unavailable_cells(self.problem)
        for job in self.problem.jobs:
            if job.running is not None:
                taken[list(job.running.gpus), : job.running.remaining] = True
        cluster = self.problem.cluster
        pool_of_node = [self.pools.index((node.gpu_type, node.gpu_memory_gib)) for node in cluster.nodes]
        pool_of_gpu = np.repeat(pool_of_node, [node.gpus for node in cluster.nodes])
        free = np.stack([(~taken[pool_of_gpu == pool]).sum(axis=0) for pool in range(len(self.pools))]).astype(float)
        return free + NUDGE if self.extra is None else free + NUDGE + self.extra
