"""Counts above a floor: worth it, never the same after they were set aside, and none above the optimum in counts."""

from __future__ import annotations

from loadfactor.policies.full.choices import job_classes
from loadfactor.policies.full.decided import Decided
from loadfactor.policies.full.outlines import outline_of
from loadfactor.policies.full.search import counts_model
from loadfactor.policies.full.seeking import Seeker
from loadfactor.policies.full.solver import Limits, solve
from tests.support.generators import Shape, random_problem

TWOS = Shape(nodes=2, node_sizes=(2,), gpus=4, steps=4, jobs=4, services=1)
LIMITS = Limits(seconds=5.0, seed=0, workers=1)
SEEDS = range(12)
SHARE = 0.6
MOST = 8


def test_what_is_found_is_worth_the_floor_and_not_found_again_once_set_aside() -> None:
    found = 0
    for seed in SEEDS:
        problem = random_problem(seed, TWOS)
        counts = counts_model(problem, job_classes(problem))
        best = counts.scale.value(solve(counts.model, LIMITS).objective)
        seeker, floor = Seeker(counts), best - (1 - SHARE) * abs(best)
        for _ in range(MOST):
            outcome = seeker.above(floor, LIMITS)
            if outcome.infeasible:
                break
            assert counts.scale.value(outcome.objective) >= floor - 1e-6
            outline = outline_of(Decided.by_solver(counts, outcome.values))
            assert outline not in seeker.aside
            seeker.aside.append(outline)
        found += len(seeker.aside)
    assert found > 2 * len(SEEDS)


def test_nothing_is_found_above_the_optimum_and_the_counts_stay_as_they_were() -> None:
    for seed in SEEDS:
        problem = random_problem(seed, TWOS)
        counts = counts_model(problem, job_classes(problem))
        best = counts.scale.value(solve(counts.model, LIMITS).objective)
        assert Seeker(counts).above(best + 1.0, LIMITS).infeasible
        assert counts.scale.value(solve(counts.model, LIMITS).objective) == best
