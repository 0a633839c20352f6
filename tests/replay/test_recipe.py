"""Recipes of replays: what they build, and what is refused, each fault with its path and its remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadfactor.errors import InputError
from loadfactor.replay.build import build_scenario
from loadfactor.replay.options import recipe_of, sample_replay
from loadfactor.replay.recipe import read_replay_recipe
from loadfactor.replay.workload import rate_by_step, scaled_demand
from tests.replay.stories import recipe_document, small_recipe

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"loud": 1}, "loud: is not a field of this document; remove it or correct its name"),
    ({"load": 0}, "load: is 0, and must be at least 0.01; raise it"),
    ({"sample": 1.5}, "sample: is 1.5, and must be at most 1; lower it"),
    ({"policies": ["slurm"]}, "policies[0]: 'slurm' is no policy that can be replayed; choose among fifo+peak, "),
    ({"policies": ["fifo+peak", "fifo+peak"]}, "policies: 'fifo+peak' appears twice; name it once"),
    ({"knowledge": {"run_times": "guess"}}, "knowledge.run_times: is 'guess', and must be 'limit', 'learnt' or"),
    (
        {"knowledge": {"run_time_factor": 2.0}},
        "knowledge: run_time_factor and run_time_spread distort true run times, and run_times is 'learnt'; state",
    ),
    ({"knowledge": {"run_times": "perfect", "run_time_spread": 0.5}}, "knowledge.run_time_spread: is 0.5, and must be"),
    ({"limit_factor": {"least": 3, "most": 2}}, "limit_factor: goes from 3 down to 2; state least first, then most"),
    ({"jobs": []}, "jobs: has 0 entries and needs at least 1; add some"),
    ({"jobs": [{"file": "jobs.csv", "preset": "slurm"}]}, "jobs[0]: 'slurm' is no preset; choose one of helios-venus"),
    ({"jobs": [{"file": "jobs.csv", "preset": "gavel"}]}, "jobs[0].format.duration_unit: the log's 'total_steps' is "),
    ({"cluster": "8 nodes"}, "8 nodes: "),
    ({"faults": {"late": 1.0}}, "faults.late: is 1.0, and must be less than 1; lower it"),
    (
        {"cluster": {"nodes": [{"name": "a", "gpus": 2}], "unavailable": [{"gpus": [0], "from": 0, "until": 1}]}},
        "cluster.unavailable: GPUs that are out for some steps are not replayed; remove them from the cluster, or",
    ),
]


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=[message[:40] for _, message in WRONG])
def test_what_is_wrong_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        small_recipe(tmp_path, **changes)
    assert message in str(refused.value)


def test_what_no_log_can_give_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"jobs: no job of these days is left to replay \(none was submitted in them\); choose"
    ):
        build_scenario(small_recipe(tmp_path, first_day=3))
    with pytest.raises(InputError, match=r"left to replay \(4 larger than any block\); choose other days, or a larger"):
        build_scenario(small_recipe(tmp_path, cluster="1x1"))
    twice = recipe_document(tmp_path)["jobs"] * 2
    with pytest.raises(InputError, match="jobs: two logs have a job 'a'; give each log a prefix of its own"):
        build_scenario(small_recipe(tmp_path, jobs=twice))
    services = [recipe_document(tmp_path)["services"][0] | {"column": "input_tokens"}]
    with pytest.raises(InputError, match=r"demand.csv: has no input_tokens above 0 from day 0 on; choose another"):
        build_scenario(small_recipe(tmp_path, services=services))


def test_a_log_becomes_arrivals_with_all_that_it_says(tmp_path: Path) -> None:
    scenario = build_scenario(small_recipe(tmp_path, load=2.0, seed=3))
    arrivals = scenario.world.arrivals
    assert [(each.at, each.job.id, each.job.gpus, each.run_seconds) for each in arrivals] == [
        (0, "a", 2, 600), (30, "b", 4, 300), (45, "c", 3, 1200), (2000, "d", 9, 60),
    ]  # fmt: skip
    limits = [each.job.limit_seconds or 0 for each in arrivals]
    assert (limits[0], limits[2]) == (900, 1300)
    assert 1.2 * 300 <= limits[1] <= 3001
    assert 1.2 * 60 <= limits[3] <= 601
    assert [each.job.user for each in arrivals] == ["ada", "bob", "ada", "eve"]
    assert (arrivals[0].job.priority, arrivals[2].job.priority in {1, 2, 4, 8}) == (4.0, True)
    assert scenario.logs[0].gpu_hours == pytest.approx((1200 + 1200 + 3600 + 540) / 3600, abs=1e-3)


def test_services_peak_together_at_their_share_and_may_swap_twice_their_largest_change(tmp_path: Path) -> None:
    one = recipe_document(tmp_path)["services"][0]
    services = [one, one | {"id": "embed", "share": 3.0, "max_swap": 5, "zeros": "zero", "start_seconds": 7}]
    world = build_scenario(small_recipe(tmp_path, services=services, peak_share=0.5)).world
    assert world.demand["chat"].tolist() == [1, 2, 2, 2]
    assert world.demand["embed"].tolist() == [2, 6, 0, 4]
    assert [(each.max_swap, each.start_seconds) for each in world.services] == [(2, 300), (5, 7)]


def test_merged_logs_keep_their_jobs_apart(tmp_path: Path) -> None:
    (log,) = recipe_document(tmp_path)["jobs"]
    scenario = build_scenario(small_recipe(tmp_path, jobs=[log | {"prefix": "x-"}, log | {"prefix": "y-"}]))
    assert len(scenario.world.arrivals) == len({each.job.id for each in scenario.world.arrivals}) == 8
    assert [each.at for each in scenario.world.arrivals] == sorted(each.at for each in scenario.world.arrivals)


def test_a_replay_ends_though_a_job_starves(tmp_path: Path) -> None:
    assert build_scenario(small_recipe(tmp_path, drain_days=2)).world.end == 4200 + 2 * 86_400


def test_options_lie_over_a_recipe() -> None:
    base = read_replay_recipe(sample_replay())
    options = {"load": 1.5, "policies": "fifo+peak, fast", "run_times": "perfect", "cluster": "4x8", "seed": 9}
    changed = recipe_of(str(sample_replay()), options)
    assert (changed.load, changed.policies, changed.seed) == (1.5, ("fifo+peak", "fast"), 9)
    assert (changed.knowledge.run_times, changed.cluster.gpu_count) == ("perfect", 32)
    assert changed.services == base.services


def test_options_alone_are_a_recipe(tmp_path: Path) -> None:
    options = {
        "cluster": "2x8",
        "jobs": ["a.csv", "b.csv"],
        "jobs_preset": ["swf", "helios-venus"],
        "demand": ["c.csv"],
    }
    recipe = recipe_of(None, options)
    assert [(log.preset, log.prefix) for log in recipe.jobs] == [("swf", "1-"), ("helios-venus", "2-")]
    assert [(each.id, each.preset) for each in recipe.services] == [("service-1", "servegen")]
    with pytest.raises(InputError, match="--jobs-preset: 0 for 1 files; give --jobs-preset once for all files"):
        recipe_of(None, {"jobs": ["a.csv"]})


@given(
    rates=st.lists(st.one_of(st.just(float("nan")), st.integers(0, 9).map(float)), min_size=1, max_size=12),
    bin_seconds=st.sampled_from([1, 2, 3, 5, 6]),
    step_seconds=st.integers(1, 7),
)
def test_a_step_takes_the_largest_rate_of_its_seconds(rates: list[float], bin_seconds: int, step_seconds: int) -> None:
    by_second = [rates[second // bin_seconds] for second in range(len(rates) * bin_seconds)]
    slow = [
        max((rate for rate in by_second[at : at + step_seconds] if not np.isnan(rate)), default=float("nan"))
        for at in range(0, len(by_second), step_seconds)
    ]
    np.testing.assert_array_equal(rate_by_step(np.array(rates), float(bin_seconds), step_seconds), slow)


def test_shares_are_the_relation_of_the_peaks() -> None:
    curves = {"a": np.array([1.0, 2.0]), "b": np.array([500.0, 250.0])}
    alike = scaled_demand(curves, 30)
    assert (alike["a"].tolist(), alike["b"].tolist()) == ([10, 20], [20, 10])
    shared = scaled_demand(curves, 30, {"a": 1.0, "b": 4.0})
    assert (shared["a"].max(), shared["b"].max()) == (7, 27)
