"""The relaxation bounds every plan from above, and its prices lie between the finite differences of a whole GPU."""

from __future__ import annotations

import numpy as np
import pytest

from loadfactor.allocator import decide
from loadfactor.worth.growth import grown
from loadfactor.worth.relaxation import Relaxation, relax
from tests.explain.examples import job, problem, service
from tests.support.brute_force import best_value
from tests.support.generators import MEDIUM, SMALL, TINY, random_problem


def _relaxed(described: object, **options: object) -> Relaxation:
    solved = relax(described, **options)  # type: ignore[arg-type]
    assert solved is not None
    return solved


def test_a_price_known_by_hand() -> None:
    # 2 GPUs serve one job at 3 and one at 2 for two steps; a third GPU serves the other at 2: 2 x 2 more
    described = problem(2, [1, 1], jobs=[job("a", 3.0, 1, 2), job("b", 2.0, 1, 2), job("c", 2.0, 1, 2)])
    solved = _relaxed(described)
    assert solved.value == pytest.approx(10.0)
    assert solved.prices.sum() == pytest.approx(4.0)
    assert _relaxed(grown(described, 1)).value == pytest.approx(14.0)
    assert decide(grown(described, 1), "fifo").verdict.metrics.value == 14.0


def test_the_price_of_a_step_at_which_demand_is_unmet() -> None:
    described = problem(3, 1, services=[service("chat", [1, 2, 1], max_swap=2, priority=1.0)])
    assert _relaxed(described).prices.tolist() == [[0.0, pytest.approx(8.0), 0.0]]


def test_a_swap_cap_makes_the_steps_before_a_peak_scarce() -> None:
    # two GPUs by step 1 at a cap of one take one at step 0: one of the two jobs of one step has to go
    jobs = [job("a", 1.0, 1, 1), job("b", 1.0, 1, 1)]
    peak = service("chat", [0, 2], max_swap=1, held=[], priority=1.0)
    ramped = _relaxed(problem(2, 2, jobs=jobs, services=[peak]))
    assert ramped.value == pytest.approx(1.0)
    assert ramped.prices.tolist() == [[pytest.approx(1.0), pytest.approx(1.0)]]
    uncapped = peak | {"max_swap": 2}
    assert _relaxed(problem(2, 2, jobs=jobs, services=[uncapped])).value == pytest.approx(2.0)


def test_pools_are_priced_apart() -> None:
    nodes = [{"name": "a", "gpus": 1, "gpu_type": "H100"}, {"name": "b", "gpus": 1, "gpu_type": "L4"}]
    jobs = [job(f"job-{index}", 2.0, 1, 3, gpu_types=["H100"]) for index in range(3)]
    solved = _relaxed(problem(3, 1, cluster={"nodes": nodes}, jobs=jobs))
    assert solved.pools == (("H100", None), ("L4", None))
    assert solved.prices.sum(axis=1).tolist() == [pytest.approx(6.0), 0.0]


def test_running_jobs_and_unavailable_gpus_take_their_capacity() -> None:
    described = problem(
        4,
        2,
        cluster={"unavailable": [{"gpus": [1], "from": 0, "until": 4}]},
        jobs=[job("old", 5.0, 1, 9, running={"gpus": [0], "remaining": 2}), job("new", 1.0, 1, 2)],
    )
    assert _relaxed(described).value == pytest.approx(5.0 * 2 + 2)


@pytest.mark.parametrize("seed", range(25))
def test_it_is_never_below_the_best_plan(seed: int) -> None:
    described = random_problem(seed, TINY)
    solved = relax(described)
    assert solved is not None
    assert solved.value >= best_value(described) - 1e-6


@pytest.mark.parametrize("seed", range(10))
def test_it_is_never_below_a_plan_of_medium_size(seed: int) -> None:
    described = random_problem(seed, MEDIUM)
    assert _relaxed(described).value >= decide(described, "backfill").verdict.metrics.value - 1e-6


def test_prices_lie_between_the_differences_of_one_gpu_more_and_one_less() -> None:
    priced = 0
    for seed in range(15):
        described = random_problem(seed, SMALL)
        solved = _relaxed(described)
        small = np.full_like(solved.prices, 1e-4)
        gained = (_relaxed(described, extra=small).value - solved.value) / 1e-4
        assert gained == pytest.approx(solved.prices.sum(), rel=1e-3, abs=1e-3)
        for pool in range(len(solved.pools)):
            one = np.zeros_like(solved.prices)
            one[pool] = 1.0
            price, tolerance = solved.prices[pool].sum(), 1e-5 * max(1.0, abs(solved.value))
            more = _relaxed(described, extra=one).value - solved.value
            assert more <= price + tolerance
            less = relax(described, extra=-one)
            if less is not None:
                assert solved.value - less.value >= price - tolerance
            priced += price > tolerance
    assert priced >= 8


def test_too_large_a_model_is_not_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadfactor.worth.relaxation.MOST_ENTRIES", 3)
    assert relax(problem(4, 1, jobs=[job("a", 1.0, 1, 2)])) is None
