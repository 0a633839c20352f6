"""The measures against a slow account of the same story, second by second, and against formulas written out."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from loadfactor.engines import World
from loadfactor.replay.contestants import Setting, make_planner
from loadfactor.replay.measure import SIZE_CLASSES, Measures, Spread, Yardstick, measure, started_at
from loadfactor.replay.recorder import window_end
from loadfactor.replay.run import Replayed, replay
from tests.replay.stories import slow_account, story_of, tiny_world

POLICIES = ("fifo+peak", "priority+reactive", "backfill+reactive")
WORLDS = [(seed, losses) for seed in range(4) for losses in (0.0, 4.0)]


def replayed(world: World, policy: str) -> Replayed:
    return replay(world, make_planner(policy, Setting(world)), clock=lambda: 0.0)


def measured(world: World, policy: str, yardstick: Yardstick | None = None) -> Measures:
    return measure(policy, replayed(world, policy), yardstick)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("seed", "losses"), WORLDS)
def test_gpu_hours_are_those_of_a_slow_account(seed: int, losses: float, policy: str) -> None:
    world = tiny_world(seed, losses)
    story, _ = story_of(world, policy)
    slow = slow_account(world, story, window_end(world))
    told = measured(world, policy)
    hours = told.gpu_hours
    for use in ("jobs", "services", "padding", "job_starting", "replica_starting", "replica_stopping", "spare", "idle"):
        assert getattr(hours, use) * 3600 == pytest.approx(slow[use]), use
    assert hours.lost * 3600 == pytest.approx(slow["lost"])
    assert hours.total * 3600 == pytest.approx(sum(slow.values()) - slow["unmet"])
    assert told.shortfall.gpu_hours * 3600 == pytest.approx(slow["unmet"])
    available = sum(slow.values()) - slow["unmet"] - slow["lost"]
    assert told.utilization == pytest.approx((slow["jobs"] + slow["services"]) / available)
    assert told.utilization == pytest.approx(told.job_utilization + told.service_utilization)


def test_the_worlds_have_what_the_account_is_about() -> None:
    told = [measured(tiny_world(*world), policy) for world in WORLDS for policy in POLICIES]
    assert all(any(getattr(each.gpu_hours, use) > 0 for each in told) for use in ("padding", "spare", "lost", "idle"))
    assert sum(each.shortfall.gpu_hours > 0 for each in told) > len(told) / 2
    assert sum(each.jobs.losses > 0 for each in told) >= 4
    assert sum(each.jobs.destroyed_gpu_hours > 0 for each in told) >= 4


@pytest.mark.parametrize(("seed", "losses"), WORLDS)
def test_steps_met_and_the_longest_shortfall_are_those_of_a_slow_watch(seed: int, losses: float) -> None:
    world = tiny_world(seed, losses)
    story, _ = story_of(world, "priority+reactive")
    end, step = window_end(world), world.step_seconds
    unmet = [slow_account(world, story, second)["unmet"] for second in range(0, end + 1, step)]
    met = np.mean(np.diff(unmet) == 0)
    told = measured(world, "priority+reactive")
    assert told.shortfall.steps_met == pytest.approx(met)
    assert told.shortfall.longest_seconds == max(each.longest_seconds for each in told.shortfall_by_service.values())


def test_value_penalty_and_waits_are_the_formulas_written_out() -> None:
    world = tiny_world(1)
    run = replayed(world, "priority+reactive")
    told = measure("priority+reactive", run, Yardstick(realtime_penalty=5.0, hourly_decay=0.5, starved_hours=0.1))
    waits, value = [], 0.0
    for arrival in world.arrivals:
        job = run.state.jobs[run.state.row_of_job[arrival.job.id]]
        assert started_at(run, arrival) == job.given_at  # without faults the loop believes what is true
        hours = (job.given_at - arrival.at) / 3600
        waits.append(hours)
        value += arrival.job.priority * arrival.job.gpus * arrival.run_seconds / 3600 * 0.5**hours
    assert told.value == pytest.approx(value)
    unmet = {name: each.gpu_hours for name, each in told.shortfall_by_service.items()}
    assert told.penalty == pytest.approx(5.0 * (8 * unmet["chat"] + 2 * unmet["embed"]))
    assert told.objective == pytest.approx(told.value - told.penalty)
    assert (told.wait_hours.mean, told.wait_hours.most) == pytest.approx((np.mean(waits), max(waits)))
    assert told.jobs.starved == sum(wait > 0.1 for wait in waits)
    runs = [arrival.run_seconds for arrival in world.arrivals]
    slowdowns = [max(1, (3600 * wait + run) / max(run, 10)) for wait, run in zip(waits, runs, strict=True)]
    assert told.slowdown.mean == pytest.approx(np.mean(slowdowns))


def test_a_job_that_was_lost_waits_until_the_start_of_the_run_that_finished() -> None:
    run = replayed(tiny_world(2, losses=4.0), "fifo+peak")
    again = [
        arrival for arrival in run.world.arrivals
        if run.engine.logs[arrival.job.id].losses and run.engine.logs[arrival.job.id].outcome == "finished"
    ]  # fmt: skip
    assert again
    for arrival in again:
        job = run.state.jobs[run.state.row_of_job[arrival.job.id]]
        assert started_at(run, arrival) == job.given_at > job.first_given_at


def test_sizes_are_counted_once() -> None:
    told = measured(tiny_world(3), "fifo+peak")
    assert sum(each.count for each in told.wait_hours_by_size.values()) == told.wait_hours.count == 20
    assert [name for name, (low, high) in SIZE_CLASSES.items() for gpus in range(1, 40) if low <= gpus <= high] == (
        ["1"] + ["2-4"] * 3 + ["5-8"] * 4 + ["9+"] * 31
    )


def test_jobs_that_never_start_wait_until_the_end_of_the_world() -> None:
    world = tiny_world(1)
    cut = World(
        cluster=world.cluster, arrivals=world.arrivals, services=world.services, demand=world.demand,
        step_seconds=300, job_start_seconds=20, end=3000,
    )  # fmt: skip
    told = measured(cut, "fifo+peak", Yardstick(starved_hours=0.5))
    assert told.window_hours == 3000 / 3600
    assert told.jobs.unfinished >= told.jobs.never_started > 0
    assert told.wait_hours.count == sum(arrival.at <= 3000 for arrival in world.arrivals)


def test_the_same_world_gives_the_same_bytes() -> None:
    world = tiny_world(0, 4.0)
    first, second = (json.dumps(measured(world, "priority+reactive").to_document(timing=False)) for _ in range(2))
    assert first == second
    assert "timing" not in json.loads(first)


def test_a_spread_of_nothing_is_zero() -> None:
    assert Spread.of([]) == Spread(0, 0.0, 0.0, 0.0, 0.0, 0.0)
    some = Spread.of([1.0, 2.0, 6.0])
    assert (some.count, some.mean, some.median, some.most) == (3, 3.0, 2.0, 6.0)
    assert (some.p95, some.p99) == pytest.approx((5.6, 5.92))


def test_a_replay_without_deadline_never_falls_back() -> None:
    world = tiny_world(0)
    ticks = iter(range(10**9))
    slow = replay(
        world, make_planner("fifo+peak", Setting(world)), lambda: 100.0 * next(ticks), deadline_seconds=math.inf
    )
    quick = replay(world, make_planner("fifo+peak", Setting(world)), lambda: 0.0)
    assert (slow.loop.late, slow.engine.alarms) == (0, [])
    assert measure("fifo+peak", slow) == measure("fifo+peak", quick)
