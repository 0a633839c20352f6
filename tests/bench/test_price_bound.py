"""The bound by prices: never below a legal value, whatever the prices, and close to the linear relaxation."""

from __future__ import annotations

import numpy as np
import pytest

from loadfactor.bench import load_scenario
from loadfactor.bench.cases import dense_case
from loadfactor.bench.price_bound import PricedProblem, priced_bound
from loadfactor.judge import judge
from loadfactor.model import Problem
from loadfactor.policies import Effort, policy
from loadfactor.worth.relaxation import relax
from tests.bench.contestants import tiny

INHERITED = {
    "name": "inherited",
    "horizon": {"steps": 6, "finish_inside": False},
    "cluster": {"nodes": [{"name": "a", "gpus": 4}], "unavailable": [{"gpus": [3], "from": 2, "until": 4}]},
    "jobs": [
        {"id": "worthless", "kind": "training", "priority": 0, "gpus": 2, "duration": 9,
         "running": {"gpus": [0, 1], "remaining": 4}},
        {"id": "late", "kind": "training", "priority": 3, "submit": 4, "gpus": {"min": 1, "max": 4}, "work": 20},
    ],
    "services": [{"id": "chat", "priority": 2, "demand": [1, 1, 2, 2, 1, 1], "max_swap": 2}],
}  # fmt: skip


def inherited() -> Problem:
    """Return a problem with a running job, an unavailable GPU and an open horizon."""
    return Problem.from_document(INHERITED)


def fast_value(problem: Problem) -> float:
    verdict = judge(problem, policy("fast").plan(problem, Effort(iterations=2000)))
    assert verdict.legal
    return verdict.metrics.value


@pytest.mark.parametrize("make", [tiny, inherited, lambda: dense_case(30, 1), lambda: load_scenario("mixed")])
def test_no_prices_prove_less_than_a_legal_value(make: object) -> None:
    assert callable(make)
    problem = make()
    value, priced = fast_value(problem), PricedProblem(problem)
    generator = np.random.default_rng(0)
    for scale in (0.0, 0.1, 1.0, 5.0, 20.0, 100.0):
        bound, _ = priced.at(scale * generator.random(priced.steps))
        assert bound >= value - 1e-9


def test_the_bound_is_what_a_worked_example_says() -> None:
    free, left = PricedProblem(tiny()).at(np.zeros(6))
    weight = 0.98 ** np.arange(6)
    assert free == pytest.approx(4 * weight[:3].sum() + 8 * weight[1:3].sum() + 18 * weight[1:3].sum())
    assert left.tolist() == [0, -6, -6, 4, 4, 3]


def test_running_jobs_pay_and_stay() -> None:
    bound, left = PricedProblem(inherited()).at(np.full(6, 1000.0))
    # Nobody buys at this price; the running job must, and the unmet demand (8 at 16 each) is paid for.
    assert bound == pytest.approx(1000 * (4 + 4 + 3 + 3 + 4 + 4) - 1000 * 2 * 4 - 8 * 16)
    assert left.tolist() == [2, 2, 1, 1, 4, 4]


def test_the_search_comes_close_to_the_linear_relaxation() -> None:
    problem = dense_case(60, 0)
    free = problem.replace(services=tuple(s.model_copy(update={"max_swap": 64}) for s in problem.services))
    relaxed = relax(free)
    assert relaxed is not None
    found = priced_bound(free, 0.97 * relaxed.value, seconds=60.0, rounds=1500)
    assert relaxed.value * (1 - 1e-9) <= found.bound <= relaxed.value * 1.002
    assert PricedProblem(free).at(found.prices)[0] == found.bound


def test_the_capacity_left_is_a_subgradient() -> None:
    priced, generator = PricedProblem(dense_case(30, 0)), np.random.default_rng(1)
    for _ in range(20):
        here, there = (10 * generator.random(priced.steps) for _ in range(2))
        (bound, left), (other, _) = priced.at(here), priced.at(there)
        assert other >= bound + left @ (there - here) - 1e-6


def test_without_jobs_there_is_nothing_to_gain() -> None:
    empty = tiny().replace(jobs=(), services=())
    assert priced_bound(empty, 0.0, seconds=1.0, rounds=10).bound == 0.0
