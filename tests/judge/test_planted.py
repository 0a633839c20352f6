"""Random legal plans are legal; a plan broken in one way trips exactly that rule, for every way there is."""

from __future__ import annotations

from collections import Counter
from math import isclose
from random import Random

import pytest

from loadfactor.judge import Verdict, judge
from loadfactor.model import Plan, Problem
from tests.support.breaking import VARIETIES, break_plan
from tests.support.cells import cells_of, closed_cells
from tests.support.generators import SMALL, TINY, Shape, random_problem
from tests.support.legal_plans import random_legal_plan

SEEDS = range(150)
BROKEN_SEEDS = range(60)


@pytest.mark.parametrize("shape", [TINY, SMALL], ids=["tiny", "small"])
def test_random_legal_plans_are_legal(shape: Shape) -> None:
    for seed in SEEDS:
        problem = random_problem(seed, shape)
        plan = random_legal_plan(problem, Random(seed))
        verdict = judge(problem, plan)
        assert verdict.violations == (), f"seed {seed}"
        assert_metrics_cell_by_cell(problem, plan, verdict)


def assert_metrics_cell_by_cell(problem: Problem, plan: Plan, verdict: Verdict) -> None:
    """Compare the metrics of a legal plan with sums over single cells."""
    steps, objective = problem.horizon.steps, problem.objective
    priority = {job.id: job.priority for job in problem.jobs}
    reward, penalty, useful, churn = 0.0, 0.0, 0, 0
    for placement in plan.jobs:
        cells = cells_of(placement, steps)
        useful += len(cells)
        reward += sum(priority[placement.id] * objective.decay**step for _, step in cells)
    for service, allocation in zip(problem.services, plan.services, strict=True):
        before = service.held
        for demand, gpus in zip(service.demand, allocation.gpus, strict=True):
            useful += min(demand, len(gpus))
            penalty += objective.realtime_penalty * service.priority * max(0, demand - len(gpus))
            churn += 0 if before is None else len(set(before) ^ set(gpus))
            before = gpus
    available = problem.cluster.gpu_count * steps - len(closed_cells(problem))
    metrics = verdict.metrics
    assert isclose(metrics.value, reward - penalty, abs_tol=1e-6)
    assert isclose(metrics.utilization * available, useful, abs_tol=1e-6)
    assert metrics.churn == churn
    assert metrics.utilization <= 1


def test_every_planted_breach_trips_exactly_its_rule() -> None:
    planted: Counter[tuple[str, str]] = Counter()
    for seed in BROKEN_SEEDS:
        problem, rng = random_problem(seed, SMALL), Random(seed)
        plan = random_legal_plan(problem, rng)
        for rule in VARIETIES:
            for broken in break_plan(problem, plan, rule, rng):
                planted[rule, broken.variety] += 1
                rules = {violation.rule for violation in judge(problem, broken.plan).violations}
                assert rules == {rule}, f"seed {seed}, {rule} {broken.variety}"
    rare = [(rule, variety) for rule, ways in VARIETIES.items() for variety in ways if planted[rule, variety] < 2]
    assert rare == [], "too few of these were planted to say anything"
