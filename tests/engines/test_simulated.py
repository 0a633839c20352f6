"""The simulated engine: the contract of every engine, its times to the second, and promises that it holds others to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from loadfactor.control import JobRequest, ServiceRequest
from loadfactor.control.effects import CancelJob, SetTimer, StartJob, StartReplica, StopReplica
from loadfactor.control.events import (
    DemandMeasured,
    Event,
    GpusBack,
    JobEnded,
    JobStarted,
    JobSubmitted,
    ReplicaReady,
    ReplicaStopped,
    TimerFired,
)
from loadfactor.engines import Arrival, BrokenPromiseError, FaultRates, SimulatedEngine, Use, World
from tests.engines.contract import EngineContract, Stage
from tests.support.control import cluster

WORLD = World(
    cluster=cluster((4, 4)),
    arrivals=[
        Arrival(0, JobRequest("short", 1), 100),
        Arrival(0, JobRequest("long", 2), 1_000_000),
        Arrival(5, JobRequest("wide", 3), 100),
    ],
    services=(ServiceRequest("chat", 8.0, max_swap=4, start_seconds=90),),
    demand={"chat": np.array([1, 3, 0])},
)


class SimulatedRig:
    """The simulated engine in its rig."""

    settle_seconds = 2_000

    def __init__(self, world: World = WORLD) -> None:
        self.engine = SimulatedEngine(world)

    def now(self) -> int:
        return self.engine.now

    def lose(self, *gpus: int) -> None:
        self.engine._lose(gpus)

    def repair(self, *gpus: int) -> None:
        self.engine._regain(gpus)


class TestContract(EngineContract):
    """The suite of every engine, for the simulated one."""

    def make_rig(self) -> SimulatedRig:
        return SimulatedRig()


def events_of(world: World) -> list[Event]:
    engine, told = SimulatedEngine(world), []
    while (event := engine.next_event()) is not None:
        told.append(event)
    return told


@pytest.fixture
def stage() -> Stage:
    return Stage(SimulatedRig())


def test_a_start_takes_its_time_and_the_end_comes_to_the_second(stage: Stage) -> None:
    stage.hear(JobSubmitted)
    stage.want(StartJob, "short", 1, 0, 1)
    assert stage.hear(JobStarted).at == 60
    assert stage.hear(JobEnded).at == 160


def test_what_a_job_did_not_ask_for_is_padding(stage: Stage) -> None:
    for _ in range(3):
        stage.hear(JobSubmitted)
    stage.want(StartJob, "wide", 1, 4, 4)
    stage.hear(JobEnded)
    engine = stage.engine
    assert isinstance(engine, SimulatedEngine)
    assert engine.now == 165
    seconds = engine.ledger.seconds(165)
    assert seconds[Use.JOB_STARTING] == 4 * 60
    assert (seconds[Use.JOB_WORKING], seconds[Use.PADDING]) == (3 * 100, 1 * 100)
    assert seconds[Use.IDLE] == 8 * 165 - 4 * 160
    log = engine.logs["wide"]
    assert (log.starts, log.held_gpu_seconds, log.ended_at, log.outcome) == (1, 4 * 160, 165, "finished")


def test_a_replica_takes_its_time_to_load_and_to_stop(stage: Stage) -> None:
    stage.hear(DemandMeasured)
    stage.want(StartReplica, "chat", 7, 1)
    assert stage.hear(ReplicaReady).at == 90
    stage.want(SetTimer, 200)
    stage.hear(TimerFired)
    stage.want(StopReplica, "chat", 7, 1)
    assert stage.hear(ReplicaStopped).at == 230
    engine = stage.engine
    assert isinstance(engine, SimulatedEngine)
    seconds = engine.ledger.seconds(230)
    assert [seconds[use] for use in (Use.REPLICA_STARTING, Use.REPLICA_READY, Use.REPLICA_STOPPING)] == [90, 110, 30]
    meter = engine.meters["chat"]
    assert (meter.met, meter.unmet) == (110, 90)


def test_demand_is_told_at_the_end_of_every_step() -> None:
    told = [event for event in events_of(replace(WORLD, end=2_000)) if isinstance(event, DemandMeasured)]
    assert [(event.at, event.demand["chat"]) for event in told] == [(0, 1), (600, 1), (1200, 3), (1800, 0)]


def test_a_gpu_that_failed_twice_is_back_when_both_failures_are_repaired(stage: Stage) -> None:
    rig = stage.rig
    rig.lose(1)
    rig.lose(0, 1, 2, 3)
    rig.repair(1)
    assert stage.hear(GpusBack).gpus == ()
    rig.repair(0, 1, 2, 3)
    assert stage.hear(GpusBack).gpus == (0, 1, 2, 3)


@pytest.mark.parametrize("second", [2, 1])
def test_a_job_that_runs_or_is_over_must_not_be_started_again(stage: Stage, second: int) -> None:
    stage.hear(JobSubmitted)
    stage.want(StartJob, "short", 1, 0, 1)
    with pytest.raises(BrokenPromiseError, match="job 'short' is started again at second 0"):
        stage.want(StartJob, "short", second, 4, 1)
    stage.hear(JobEnded)
    with pytest.raises(BrokenPromiseError, match="job 'short' is started again at second 160"):
        stage.want(StartJob, "short", 3, 4, 1)


def test_the_world_ends_when_every_job_is_over_or_its_end_has_come() -> None:
    engine = SimulatedEngine(replace(WORLD, end=2_000))
    while engine.next_event() is not None:
        pass
    assert (engine.now, engine.open_jobs) == (2_000, 3)
    engine = SimulatedEngine(replace(WORLD, arrivals=WORLD.arrivals[:1]))
    engine.next_event()
    engine.carry_out(StartJob(1, "short", 1, 0, 1))
    while engine.next_event() is not None:
        pass
    assert (engine.now, engine.open_jobs) == (160, 0)


def test_the_last_words_about_jobs_arrive_before_the_world_ends() -> None:
    late = FaultRates(late=1.0, delay_seconds=5_000)
    for seed in range(20):
        engine = SimulatedEngine(replace(WORLD, arrivals=WORLD.arrivals[:1], faults=late, seed=seed))
        engine.carry_out(StartJob(1, "short", 1, 0, 1))
        told = []
        while (event := engine.next_event()) is not None:
            told.append(event)
        assert sum(isinstance(event, JobEnded) for event in told) == 1, f"seed {seed}"


def test_what_is_on_its_way_can_be_read_in_order() -> None:
    engine = SimulatedEngine(replace(WORLD, faults=FaultRates(late=1.0, delay_seconds=300)))
    for number, job in enumerate(("short", "long")):
        engine.carry_out(StartJob(number, job, 1, 4 * number, 1 + number))
    engine.carry_out(CancelJob(9, "long", 1))
    engine.carry_out(SetTimer(1))
    expected = engine.undelivered()
    assert [type(event) for event in expected[:1]] == [TimerFired]
    heard: list[Event] = []
    while len(heard) < 2:
        event = engine.next_event()
        heard += [event] if event in expected else []
    assert heard == expected[:2]


def test_who_really_holds_what_can_be_read(stage: Stage) -> None:
    engine = stage.engine
    assert isinstance(engine, SimulatedEngine)
    stage.want(StartJob, "long", 1, 0, 2)
    stage.want(StartReplica, "chat", 7, 1)
    stage.rig.lose(4, 3)
    assert engine.holdings() == {0: "job long", 1: "job long", 7: "service chat"}
    assert engine.lost_gpus() == [3, 4]
