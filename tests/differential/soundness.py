"""What must hold of every plan of every policy on every problem, whoever made it."""

from __future__ import annotations

import json

from loadfactor.judge import claimed_differences, judge
from loadfactor.model import Plan, Problem
from loadfactor.policies.protocol import Effort
from loadfactor.policies.registry import policy

BASELINES = ("fifo", "backfill")
SEARCHES = ("fast", "full")
POLICIES = (*BASELINES, *SEARCHES)
# far above what two sums in another order, or the scaled integers of an exact solver, can differ by
TOLERANCE = 1e-6


def effort(seed: int, iterations: int = 60, time_limit_seconds: float = 5.0) -> Effort:
    """Return an effort that makes `fast` a function of the seed alone, and `full` short."""
    return Effort(iterations=iterations, seed=seed, time_limit_seconds=time_limit_seconds)


def plan_of(name: str, problem: Problem, seed: int, **limits: int) -> Plan:
    """Return the plan of the policy of that name."""
    return policy(name).plan(problem, effort(seed, **limits))


def assert_sound(problem: Problem, plan: Plan, story: str) -> float:
    """Assert that `plan` is legal, claims the truth and survives as a document; return its value as judged."""
    verdict = judge(problem, plan)
    assert verdict.violations == (), f"{story}: {verdict.violations[0]}"
    assert plan.metrics is not None, story
    assert claimed_differences(plan, verdict.metrics) == [], story
    assert plan.problem == problem.name, story
    assert all(entry.reason for entry in plan.unplaced), f"{story}: a job is left out without a reason"
    assert Plan.from_document(json.loads(json.dumps(plan.to_document()))) == plan, story
    return verdict.metrics.value


def margin(value: float) -> float:
    """Return by how much a value as large as this may differ from an equal one."""
    return TOLERANCE * max(1.0, abs(value))
