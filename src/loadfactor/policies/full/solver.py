"""One call to CP-SAT: limits and callbacks in, a status and values out."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from ortools.sat.python import cp_model

LEAST_SECONDS = 0.01


@dataclass(frozen=True)
class Limits:
    """How long and with what a solver may search."""

    seconds: float
    seed: int
    workers: int
    linearization: int = 2
    """CP-SAT's linearization level: 0 leaves everything to clauses, which proves soonest that nothing fits."""
    quick: bool = False
    """Skip what pays off in long searches only."""
    first: bool = False
    """Stop at the first solution."""


@dataclass(frozen=True)
class Outcome:
    """What a search found. `values` is empty where it found no solution; `bound` is in units of the objective."""

    status: cp_model.CpSolverStatus
    values: list[int]
    bound: float
    core: list[int]
    objective: float = 0.0
    """What the solution is worth, in units of the objective."""

    @property
    def solved(self) -> bool:
        """Whether there is a solution, proven best or not."""
        return self.status in (cp_model.OPTIMAL, cp_model.FEASIBLE)

    @property
    def proven(self) -> bool:
        """Whether the search came to its end."""
        return self.status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that there is no solution."""
        return self.status == cp_model.INFEASIBLE


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def solve(model: cp_model.CpModel, limits: Limits, on_bound: Callable[[float], None] | None = None) -> Outcome:
    """Search `model` within `limits`; `on_bound` hears every better bound on the objective."""
    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.max_time_in_seconds = max(LEAST_SECONDS, limits.seconds)
    parameters.num_workers = limits.workers
    parameters.random_seed = limits.seed & 0x7FFFFFFF
    parameters.linearization_level = limits.linearization
    parameters.stop_after_first_solution = limits.first
    if limits.quick:
        parameters.cp_model_probing_level = 0
        parameters.symmetry_level = 0
    if on_bound is not None:
        solver.best_bound_callback = on_bound
    status = solver.solve(model)
    solved = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return Outcome(
        status=status,
        values=list(solver.response_proto.solution) if solved else [],
        bound=solver.best_objective_bound,
        objective=solver.objective_value if solved else 0.0,
        core=list(solver.sufficient_assumptions_for_infeasibility()) if status == cp_model.INFEASIBLE else [],
    )
