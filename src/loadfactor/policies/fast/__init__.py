"""`fast`: an anytime search around a compiled constructive decoder that can only make legal plans."""

from __future__ import annotations

import time
from dataclasses import dataclass

from loadfactor.model import Plan, Problem
from loadfactor.policies.fast.events import (
    DemandChanged,
    Event,
    GpuFailed,
    JobArrived,
    JobEnded,
    PriorityChanged,
)
from loadfactor.policies.fast.layout import draft_of
from loadfactor.policies.fast.loading import load_compiled_code
from loadfactor.policies.fast.replanning import Replanner
from loadfactor.policies.fast.search import Budget, Search
from loadfactor.policies.fifo import Fifo
from loadfactor.policies.instance import compile_problem
from loadfactor.policies.protocol import DEFAULT_EFFORT, Effort


@dataclass(frozen=True)
class Fast:
    """Plans in milliseconds: counts first, positions second, then ruin and recreate for as long as the budget lasts."""

    name: str = "fast"

    def plan(self, problem: Problem, effort: Effort = DEFAULT_EFFORT) -> Plan:
        """Return a legal plan; with `effort.iterations` it depends on the problem and the seed alone."""
        load_compiled_code()
        began = time.perf_counter()
        instance = compile_problem(problem)
        layout = Search(instance, effort.seed).run(Budget(began, effort.budget_ms, effort.iterations))
        if layout is None:  # a few in 100,000 random problems; peaks reserved in the manner of fifo are legal there
            return Fifo(name=self.name).plan(problem, effort)
        return draft_of(instance, layout).plan(self.name, time.perf_counter() - began)


__all__ = [
    "DemandChanged",
    "Event",
    "Fast",
    "GpuFailed",
    "JobArrived",
    "JobEnded",
    "PriorityChanged",
    "Replanner",
]
