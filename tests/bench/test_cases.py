"""The larger cases: the same for the same seed, contended as promised, and different for different seeds."""

from __future__ import annotations

import hashlib
from statistics import fmean

import pytest

from loadfactor.bench.cases import (
    DENSE_JOBS,
    DENSE_SEEDS,
    cluster_case,
    dense_case,
    work_over_capacity,
)
from loadfactor.bench.dice import Dice, day_curve
from loadfactor.model import Problem, to_json


def fingerprint(problem: Problem) -> str:
    return hashlib.sha256(to_json(problem.to_document()).encode()).hexdigest()[:16]


# Taken once: a case that changes makes every published time and distance incomparable, and must be renamed.
@pytest.mark.parametrize(
    ("jobs", "expected"), [(30, "e94cd50dcb9c3f11"), (60, "337c5d7d561222ec"), (120, "b9cde32fde65685a")]
)
def test_dense_cases_never_change(jobs: int, expected: str) -> None:
    assert fingerprint(dense_case(jobs, 0)) == expected


def test_the_cluster_case_never_changes() -> None:
    assert fingerprint(cluster_case(0)) == "f24599758c549b18"


@pytest.mark.parametrize("jobs", DENSE_JOBS)
def test_seeds_make_different_dense_cases(jobs: int) -> None:
    problems = [dense_case(jobs, seed) for seed in DENSE_SEEDS]
    assert len({fingerprint(problem) for problem in problems}) == len(DENSE_SEEDS) == 5
    assert all(len(problem.jobs) == jobs and problem.cluster.gpu_count == 64 for problem in problems)


@pytest.mark.parametrize(("jobs", "low", "high"), [(30, 0.7, 0.9), (60, 1.3, 1.7), (120, 1.6, 2.0)])
def test_cases_hold_the_promised_work(jobs: int, low: float, high: float) -> None:
    assert low < fmean(work_over_capacity(dense_case(jobs, seed)) for seed in DENSE_SEEDS) < high


def test_the_cluster_case_has_the_promised_size_and_contention() -> None:
    problem = cluster_case(0)
    assert problem.cluster.gpu_count == 10_240
    assert len(problem.cluster.nodes) == 1_280
    assert (len(problem.jobs), len(problem.services), problem.horizon.steps) == (2_000, 20, 96)
    assert 1.2 < work_over_capacity(problem) < 1.5
    assert max(job.gpus.max for job in problem.jobs) == 512


def test_work_over_capacity_counts_gpu_steps() -> None:
    problem = dense_case(30, 0).replace(jobs=(), services=())
    job = next(job for job in dense_case(30, 0).jobs if job.duration is not None)
    assert job.duration is not None
    expected = job.gpus.max * job.duration / (64 * 24)
    assert work_over_capacity(problem.replace(jobs=(job,))) == pytest.approx(expected)


def test_a_day_curve_peaks_at_its_hour_and_falls_to_the_night_level() -> None:
    curve = day_curve(night=2, peak=10, peak_hour=14, width_hours=3, steps=24)
    assert (max(curve), curve[14], curve[2]) == (10, 10, 2)
    assert curve[12] == curve[16]
    assert day_curve(2, 10, 23, 3, 24)[1] == day_curve(2, 10, 23, 3, 24)[21]


def test_dice_keep_to_their_limits_and_weights() -> None:
    dice = Dice(7)
    assert {dice.between((2, 4)) for _ in range(200)} == {2, 3, 4}
    assert {dice.weighted((("never", 0.0), ("always", 1.0))) for _ in range(50)} == {"always"}
    assert len(set(dice.sample(range(9), 9))) == 9
    assert not any(dice.chance(0.0) for _ in range(50))
