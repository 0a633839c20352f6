"""The peer of the benchmark: one straightforward CP-SAT model, a variable a position and a variable a GPU and step."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from math import ceil, floor

from ortools.sat.python import cp_model

from loadfactor.model import Job, Plan, Problem, Service
from loadfactor.policies.blocks import block_table
from loadfactor.policies.draft import Draft, Gpus, decayed_steps, unavailable_cells
from loadfactor.policies.protocol import DEFAULT_EFFORT, Effort

UNITS = 2**20
"""Integer units in one unit of value; rewards are rounded up and penalties down, so that the bound holds."""
OPTIMAL_TOLERANCE = 1e-6


@dataclass(frozen=True)
class SingleModel:
    """A variable for every (job, size, start, first GPU) and every (service, GPU, step), solved in one call."""

    name: str = "single-model"

    def plan(self, problem: Problem, effort: Effort = DEFAULT_EFFORT) -> Plan:
        """Return the plan that the solver found; where it found none, that of `fifo` without a bound."""
        began = time.perf_counter()
        model = _Model(problem)
        solver = cp_model.CpSolver()
        left = effort.time_limit_seconds - (time.perf_counter() - began)
        solver.parameters.max_time_in_seconds = max(0.01, left)
        solver.parameters.random_seed = effort.seed & 0x7FFFFFFF
        status = solver.solve(model.model)
        solved = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
        draft = model.draft(solver if solved else None)
        value = draft.metrics.value
        if not solved:
            return draft.plan(self.name, time.perf_counter() - began)
        bound = max(value, solver.best_objective_bound / UNITS + model.inherited)
        optimal = value >= bound - OPTIMAL_TOLERANCE * max(1.0, abs(bound))
        return draft.plan(self.name, time.perf_counter() - began, bound, optimal)


class _Model:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.steps = problem.horizon.steps
        self.model = cp_model.CpModel()
        self.closed = unavailable_cells(problem)
        self.inherited = 0.0
        for job in problem.jobs:
            if job.running:
                self.closed[list(job.running.gpus), : job.running.remaining] = True
                end = min(job.running.remaining, self.steps)
                self.inherited += job.priority * len(job.running.gpus) * decayed_steps(problem, 0, end)
        self.table = block_table(problem.cluster)
        self.cells: dict[tuple[int, int], list[cp_model.IntVar]] = defaultdict(list)
        self.objective: list[tuple[cp_model.IntVar, int]] = []
        self.placed: dict[tuple[str, int, int, int], cp_model.IntVar] = {}
        for job in problem.jobs:
            if job.running is None:
                self._r2_r3_r5_job(job)
        self.held = [self._service(service) for service in problem.services]
        self._r1_one_holder_per_gpu()
        self.model.maximize(sum(weight * variable for variable, weight in self.objective))

    def _r2_r3_r5_job(self, job: Job) -> None:
        """One block of one size at one start, or none."""
        mine = []
        for size in self.table.sizes(job):
            duration = job.duration_at(size)
            last = self.steps - (duration if self.problem.horizon.finish_inside else 1)
            for start in range(job.submit, last + 1):
                end = min(start + duration, self.steps)
                units = ceil(UNITS * job.priority * size * decayed_steps(self.problem, start, end))
                for first in self.table.starts(job, size).tolist():
                    variable = self.model.new_bool_var("")
                    mine.append(variable)
                    self.placed[job.id, size, start, first] = variable
                    self.objective.append((variable, units))
                    for gpu in range(first, first + size):
                        for step in range(start, end):
                            self.cells[gpu, step].append(variable)
        self.model.add_at_most_one(mine)

    def _service(self, service: Service) -> list[dict[int, cp_model.IntVar]]:
        suitable = self.table.suitable_gpus(service).nonzero()[0].tolist()
        price = floor(UNITS * self.problem.objective.realtime_penalty * service.priority)
        before: dict[int, cp_model.IntVar | int] | None = None
        if service.held is not None:
            before = {gpu: int(gpu in service.held) for gpu in suitable}
        held = []
        for step, demand in enumerate(service.demand):
            now = {gpu: self.model.new_bool_var("") for gpu in suitable}
            for gpu, variable in now.items():
                self.cells[gpu, step].append(variable)
            shortfall = self.model.new_int_var(0, demand, "")
            self.model.add(sum(now.values()) + shortfall >= demand)
            self.objective.append((shortfall, -price))
            if service.max_gpus is not None:
                self.model.add(sum(now.values()) <= service.max_gpus)
            if before is not None:
                self._r4_swap_cap(before, now, service.max_swap)
            before = dict(now)
            held.append(now)
        return held

    def _r4_swap_cap(self, before: dict[int, cp_model.IntVar | int], now: dict[int, cp_model.IntVar], cap: int) -> None:
        swaps = []
        for gpu, variable in now.items():
            swapped = self.model.new_bool_var("")
            self.model.add(swapped >= variable - before[gpu])
            self.model.add(swapped >= before[gpu] - variable)
            swaps.append(swapped)
        self.model.add(sum(swaps) <= cap)

    def _r1_one_holder_per_gpu(self) -> None:
        for (gpu, step), holders in self.cells.items():
            if self.closed[gpu, step]:
                for holder in holders:
                    self.model.add(holder == 0)
            else:
                self.model.add_at_most_one(holders)

    def draft(self, solver: cp_model.CpSolver | None) -> Draft:
        """Return the decisions of the solution; without one, those of `fifo`."""
        placed: dict[str, tuple[int, Gpus]] = {j.id: (0, j.running.gpus) for j in self.problem.jobs if j.running}
        if solver is None:
            from loadfactor.policies.fifo import Fifo

            plan = Fifo().plan(self.problem)
            placed = {placement.id: (placement.start, placement.gpus) for placement in plan.jobs}
            return Draft(self.problem, placed, [allocation.gpus for allocation in plan.services])
        for (job, size, start, first), variable in self.placed.items():
            if solver.value(variable):
                placed[job] = (start, tuple(range(first, first + size)))
        held = [
            [tuple(gpu for gpu, variable in step.items() if solver.value(variable)) for step in service]
            for service in self.held
        ]
        return Draft(self.problem, placed, held)
