"""The policy `fast` from outside: a function of problem and seed, legal at any budget, below a peak where that pays."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from loadfactor.judge import judge
from loadfactor.model import Cluster, GpuRange, Horizon, Job, Node, Objective, Plan, Problem, Service
from loadfactor.policies import Effort, fast, policy
from loadfactor.policies.fifo import Fifo
from loadfactor.policies.prices import price_capacity
from tests.support.brute_force import best_value
from tests.support.generators import MEDIUM, SMALL, TINY, random_problem

SHAPES = (TINY, SMALL, MEDIUM)
IN_ANOTHER_PROCESS = """
import json, sys
from loadfactor.model import Problem
from loadfactor.policies import Effort, policy
plans = []
for case in json.load(sys.stdin):
    effort = Effort(iterations=case["iterations"], seed=case["seed"])
    plans.append(policy("fast").plan(Problem.from_document(case["problem"]), effort).to_document())
json.dump(plans, sys.stdout)
"""


def _fast(problem: Problem, **effort: float) -> Plan:
    return policy("fast").plan(problem, Effort(**effort))  # type: ignore[arg-type]  # whole numbers where they must be


def _value(plan: Plan) -> float:
    assert plan.metrics is not None
    return plan.metrics.value


def _timeless(document: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in document.items() if name != "solve_seconds"}


def test_another_process_makes_the_same_plans() -> None:
    problems = [random_problem(seed, SHAPES[seed % 3]) for seed in range(9)]
    cases = [
        {"problem": problem.to_document(), "iterations": 40, "seed": seed} for seed, problem in enumerate(problems)
    ]
    there = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS], input=json.dumps(cases), capture_output=True, text=True, check=True
    )
    here = [_fast(problem, iterations=40, seed=seed) for seed, problem in enumerate(problems)]
    expected = [json.loads(json.dumps(plan.to_document())) for plan in here]
    assert [_timeless(plan) for plan in json.loads(there.stdout)] == [_timeless(plan) for plan in expected]


def test_the_seed_matters() -> None:
    """Otherwise the test of determinism would say nothing about the seed."""
    problems = [random_problem(seed, MEDIUM) for seed in range(10)]
    different = [_fast(p, iterations=40, seed=1).jobs != _fast(p, iterations=40, seed=2).jobs for p in problems]
    assert any(different)


@pytest.mark.parametrize("limits", [{"budget_ms": ms} for ms in (0.0, 0.5, 5.0, 40.0)] + [{"iterations": 0}], ids=str)
def test_whatever_the_budget_the_plan_is_legal_and_honest(limits: dict[str, float]) -> None:
    for seed in range(18):
        problem = random_problem(seed, SHAPES[seed % 3])
        plan = _fast(problem, seed=seed, **limits)
        verdict = judge(problem, plan)
        assert verdict.violations == (), seed
        assert _value(plan) == pytest.approx(verdict.metrics.value, rel=1e-9, abs=1e-9), seed


def test_without_any_budget_work_is_still_placed() -> None:
    problem = Problem(name="one", horizon=Horizon(steps=4), cluster=_four_gpus(), jobs=(_job(5.0, duration=4),))
    plan = _fast(problem, budget_ms=0.0)
    assert [(placement.start, placement.gpus) for placement in plan.jobs] == [(0, (0, 1, 2, 3))]


def _four_gpus() -> Cluster:
    return Cluster(nodes=(Node(name="node", gpus=4),))


def _job(priority: float, duration: int) -> Job:
    return Job(id="batch", kind="training", priority=priority, gpus=GpuRange(min=4, max=4), duration=duration)


def _peak_against_job(job_priority: float) -> Problem:
    """One step of peak in the middle of a job that needs all GPUs for the whole horizon: one of the two gives way.

    Without decay the job earns 4 GPUs x 4 steps x its priority; the peak of 1 GPU costs 8 x 1 where it is unmet.
    """
    service = Service(id="chat", priority=1.0, demand=(0, 0, 1, 0), max_swap=1)
    return Problem(
        name="peak-against-job",
        horizon=Horizon(steps=4),
        objective=Objective(realtime_penalty=8.0, decay=1.0),
        cluster=_four_gpus(),
        jobs=(_job(job_priority, duration=4),),
        services=(service,),
    )


@pytest.mark.parametrize(
    ("job_priority", "shortfall", "value"),
    [(1.0, 1, 16.0 - 8.0), (0.25, 0, 0.0)],
    ids=["the job is worth more", "the peak is worth more"],
)
@pytest.mark.parametrize("name", ["fast", "full"])
def test_a_peak_is_served_only_where_that_is_worth_more(
    name: str, job_priority: float, shortfall: int, value: float
) -> None:
    problem = _peak_against_job(job_priority)
    assert best_value(problem) == pytest.approx(value)
    plan = policy(name).plan(problem, Effort(iterations=200, time_limit_seconds=5.0))
    assert plan.metrics is not None
    assert plan.metrics.shortfall_gpu_steps == shortfall
    assert plan.metrics.value == pytest.approx(value)


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_of_the_prices_is_above_the_plans_of_all_policies(seed: int) -> None:
    problem = random_problem(100 + seed, SMALL)
    efforts = Effort(iterations=200, seed=seed, time_limit_seconds=1.0)
    values = {name: _value(policy(name).plan(problem, efforts)) for name in ("fifo", "backfill", "fast", "full")}
    prices = price_capacity(problem, max(values.values()))
    assert (prices.price >= 0).all()
    assert max(values.values()) <= prices.bound + 1e-9, values


def test_more_iterations_never_loosen_the_bound_of_the_prices() -> None:
    for seed in range(10):
        problem = random_problem(seed, SMALL)
        value = _value(_fast(problem, iterations=100))
        bounds = [price_capacity(problem, value, iterations).bound for iterations in (1, 10, 300)]
        assert bounds == sorted(bounds, reverse=True), seed


@pytest.mark.parametrize("seed", [50405, 64926, 67054, 71315, 77050])
def test_held_gpus_of_several_pools_are_kept_as_long_as_the_cap_demands(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On these, all that was held counted as one pool's, and no legal hand-out was found for it."""

    def refuse(name: str) -> Fifo:
        raise AssertionError(f"{name} fell back to fifo")

    monkeypatch.setattr(fast, "Fifo", refuse)
    problem = random_problem(10**6 + seed, (TINY, SMALL, SMALL, MEDIUM)[seed % 4])
    plan = policy("fast").plan(problem, Effort(iterations=30, seed=10**6 + seed))
    assert judge(problem, plan).legal
