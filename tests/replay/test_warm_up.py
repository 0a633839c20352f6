"""The recipe's warm-up, moldable jobs and needs: what is measured, what is drawn, what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from loadfactor.errors import InputError
from loadfactor.model import to_json
from loadfactor.replay.bound import bound_objective, bound_utilization
from loadfactor.replay.build import build_scenario
from loadfactor.replay.contestants import Setting, make_planner
from loadfactor.replay.measure import Measures, measure
from loadfactor.replay.reachable import bounds_of
from loadfactor.replay.recorder import window_end
from loadfactor.replay.report import replay_report
from loadfactor.replay.run import replay
from loadfactor.replay.view import introduction
from tests.replay.stories import slow_account, small_recipe, story_of, tiny_world


def measured(seed: int, policy: str, measured_from: int) -> Measures:
    world = tiny_world(seed, losses=2.0)
    planner = make_planner(policy, Setting(world))
    return measure(policy, replay(world, planner, clock=lambda: 0.0, measured_from=measured_from))


@pytest.mark.parametrize("policy", ["fifo+peak", "priority+reactive"])
@pytest.mark.parametrize(("seed", "since"), [(0, 600), (1, 1_000), (2, 1_234), (3, 300)])
def test_gpu_hours_are_those_of_a_slow_account_since_the_warm_up(seed: int, since: int, policy: str) -> None:
    world = tiny_world(seed, losses=2.0)
    story, _ = story_of(world, policy)
    whole, before = (slow_account(world, story, until) for until in (window_end(world), since))
    told = measured(seed, policy, since)
    for use in ("jobs", "services", "padding", "job_starting", "replica_starting", "replica_stopping", "spare", "idle"):
        assert getattr(told.gpu_hours, use) * 3600 == pytest.approx(whole[use] - before[use]), use
    assert told.shortfall.gpu_hours * 3600 == pytest.approx(whole["unmet"] - before["unmet"])
    assert told.window_hours * 3600 == pytest.approx(window_end(world) - since)
    assert told.jobs.submitted == sum(arrival.at >= since for arrival in world.arrivals) < len(world.arrivals)
    assert told.wait_hours.count == told.jobs.submitted
    assert told.shortfall.longest_seconds <= window_end(world) - since


def test_without_a_warm_up_all_is_measured() -> None:
    world = tiny_world(1)
    planner = make_planner("fifo+peak", Setting(world))
    assert measure("fifo+peak", replay(world, planner, lambda: 0.0)) == measure(
        "fifo+peak", replay(world, make_planner("fifo+peak", Setting(world)), lambda: 0.0, measured_from=world.begin)
    )


def test_the_report_says_that_it_warmed_up(tmp_path: Path) -> None:
    scenario = build_scenario(small_recipe(tmp_path, warm_up_days=0.02))
    assert scenario.measured_from() == 1_728
    assert "Measured after a warm-up of 0.02 days." in introduction(scenario)
    report = replay_report(scenario)
    assert {each.jobs.submitted for each in report.measures} == {1}
    assert report.to_document()["recipe"]["warm_up_days"] == 0.02


def test_a_warm_up_that_leaves_nothing_is_refused(tmp_path: Path) -> None:
    told = "warm_up_days: the last job comes after 0.05 days, and measures would begin after 1; warm up for less"
    with pytest.raises(InputError, match=told):
        build_scenario(small_recipe(tmp_path, warm_up_days=1))


def test_a_bound_is_not_proven_for_what_it_does_not_know(tmp_path: Path) -> None:
    warm = build_scenario(small_recipe(tmp_path, warm_up_days=0.02))
    with pytest.raises(InputError, match="bound: bounds are proven for a replay that is measured from its beginning"):
        bounds_of(warm)
    world = build_scenario(small_recipe(tmp_path, moldable={"share": 1.0})).world
    for bound in (bound_objective, lambda world: bound_utilization(world, 600)):
        with pytest.raises(InputError, match="bound: 4 jobs are moldable, and bounds are proven for one size a job"):
            bound(world)


def test_moldable_jobs_do_the_same_work(tmp_path: Path) -> None:
    rigid = build_scenario(small_recipe(tmp_path)).world
    scenario = build_scenario(small_recipe(tmp_path, moldable={"share": 1.0, "down": 4, "up": 2}))
    for before, after in zip(rigid.arrivals, scenario.world.arrivals, strict=True):
        assert (after.job.gpus, after.job.most) == (max(1, before.job.gpus // 4), 2 * before.job.gpus)
        assert 0 <= after.gpu_seconds - before.gpu_seconds < after.job.gpus
        assert after.job.work_gpu_seconds == (before.job.limit_seconds or 0) * before.job.gpus
        assert replace(after, job=before.job, run_seconds=before.run_seconds) == before
    assert "4 of the jobs are moldable." in introduction(scenario)
    first, again = (to_json(replay_report(scenario).to_document(timing=False)) for _ in range(2))
    assert first == again
    assert all(each.jobs.finished == 4 for each in replay_report(scenario).measures)


def test_a_share_of_moldable_jobs_changes_no_other_draw(tmp_path: Path) -> None:
    rigid, some = (
        build_scenario(small_recipe(tmp_path, seed=2, moldable={"share": share})).world for share in (0.0, 0.5)
    )
    changed = [old != new for old, new in zip(rigid.arrivals, some.arrivals, strict=True)]
    assert 0 < sum(changed) < len(changed)
    assert [each.job.priority for each in rigid.arrivals] == [each.job.priority for each in some.arrivals]


def test_logs_and_services_may_need_certain_gpus(tmp_path: Path) -> None:
    recipe = small_recipe(tmp_path, cluster="2x8:H100-80GB")
    jobs = [recipe.jobs[0].model_copy(update={"gpu_types": ("H100-80GB",)})]
    services = [recipe.services[0].model_copy(update={"gpu_memory_gib": 40.0})]
    world = build_scenario(recipe.model_copy(update={"jobs": tuple(jobs), "services": tuple(services)})).world
    assert {arrival.job.gpu_types for arrival in world.arrivals} == {("H100-80GB",)}
    assert world.services[0].gpu_memory_gib == 40.0


def test_needs_that_no_node_meets_are_refused(tmp_path: Path) -> None:
    document = small_recipe(tmp_path)
    with pytest.raises(InputError) as caught:
        small_recipe(tmp_path, jobs=[{**_log(document), "gpu_types": ["L40"]}])
    assert str(caught.value) == (
        "jobs[0]: no node has the type and memory that it needs; correct gpu_types or gpu_memory_gib, or state the "
        "nodes' own"
    )


def _log(recipe: object) -> dict[str, object]:
    columns = {"id": "id", "submit": "at", "duration": "ran", "gpus": "gpus"}
    return {"file": "jobs.csv", "format": {"times": "seconds", "columns": columns}}
