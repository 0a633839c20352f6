"""Estimates of run times: later than now, within the limit, and equal to a slow simple version."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadfactor.errors import InputError
from loadfactor.foresight import JobFeatures, LearntRuntime, PerfectRuntime, RuntimeEstimator, UserLimit, misjudged
from loadfactor.foresight.learnt import KINSHIPS
from loadfactor.foresight.windows import SortedWindow
from tests.foresight.slow import SlowRuntime

some_features = st.builds(
    JobFeatures,
    gpus=st.sampled_from([1, 8]),
    user=st.sampled_from([None, "ada", "emmy"]),
    name=st.sampled_from([None, "train", "test"]),
    limit_seconds=st.sampled_from([None, 60.0, 3600.0, 86_400.0]),
    kind=st.sampled_from([None, "training"]),
)
run_times = st.one_of(st.integers(0, 30), st.floats(0, 100_000))
histories = st.lists(st.tuples(some_features, run_times), max_size=40)
ALIKE = JobFeatures(4, "ada", "train")


def taught(estimator: LearntRuntime, history: list[tuple[JobFeatures, float]]) -> LearntRuntime:
    """Return the estimator after the jobs of the history have ended, in their order."""
    for number, (features, run_seconds) in enumerate(history):
        estimator.learn(str(number), features, run_seconds)
    return estimator


@given(
    history=histories,
    asked=st.lists(st.tuples(some_features, run_times), min_size=1, max_size=8),
    quantile=st.sampled_from([0.25, 0.5, 0.75, 0.95]),
    window=st.integers(3, 20),
)
def test_what_is_learnt_equals_the_slow_version(
    history: list[tuple[JobFeatures, float]], asked: list[tuple[JobFeatures, float]], quantile: float, window: int
) -> None:
    slow = SlowRuntime(quantile, window, 3)
    for features, run_seconds in history:
        slow.learn(features, run_seconds)
    fast = taught(LearntRuntime(quantile, window, 3), history)
    fast.planned_quantile = quantile
    for features, elapsed in asked:
        assert fast.estimate("a", features, elapsed) == slow.estimate(features, elapsed)
        assert fast.planned("a", features) == slow.estimate(features, 0.0)


@given(history=histories, features=some_features, elapsed=run_times, truth=st.floats(0, 100_000))
def test_every_estimate_is_later_than_now_and_within_the_limit(
    history: list[tuple[JobFeatures, float]], features: JobFeatures, elapsed: float, truth: float
) -> None:
    for estimator in (UserLimit(), taught(LearntRuntime(least_survivors=2), history), PerfectRuntime({"a": truth})):
        assert isinstance(estimator, RuntimeEstimator)
        estimate = estimator.estimate("a", features, elapsed)
        assert estimate > elapsed
        assert estimator.planned("a", features) >= estimator.estimate("a", features, 0.0)
        limit = features.limit_seconds
        if limit is not None and elapsed < limit and not isinstance(estimator, PerfectRuntime):
            assert estimate <= limit


@given(history=histories, later=histories, features=some_features, elapsed=run_times)
def test_what_was_written_as_json_goes_on_alike(
    history: list[tuple[JobFeatures, float]],
    later: list[tuple[JobFeatures, float]],
    features: JobFeatures,
    elapsed: float,
) -> None:
    first = taught(LearntRuntime(0.6, 10, 2, 0.8), history)
    second = LearntRuntime.restored(json.loads(json.dumps(first.state())))
    assert taught(first, later).state() == taught(second, later).state()
    assert first.estimate("a", features, elapsed) == second.estimate("a", features, elapsed)
    assert first.planned("a", features) == second.planned("a", features)


def test_a_job_that_lasts_is_compared_with_those_that_lasted() -> None:
    learnt = taught(LearntRuntime(0.5), [(ALIKE, 10.0)] * 80 + [(ALIKE, 5000.0)] * 20)
    assert learnt.estimate("a", ALIKE, 0) == 10
    assert learnt.estimate("a", ALIKE, 11) == 5000
    assert learnt.estimate("a", ALIKE, 6000) == 12_000


def test_a_job_that_waits_is_planned_longer_than_it_is_expected_to_run() -> None:
    learnt = taught(LearntRuntime(0.5, planned_quantile=0.9), [(ALIKE, float(run)) for run in range(1, 101)])
    assert (learnt.estimate("a", ALIKE, 0), learnt.planned("a", ALIKE)) == (51, 91)


def test_the_kinship_that_tells_most_leads() -> None:
    history = [
        (JobFeatures(1 + number % 3, user, f"job {number}"), 10.0 if user == "ada" else 9000.0)
        for number, user in enumerate(["ada", "emmy"] * 60)
    ]
    learnt = taught(LearntRuntime(0.5), history)
    assert learnt.ranking()[0] == ("user", "gpus")
    assert learnt.estimate("a", JobFeatures(2, "emmy", "new"), 0) == 9000
    assert learnt.estimate("a", JobFeatures(2, "ada", "new"), 0) == 10
    assert LearntRuntime().ranking() == KINSHIPS


def test_old_jobs_are_forgotten() -> None:
    learnt = taught(LearntRuntime(window=10), [(ALIKE, 10.0)] * 10 + [(ALIKE, 700.0)] * 10)
    assert learnt.estimate("a", ALIKE, 0) == 700


def test_without_history_the_limit_counts_and_without_both_an_hour() -> None:
    assert LearntRuntime().estimate("a", JobFeatures(1, limit_seconds=50.0), 0) == 50
    assert LearntRuntime().estimate("a", JobFeatures(1), 0) == 3600
    assert LearntRuntime().estimate("a", JobFeatures(1), 4000) == 8000
    assert UserLimit().estimate("a", JobFeatures(1), 0) == 86_400
    assert UserLimit().estimate("a", JobFeatures(1, limit_seconds=50.0), 50) == 100


@given(values=st.lists(st.integers(0, 9), min_size=1, max_size=40), limit=st.integers(1, 12), floor=st.integers(-1, 9))
def test_the_window_is_the_last_numbers_sorted(values: list[int], limit: int, floor: int) -> None:
    window = SortedWindow(limit, values)
    assert window.sizes == sorted(values[-limit:])
    assert list(window.arrivals) == values[-limit:]
    assert window.count_above(floor) == sum(value > floor for value in values[-limit:])


@given(factor=st.floats(0.1, 10), spread=st.floats(1, 20), seed=st.integers(0, 5))
def test_a_misjudged_run_time_is_wrong_by_what_was_stated(factor: float, spread: float, seed: int) -> None:
    truth = {f"job {number}": 100.0 + number for number in range(200)}
    ratios = [guess / truth[name] / factor for name, guess in misjudged(truth, factor, spread, seed).items()]
    assert min(ratios) >= 1 / spread * (1 - 1e-9)
    assert max(ratios) <= spread * (1 + 1e-9)
    if spread > 1.001:
        below = sum(ratio < 1 for ratio in ratios)
        assert 60 < below < 140
    else:
        assert ratios == pytest.approx([1.0] * 200, rel=2e-3)
    assert misjudged(truth, factor, spread, seed) == misjudged(truth, factor, spread, seed)


def test_wrong_input_is_told() -> None:
    with pytest.raises(InputError, match="gpus: 0 GPUs; a job needs at least one"):
        JobFeatures(0)
    with pytest.raises(InputError, match="limit_seconds: a limit of 0 seconds; give None for no limit"):
        JobFeatures(1, limit_seconds=0)
    with pytest.raises(InputError, match="quantile: 1 is no quantile; choose one between 0 and 1"):
        LearntRuntime(1)
    with pytest.raises(InputError, match="planned_quantile: 0 is no quantile; choose one between 0 and 1"):
        LearntRuntime(planned_quantile=0)
    with pytest.raises(InputError, match="9 survivors of a window of 3; choose at least 1"):
        LearntRuntime(0.5, 3, 9)
    with pytest.raises(InputError, match=r"run_seconds\[b\]: no run time is known of this job"):
        PerfectRuntime({}).estimate("b", ALIKE, 0)
