"""`full` against brute force, the judge and its peer: legal, optimal where it says so, never above its bound."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from loadfactor.judge import judge
from loadfactor.model import Plan, Problem
from loadfactor.policies import DEFAULT_EFFORT, Effort, Progress
from loadfactor.policies.fifo import Backfill
from loadfactor.policies.full import Full
from loadfactor.policies.full.search import Search
from loadfactor.policies.peer import SingleModel
from tests.support.brute_force import best_value
from tests.support.generators import SMALL, TINY, random_problem

EFFORT = Effort(time_limit_seconds=20.0)
FULL = Full(start_policy="backfill")


def _value(plan: Plan) -> float:
    assert plan.metrics is not None
    return plan.metrics.value


def _near(expected: float) -> object:
    return pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_optimum_is_that_of_brute_force(seed: int) -> None:
    problem = random_problem(seed, TINY)
    plan = FULL.plan(problem, EFFORT)
    assert plan.optimal
    assert not judge(problem, plan).violations
    assert _value(plan) == _near(best_value(problem))
    assert plan.bound is not None
    assert plan.bound >= _value(plan)


@pytest.mark.parametrize("seed", range(8))
def test_full_and_peer_agree(seed: int) -> None:
    problem = random_problem(1000 + seed, TINY)
    peer = SingleModel().plan(problem, EFFORT)
    assert not judge(problem, peer).violations
    assert peer.optimal
    assert _value(peer) == _near(_value(FULL.plan(problem, EFFORT)))


@pytest.mark.parametrize("seed", range(12))
def test_small_plans_are_legal_and_within_their_bound(seed: int) -> None:
    problem = random_problem(seed, SMALL)
    plan = FULL.plan(problem, Effort(time_limit_seconds=3.0, seed=seed))
    assert not judge(problem, plan).violations
    assert plan.bound is not None
    assert plan.bound >= _value(plan) >= _value(Backfill().plan(problem))
    assert plan.metrics is not None
    assert judge(problem, plan).metrics.value == pytest.approx(plan.metrics.value)


def test_progress_only_improves() -> None:
    problem = random_problem(3, SMALL)
    heard: list[Progress] = []
    plan = FULL.plan(problem, Effort(time_limit_seconds=5.0, progress=heard.append))
    assert heard
    assert [step.value for step in heard] == sorted(step.value for step in heard)
    bounds = [step.bound for step in heard if step.bound is not None]
    assert bounds == sorted(bounds, reverse=True)
    assert all(step.bound is None or step.value <= step.bound for step in heard)
    assert heard[-1].value == _value(plan)


@dataclass(frozen=True)
class _Given:
    """A policy that always returns the same plan."""

    given: Plan
    name: str = "given"

    def plan(self, problem: Problem, effort: Effort = DEFAULT_EFFORT) -> Plan:
        return self.given


def test_an_optimal_start_is_kept() -> None:
    problem = random_problem(7, TINY)
    best = FULL.plan(problem, EFFORT)
    again = Search(problem, EFFORT, _Given(best), 1).run("full")
    assert again.optimal
    assert again.jobs == best.jobs
    assert again.services == best.services


def test_the_time_limit_is_respected_and_the_start_survives() -> None:
    problem = random_problem(5, SMALL)
    began = time.perf_counter()
    plan = FULL.plan(problem, Effort(time_limit_seconds=0.0))
    assert time.perf_counter() - began < 10
    assert _value(plan) >= _value(Backfill().plan(problem))


def test_a_problem_too_large_to_model_keeps_its_start_under_a_bound_by_prices() -> None:
    nodes = [{"name": f"node-{index}", "gpus": 8} for index in range(1280)]
    service = {"id": "chat", "priority": 1, "demand": [5] * 200, "max_swap": 5}
    document = {"name": "large", "horizon": {"steps": 200}, "cluster": {"nodes": nodes}, "services": [service]}
    problem = Problem.from_document(document)
    plan = FULL.plan(problem, EFFORT)
    assert plan.services == Backfill().plan(problem).services
    assert plan.bound == pytest.approx(0.0, abs=1e-6)
    assert plan.optimal


def test_a_choice_without_positions_is_cut_off() -> None:
    """Two nodes of 3 GPUs have room for 6 in counts, so for three blocks of 2, and in blocks only for two."""
    nodes = [{"name": "a", "gpus": 3}, {"name": "b", "gpus": 3}]
    jobs = [{"id": f"job-{i}", "kind": "training", "priority": 1, "gpus": 2, "duration": 1} for i in range(3)]
    document = {"name": "fragments", "horizon": {"steps": 1}, "cluster": {"nodes": nodes}, "jobs": jobs}
    plan = FULL.plan(Problem.from_document(document), EFFORT)
    assert plan.optimal
    assert len(plan.jobs) == 2


def test_the_peers_bound_holds_where_values_are_small() -> None:
    """The three jobs are worth 3e-6, little more than a unit of the integers that the peer counts in."""
    jobs = [{"id": f"job-{i}", "kind": "training", "priority": 1e-6, "gpus": 1, "duration": 1} for i in range(3)]
    cluster = {"nodes": [{"name": "a", "gpus": 4}]}
    problem = Problem.from_document({"name": "small", "horizon": {"steps": 3}, "cluster": cluster, "jobs": jobs})
    peer = SingleModel().plan(problem, EFFORT)
    assert peer.bound is not None
    assert peer.bound >= best_value(problem) * (1 - 1e-9)


def test_work_that_is_all_running_is_kept_and_proven_best() -> None:
    running = {"gpus": [0, 1], "remaining": 2}
    job = {"id": "job", "kind": "training", "priority": 1, "gpus": 2, "duration": 3, "running": running}
    cluster = {"nodes": [{"name": "a", "gpus": 4}]}
    problem = Problem.from_document({"name": "running", "horizon": {"steps": 3}, "cluster": cluster, "jobs": [job]})
    plan = Full().plan(problem, EFFORT)
    assert plan.optimal
    assert [(placement.start, placement.gpus) for placement in plan.jobs] == [(0, (0, 1))]
