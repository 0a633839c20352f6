"""On tiny problems: no policy beats the true optimum, and whoever claims to reach it does."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.differential.soundness import BASELINES, POLICIES, assert_sound, margin, plan_of
from tests.support.brute_force import best_value
from tests.support.generators import TINY, random_problem

SEEDS = 60
CHUNK = 15
SOAK_PROBLEMS, SOAK_CHUNK = 3000, 100


def compare(name: str, seed: int) -> str:
    """Compare one plan with the true optimum; return "optimal", "below" or "proven"."""
    problem = random_problem(seed, TINY)
    plan = plan_of(name, problem, seed)
    best = best_value(problem)
    story = f"{name}, seed {seed}, optimum {best}"
    value = assert_sound(problem, plan, story)
    assert value <= best + margin(best), f"{story}: value {value}"
    assert plan.bound is None or plan.bound >= best - margin(best), f"{story}: bound {plan.bound}"
    if plan.optimal:
        assert value >= best - margin(best), f"{story}: optimal is claimed with value {value}"
        return "proven"
    return "optimal" if value >= best - margin(best) else "below"


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
@pytest.mark.parametrize("name", POLICIES)
def test_no_policy_beats_the_optimum(name: str, first: int) -> None:
    outcomes = Counter(compare(name, seed) for seed in range(first, first + CHUNK))
    if name == "full":
        assert outcomes["proven"] >= 0.9 * CHUNK, outcomes
    if name == "fast":
        assert outcomes["below"] <= 0.2 * CHUNK, outcomes


def assert_proven(first: int) -> None:
    for seed in range(first, first + SOAK_CHUNK):
        assert compare("full", seed) == "proven", f"seed {seed}"


def test_full_proves_the_optimum_of_a_hundred() -> None:
    """A cut that forbids too much is rare; among these problems is one that such a cut makes worse."""
    assert_proven(160)


@pytest.mark.soak
@pytest.mark.parametrize("first", range(SEEDS, SEEDS + SOAK_PROBLEMS, SOAK_CHUNK))
def test_full_proves_the_optimum_of_thousands(first: int) -> None:
    assert_proven(first)


def test_the_optimum_is_worth_looking_for() -> None:
    outcomes = Counter(compare(BASELINES[0], seed) for seed in range(SEEDS))
    assert outcomes["below"] >= 0.25 * SEEDS, "the baseline is optimal nearly everywhere: the problems are too easy"
