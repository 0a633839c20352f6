"""A tiny case, and policies that cheat on it."""

from __future__ import annotations

from dataclasses import dataclass

from loadfactor.bench.measure import Case, Contestant
from loadfactor.model import Plan, Problem
from loadfactor.policies import DEFAULT_EFFORT, Effort, policy

DOCUMENT = {
    "name": "tiny",
    "horizon": {"steps": 6},
    "cluster": {"nodes": [{"name": "node-0", "gpus": 4}]},
    "jobs": [
        {"id": "early", "kind": "training", "priority": 1, "gpus": 4, "duration": 3},
        {"id": "wide", "kind": "batch_inference", "priority": 2, "submit": 1, "gpus": 4, "duration": 2},
        {"id": "urgent", "kind": "quantization", "priority": 9, "submit": 1, "gpus": 2, "duration": 2},
    ],
    "services": [{"id": "chat", "priority": 5, "demand": [0, 0, 0, 0, 0, 1], "max_swap": 1}],
}


def tiny() -> Problem:
    """Return a problem that fifo solves badly."""
    return Problem.from_document(DOCUMENT)


@dataclass(frozen=True)
class Overlapping:
    """Puts all waiting jobs on the same GPUs at the same time."""

    name: str = "overlapping"

    def plan(self, problem: Problem, effort: Effort = DEFAULT_EFFORT) -> Plan:
        """Return a plan that breaks R1."""
        document = policy("fifo").plan(problem, effort).to_document()
        jobs = [
            {"id": job.id, "start": 1, "end": 1 + job.duration_at(job.gpus.max), "gpus": list(range(job.gpus.max))}
            for job in problem.jobs
        ]
        return Plan.from_document(document | {"policy": self.name, "jobs": jobs, "unplaced": [], "metrics": None})


@dataclass(frozen=True)
class Boasting:
    """Makes fifo's plan and claims that nothing better exists than `share` of its value."""

    share: float
    name: str = "boasting"

    def plan(self, problem: Problem, effort: Effort = DEFAULT_EFFORT) -> Plan:
        """Return fifo's plan with a bound of its own making."""
        plan = policy("fifo").plan(problem, effort)
        assert plan.metrics is not None
        return plan.model_copy(update={"policy": self.name, "bound": self.share * plan.metrics.value})


def case_of(*contestants: Contestant) -> Case:
    """Return the tiny case with these contestants."""
    return Case("tiny", tiny, contestants)
