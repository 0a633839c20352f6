"""Moldable jobs and jobs that need certain GPUs, under every planner; forecasts that come from outside."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import msgspec
import numpy as np
import pytest

from loadfactor.control import ClusterState, Decision, JobRequest, Machine, Planner, Referee, ServiceRequest
from loadfactor.control.changes import ForecastIsGiven
from loadfactor.control.events import DemandMeasured, Event, ForecastUpdated, GpusLost, JobSubmitted
from loadfactor.control.planners import HorizonSettings, ServiceCurves
from loadfactor.control.planners.given import given_demand
from loadfactor.control.records import GivenForecast
from loadfactor.engines import Arrival, World
from loadfactor.foresight import LastValue
from loadfactor.replay.contestants import CONTESTANTS, Setting, make_planner
from tests.planners.states import MIXED, cluster
from tests.planners.worlds import lived, world

SMALL = HorizonSettings(steps=48, depth=40)
NAMES = sorted(set(CONTESTANTS) - {"fast+full"})
BASELINES = [name for name in NAMES if name != "fast"]


def decided(jobs: list[JobRequest], name: str, lost: tuple[int, ...] = ()) -> tuple[ClusterState, Decision]:
    """Return what a planner decides where `jobs` have just come, on two nodes of H100 and one of L40."""
    state = ClusterState(cluster(kinds=MIXED), (), 600)
    machine = Machine(state)
    arrivals = [Arrival(0, job, 600) for job in jobs]
    planner: Planner = make_planner(name, Setting(World(state.cluster, arrivals), horizon=SMALL))
    events: list[Event] = [GpusLost(0, lost, 1), *(JobSubmitted(0, job) for job in jobs)]
    for event in events:
        for change in machine.handle(event)[0]:
            planner.notice(change, state)
    decision = planner.decide(state, 0)
    assert Referee(state).faults(decision) == []
    return state, decision


def blocks(jobs: list[JobRequest], name: str, lost: tuple[int, ...] = ()) -> dict[str, range]:
    state, decision = decided(jobs, name, lost)
    return {state.jobs[start.row].request.id: start.block(state) for start in decision.starts}


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_start_a_moldable_job_at_its_largest_size(name: str) -> None:
    job = JobRequest("job", 1, most_gpus=11, work_gpu_seconds=4_000)
    assert len(blocks([job], name)["job"]) == 8


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_take_a_smaller_size_where_nobody_can_say_when_the_largest_is_free(name: str) -> None:
    job = JobRequest("job", 1, most_gpus=12, work_gpu_seconds=4_000)
    assert len(blocks([job], name, lost=(5,))["job"]) == 4


@pytest.mark.parametrize("name", NAMES)
def test_a_job_gets_gpus_that_meet_its_needs(name: str) -> None:
    jobs = [
        JobRequest("typed", 4, gpu_types=("L40",), limit_seconds=600),
        JobRequest("large", 2, gpu_memory_gib=60.0, limit_seconds=600),
        JobRequest("both", 8, gpu_types=("H100",), gpu_memory_gib=60.0, limit_seconds=600),
    ]
    found = blocks(jobs, name)
    assert found["typed"] == range(8, 12)
    assert found.get("large", range(2)).stop <= 8
    assert not ("large" in found and "both" in found)


def test_fast_lets_moldable_jobs_share_what_there_is() -> None:
    jobs = [JobRequest(f"job-{each}", 1, most_gpus=12, work_gpu_seconds=12 * 3_600, priority=4.0) for each in range(3)]
    found = blocks(jobs, "fast")
    assert len(found) >= 1
    assert sum(map(len, found.values())) == 12


def mixed_world(seed: int) -> World:
    """Return the small world with nodes of two types, needs, and moldable jobs."""
    plain, rng = world(seed), Random(seed)
    kinds = (("H100", 80.0), ("H100", 80.0), ("L40", 48.0), ("L40", 48.0))
    arrivals = []
    for arrival in plain.arrivals:
        job = arrival.job
        kind = rng.choice((None, None, "H100", "L40")) if job.gpus <= 4 else None
        moldable = rng.random() < 0.5 and job.gpus < 8
        changed = msgspec.structs.replace(
            job,
            gpu_types=None if kind is None else (kind,),
            most_gpus=4 * job.gpus if moldable else None,
            work_gpu_seconds=job.gpus * (job.limit_seconds or 1) if moldable else None,
        )
        arrivals.append(replace(arrival, job=changed))
    service = msgspec.structs.replace(plain.services[0], gpu_memory_gib=40.0)
    demand = {"chat": np.minimum(plain.demand["chat"], 3)}  # peaks leave a node of either type
    return replace(plain, cluster=cluster(4, kinds=kinds), arrivals=arrivals, services=[service], demand=demand)


@pytest.mark.parametrize("name", NAMES)
def test_every_contestant_finishes_every_job_of_a_mixed_world(name: str) -> None:
    described = mixed_world(1)
    replayed = lived(described, make_planner(name, Setting(described, horizon=SMALL)))
    assert {job.outcome for job in replayed.state.jobs} == {"finished"}
    assert replayed.engine.alarms == []
    assert replayed.loop.illegal == replayed.loop.late == 0
    for job, arrival in zip(replayed.state.jobs, described.arrivals, strict=True):
        work = job.request.gpus * arrival.run_seconds
        run = -(-work // job.size) if job.request.work_gpu_seconds else arrival.run_seconds
        assert job.ended_at - job.started_at == run, "ceil(work / size)"
    assert len({job.size for job in replayed.state.jobs if len(job.sizes) > 1}) > 1


# Forecasts from outside

GIVEN = GivenForecast(1, 1_000, 300, (0.5, 0.9), ((1.0, 2.0, 3.0, 4.0), (2.0, 4.0, 6.0, 8.0)), 2_000)


def test_a_forecast_is_read_at_a_quantile_step_by_step() -> None:
    assert given_demand(GIVEN, 1_000, 3, 600, 0.9).tolist() == pytest.approx([4.0, 8.0, np.nan], nan_ok=True)
    assert given_demand(GIVEN, 1_000, 1, 600, 0.7).tolist() == pytest.approx([3.0])
    assert given_demand(GIVEN, 1_000, 1, 600, 0.1).tolist() == [2.0]
    assert given_demand(GIVEN, 1_000, 1, 600, 0.99).tolist() == [4.0]
    assert given_demand(GIVEN, 1_150, 2, 300, 0.9).tolist() == [4.0, 6.0]
    assert np.isnan(given_demand(GIVEN, 700, 1, 600, 0.9)).all(), "it says nothing of the first half"


def test_a_fresh_forecast_goes_before_our_own_and_a_stale_one_does_not() -> None:
    state = ClusterState(cluster(), [ServiceRequest("chat", 8.0, 4)], 600)
    machine, curves = Machine(state), ServiceCurves({"chat": LastValue()}, 0.9, 0.5)

    def tell(event: DemandMeasured | ForecastUpdated) -> list[int]:
        for change in machine.handle(event)[0]:
            curves.notice(change, state)
        found: list[int] = curves.curves(state, 4)[0].tolist()
        return found

    assert tell(DemandMeasured(600, {"chat": 1}, 1)) == [1, 1, 1, 1]
    forecast = ForecastUpdated(610, "chat", 1, 600, 600, (0.5, 0.9), ((2.0, 3.0), (4.0, 6.0)), 1_800)
    assert tell(forecast) == [4, 3, 1, 1], "the next step at 0.9, later ones at the median, then our own"
    assert tell(DemandMeasured(1_200, {"chat": 1}, 2)) == [6, 1, 1, 1]
    assert tell(DemandMeasured(1_800, {"chat": 1}, 3)) == [1, 1, 1, 1], "it is no longer fresh"


def test_a_forecast_lets_services_grow_within_the_step() -> None:
    described = replace(world(), arrivals=())
    state = ClusterState(described.cluster, described.services, 600)
    machine, planner = Machine(state), make_planner("fast", Setting(described, horizon=SMALL))
    planner.decide(state, 0)
    forecast = ForecastUpdated(60, "chat", 1, 0, 600, (0.5, 0.9), ((2.0,) * 9, (2.0,) * 9), 1_800)
    (change,) = machine.handle(forecast)[0]
    assert isinstance(change, ForecastIsGiven)
    planner.notice(change, state)
    assert len(planner.decide(state, 60).given) == 2
