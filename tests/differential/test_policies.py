"""On random problems of all features: legal, honest, bounded, deterministic; never worse than what it started from."""

from __future__ import annotations

import os

import pytest

from loadfactor.model import Plan
from tests.differential.soundness import POLICIES, assert_sound, margin, plan_of
from tests.support.generators import MEDIUM, SMALL, TINY, Shape, random_problem

SEEDS = 40
CHUNK = 10
SOAK_CHUNK = 250
SOAK_PROBLEMS = int(os.environ.get("LOADFACTOR_SOAK_PROBLEMS", "100000"))
SHAPES = (TINY, SMALL, SMALL, MEDIUM)


def values_of(seed: int, shape: Shape, names: tuple[str, ...] = POLICIES, iterations: int = 30) -> dict[str, float]:
    """Return the judged value of every policy on one problem, each sound and under every bound."""
    problem = random_problem(seed, shape)
    plans = {name: plan_of(name, problem, seed, iterations=iterations, time_limit_seconds=2) for name in names}
    values = {name: assert_sound(problem, plan, f"{name}, seed {seed}") for name, plan in plans.items()}
    bounds = {name: plan.bound for name, plan in plans.items() if plan.bound is not None}
    for prover, bound in bounds.items():
        for name, value in values.items():
            assert value <= bound + margin(value), f"seed {seed}: {name} reaches {value}, {prover} proves {bound}"
    return values


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_all_policies_are_sound_and_honest(first: int) -> None:
    for seed in range(first, first + CHUNK):
        values = values_of(seed, SMALL)
        assert values["full"] >= values["fast"] - margin(values["fast"]), f"seed {seed}: full is worse than fast"


@pytest.mark.parametrize("first", range(1000, 1000 + 4 * SEEDS, SEEDS))
def test_the_quick_policies_are_sound_and_honest(first: int) -> None:
    for seed in range(first, first + SEEDS):
        values_of(seed, SHAPES[seed % len(SHAPES)], ("fifo", "backfill", "fast"))


def timeless(plan: Plan) -> dict[str, object]:
    """Return the plan without the one field that a clock writes."""
    return {name: value for name, value in plan.to_document().items() if name != "solve_seconds"}


@pytest.mark.parametrize("name", ["fifo", "backfill", "fast"])
def test_the_same_seed_makes_the_same_plan(name: str) -> None:
    for seed in range(12):
        problem = random_problem(seed, SMALL)
        first, second = (timeless(plan_of(name, problem, seed)) for _ in range(2))
        assert first == second, f"seed {seed}"


def test_fast_earns_more_than_the_baseline() -> None:
    fifo, fast = 0.0, 0.0
    for seed in range(SEEDS):
        values = values_of(seed, SMALL, ("fifo", "fast"), iterations=60)
        fifo, fast = fifo + values["fifo"], fast + values["fast"]
    assert fast > fifo


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, SOAK_PROBLEMS, SOAK_CHUNK))
def test_no_illegal_plan_in_a_hundred_thousand(first: int) -> None:
    for seed in range(first, min(first + SOAK_CHUNK, SOAK_PROBLEMS)):
        names = POLICIES if seed % 100 == 0 else POLICIES[:3]
        values_of(10**6 + seed, SHAPES[seed % len(SHAPES)], names)
