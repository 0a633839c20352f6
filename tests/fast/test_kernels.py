"""The kernels of `fast` against slow and obvious versions, and the prices against the true optimum."""

from __future__ import annotations

import random

import numpy as np
import pytest

from loadfactor.policies import Effort, policy
from loadfactor.policies.fast.curves import serve
from loadfactor.policies.occupancy import earliest_in_block, release, take
from loadfactor.policies.prices import price_capacity
from tests.support.brute_force import best_value
from tests.support.generators import SMALL, TINY, random_problem


@pytest.mark.parametrize("steps", [5, 63, 64, 65, 96, 128, 130, 200])
def test_the_earliest_start_is_that_of_a_slow_search(steps: int) -> None:
    dice = random.Random(steps)
    for _ in range(60):
        busy = np.zeros((4, -(-steps // 64)), dtype=np.uint64)
        cells = np.zeros((4, steps), dtype=bool)
        for _ in range(dice.randint(0, 6)):
            gpu, start = dice.randrange(4), dice.randrange(steps)
            end = dice.randint(start + 1, steps)
            take(busy, gpu, 1, start, end)
            cells[gpu, start:end] = True
        gpu = dice.randrange(4)
        size, duration = dice.randint(1, 4 - gpu), dice.randint(1, steps)
        first = dice.randrange(steps)
        last = dice.randint(first, steps - 1)
        found = earliest_in_block(busy, gpu, size, duration, first, last, steps)
        possible = (t for t in range(first, last + 1) if not cells[gpu : gpu + size, t : t + duration].any())
        assert found == next(possible, -1)


def test_what_is_taken_and_released_is_free_again() -> None:
    busy = np.zeros((3, 3), dtype=np.uint64)
    take(busy, 1, 2, 10, 150)
    assert busy[0].sum() == 0
    release(busy, 1, 2, 10, 150)
    assert not busy.any()


@pytest.mark.parametrize("cap", [0, 1, 2, 5])
def test_a_service_gets_the_least_curve_that_meets_its_aims(cap: int) -> None:
    dice = random.Random(cap)
    for _ in range(40):
        steps = dice.randint(1, 12)
        aims = np.array([[dice.randint(0, 6) for _ in range(steps)]])
        services, nothing_kept = np.array([[cap, 8, -1, 0, 0]]), np.zeros((1, 1, steps), dtype=np.int64)
        free, curves = np.empty((1, steps), dtype=np.int64), np.empty((1, 1, steps), dtype=np.int64)
        suits, base = np.ones((1, 1), dtype=np.bool_), np.full((1, steps), 8)
        serve(aims, services, suits, nothing_kept, base, free, curves)
        least = [max(aims[0, u] - cap * abs(u - t) for u in range(steps)) for t in range(steps)]
        assert curves[0, 0].tolist() == least
        assert (free[0] + curves[0, 0] == 8).all()


@pytest.mark.parametrize("seed", range(25))
def test_no_plan_is_worth_more_than_the_bound_of_the_prices(seed: int) -> None:
    problem = random_problem(seed, TINY)
    prices = price_capacity(problem, best_value(problem))
    assert prices.bound >= best_value(problem) - 1e-9
    assert (prices.price >= 0).all()


@pytest.mark.parametrize("seed", range(15))
def test_the_bound_of_the_prices_holds_for_every_policy(seed: int) -> None:
    problem = random_problem(seed, SMALL)
    metrics = policy("fast").plan(problem, Effort(iterations=100)).metrics
    assert metrics is not None
    assert price_capacity(problem, metrics.value).bound >= metrics.value - 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_with_iterations_the_plan_depends_on_problem_and_seed_alone(seed: int) -> None:
    problem = random_problem(seed, SMALL)
    first, second = (policy("fast").plan(problem, Effort(iterations=40, seed=seed)) for _ in range(2))
    ignoring_time = {"solve_seconds": None}
    assert first.model_copy(update=ignoring_time) == second.model_copy(update=ignoring_time)
