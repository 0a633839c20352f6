"""What events about replicas, GPUs, nodes, demand and timers do to the state."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from loadfactor.control import ClusterState
from loadfactor.control.changes import DemandIsKnown, ForecastIsGiven, GridChanged
from loadfactor.control.effects import RaiseAlarm, StartReplica, StopReplica
from loadfactor.control.events import (
    DemandMeasured,
    Event,
    ForecastUpdated,
    GpusBack,
    GpusDrained,
    GpusLost,
    GpusResumed,
    JobLost,
    NodeDrained,
    NodeResumed,
    ReplicaReady,
    ReplicaStopped,
    TimerFired,
)
from loadfactor.control.records import JobPhase, ReplicaPhase
from loadfactor.control.state import FREE, owner_of_service
from tests.support.control import Bench, cluster

CHANGED: tuple[list[object], list[object]] = ([GridChanged()], [])
NOTHING: tuple[list[object], list[object]] = ([], [])


def lost(bench: Bench) -> list[int]:
    return [gpu for gpu, gone in enumerate(bench.state.lost.tolist()) if gone]


def usable(bench: Bench) -> list[int]:
    return [gpu for gpu, free in enumerate(bench.state.usable().tolist()) if free]


# Replicas


def test_a_replica_starts_serves_stops_and_is_gone() -> None:
    bench = Bench()
    (service, _) = bench.state.services
    assert bench.give(9, 8) == [StartReplica(1, "chat", 9, 1), StartReplica(2, "chat", 8, 2)]
    assert bench.state.owner[9] == owner_of_service(0)
    assert bench.tell(ReplicaReady(90, "chat", 9, 1)) == NOTHING
    assert [replica.phase for replica in service.replicas.values()] == [ReplicaPhase.READY, ReplicaPhase.STARTING]
    assert bench.take(9) == [StopReplica(3, "chat", 9, 1)]
    assert (service.held(), bench.state.stopping[9], bench.state.owner[9]) == (1, True, owner_of_service(0))
    assert bench.tell(ReplicaStopped(120, "chat", 9, 1)) == CHANGED
    assert (sorted(service.replicas), bench.state.owner[9], bench.state.stopping[9]) == ([8], FREE, False)


def test_a_replica_that_stops_does_not_become_ready_again() -> None:
    bench = Bench()
    bench.give(9)
    bench.take(9)
    assert bench.tell(ReplicaReady(90, "chat", 9, 1)) == NOTHING
    assert bench.state.services[0].replicas[9].phase is ReplicaPhase.STOPPING


STRANGE: list[Event] = [
    ReplicaReady(90, "chat", 9, 2),
    ReplicaReady(90, "chat", 8, 1),
    ReplicaReady(90, "search", 9, 1),
    ReplicaReady(90, "stranger", 9, 1),
    ReplicaStopped(90, "chat", 9, 2),
    ReplicaStopped(90, "chat", 8, 1),
    ReplicaStopped(90, "chat", 99, 1),
    ReplicaStopped(90, "stranger", 9, 1),
]


@pytest.mark.parametrize("event", STRANGE, ids=str)
def test_news_of_another_replica_changes_nothing(event: Event) -> None:
    bench = Bench()
    bench.give(9)
    bench.state.now = 90
    before = bench.document()
    assert bench.tell(event) == NOTHING
    assert bench.document() == before


def test_old_news_of_a_replica_does_not_stop_the_next_one() -> None:
    bench = Bench()
    bench.give(9)
    bench.tell(ReplicaStopped(90, "chat", 9, 1))
    bench.give(9)
    assert bench.tell(ReplicaStopped(91, "chat", 9, 1)) == NOTHING
    assert bench.state.services[0].replicas[9].attempt == 2


def test_swaps_are_counted_by_step() -> None:
    bench = Bench()
    service = bench.state.services[0]
    bench.give(9, 8)
    bench.take(9)
    assert bench.state.swaps_left(service) == 0
    bench.tell(TimerFired(599))
    assert bench.state.swaps_left(service) == 0
    bench.tell(TimerFired(600))
    assert bench.state.swaps_left(service) == 3
    bench.give(7)
    assert bench.state.swaps_left(service) == 2


# GPUs and nodes


def test_lost_gpus_are_out_of_use_until_they_are_back() -> None:
    bench = Bench()
    job = bench.running(first_gpu=4)
    assert bench.tell(GpusLost(30, (4, 5, 6, 7), 1)) == CHANGED
    assert (lost(bench), usable(bench)) == ([4, 5, 6, 7], [0, 1, 2, 3, 8, 9])
    assert job.phase is JobPhase.RUNNING, "what died is told by an event of its own"
    bench.tell(JobLost(30, "job", 1))
    assert usable(bench) == [0, 1, 2, 3, 8, 9]
    assert bench.tell(GpusBack(60, (4, 5), 2)) == CHANGED
    assert lost(bench) == [6, 7]


def test_of_two_events_about_a_gpu_the_higher_number_counts_whatever_the_clock_said() -> None:
    bench = Bench()
    bench.tell(GpusBack(60, (4, 5), 2))
    bench.tell(GpusLost(90, (4, 5, 6, 7), 1))
    assert lost(bench) == [6, 7], "the loss of GPUs 4 and 5 is older than their return"
    bench.tell(GpusLost(10, (4,), 3))
    bench.tell(GpusBack(60, (4, 5), 2))
    assert lost(bench) == [4, 6, 7]


def test_gpus_and_nodes_that_do_not_exist_are_nobodys() -> None:
    bench = Bench()
    bench.tell(GpusLost(10, (9, 10, -1), 1))
    assert lost(bench) == [9]
    for node in (-1, 3):
        assert bench.tell(NodeDrained(10, node, 1)) == NOTHING
        assert bench.tell(NodeResumed(10, node, 2)) == NOTHING
    assert not bench.state.drained.any()


def test_a_drained_node_goes_on_with_what_it_has_and_takes_nothing_new() -> None:
    bench = Bench()
    job = bench.running(first_gpu=4)
    assert bench.tell(NodeDrained(30, 1, 1)) == CHANGED
    assert bench.tell(NodeDrained(30, 1, 1)) == NOTHING
    assert (job.phase, usable(bench)) == (JobPhase.RUNNING, [0, 1, 2, 3, 8, 9])
    bench.tell(JobLost(40, "job", 1))
    assert usable(bench) == [0, 1, 2, 3, 8, 9]
    assert bench.tell(NodeResumed(50, 1, 2)) == CHANGED
    assert bench.tell(NodeResumed(50, 1, 2)) == NOTHING
    assert usable(bench) == list(range(10))


def test_a_node_that_is_drained_and_lost_needs_both_to_be_over() -> None:
    bench = Bench()
    bench.tell(NodeDrained(30, 2, 1))
    bench.tell(GpusLost(31, (8, 9), 1))
    bench.tell(NodeResumed(32, 2, 2))
    assert 8 not in usable(bench)
    bench.tell(GpusBack(33, (8, 9), 2))
    assert usable(bench) == list(range(10))


# Demand and timers


def test_demand_is_noted_and_told() -> None:
    bench = Bench()
    assert bench.tell(DemandMeasured(600, {"chat": 3, "stranger": 9})) == ([DemandIsKnown(600, {"chat": 3})], [])
    assert [service.demand for service in bench.state.services] == [3, 0]
    assert bench.tell(DemandMeasured(1200, {"stranger": 9})) == NOTHING


def test_demand_that_comes_late_or_twice_counts_for_nothing() -> None:
    bench = Bench()
    bench.tell(DemandMeasured(600, {"chat": 3}))
    assert bench.tell(DemandMeasured(600, {"chat": 3})) == NOTHING
    assert bench.tell(DemandMeasured(0, {"chat": 1})) == NOTHING
    assert bench.tell(DemandMeasured(300, {"chat": 1, "search": 2})) == ([DemandIsKnown(300, {"search": 2})], [])
    assert [service.demand for service in bench.state.services] == [3, 2]


def test_a_timer_asks_for_a_decision() -> None:
    bench = Bench()
    assert bench.tell(TimerFired(70)) == CHANGED
    assert bench.state.now == 70


def test_of_two_measurements_the_higher_number_is_newer() -> None:
    bench = Bench()
    bench.tell(DemandMeasured(600, {"chat": 3}, 2))
    assert bench.tell(DemandMeasured(1_200, {"chat": 1}, 1)) == NOTHING
    assert bench.tell(DemandMeasured(600, {"chat": 2}, 3)) == ([DemandIsKnown(600, {"chat": 2})], [])


def test_drains_and_resumes_count_by_their_numbers_gpu_by_gpu() -> None:
    bench = Bench()
    bench.tell(NodeResumed(50, 1, 3))
    assert bench.tell(NodeDrained(60, 1, 2)) == NOTHING
    bench.tell(GpusDrained(60, (5, 8), 4))
    assert usable(bench) == [0, 1, 2, 3, 4, 6, 7, 9]
    bench.tell(NodeResumed(70, 1, 5))
    assert bench.tell(GpusDrained(60, (5,), 4)) == NOTHING
    assert bench.tell(GpusResumed(80, (8,), 5)) == CHANGED
    assert usable(bench) == list(range(10))


# A clock that runs wild

YEAR = 366 * 86_400


def test_a_measurement_dated_years_ahead_counts_now_and_holds_nothing_back() -> None:
    bench = Bench()
    bench.tell(DemandMeasured(600, {"chat": 1}, 1))
    changes, (alarm,) = bench.tell(DemandMeasured(YEAR, {"chat": 2}, 2))
    assert changes == [DemandIsKnown(600, {"chat": 2})]
    assert isinstance(alarm, RaiseAlarm)
    assert "dated 31621800 seconds ahead" in alarm.text
    assert bench.state.now == 600
    assert bench.tell(DemandMeasured(1_200, {"chat": 3}, 3)) == ([DemandIsKnown(1_200, {"chat": 3})], [])
    assert (bench.state.services[0].demand, bench.state.now) == (3, 1_200)


def test_the_clock_moves_far_ahead_where_a_second_event_agrees() -> None:
    bench = Bench()
    bench.tell(TimerFired(600))
    for _ in range(3):
        bench.tell(TimerFired(YEAR))
        assert bench.state.now == 600, "the same message again is no second witness"
    bench.tell(TimerFired(YEAR + 60))
    assert bench.state.now == YEAR + 60


def test_a_sound_event_between_two_wild_ones_makes_them_strangers() -> None:
    bench = Bench()
    for at in (600, YEAR, 700, YEAR + 60):
        bench.tell(TimerFired(at))
    assert bench.state.now == 700


def test_a_cluster_without_services_may_be_silent_for_long() -> None:
    bench = Bench(ClusterState(cluster(), (), 600))
    assert bench.tell(TimerFired(YEAR))[1] == []
    assert bench.state.now == YEAR


# Forecasts from outside


SOUND = ForecastUpdated(600, "chat", 1, 600, 600, (0.5, 0.9), ((1.0, 2.0), (2.0, 4.0)), 1_800)


def forecast(**fields: Any) -> ForecastUpdated:
    return replace(SOUND, **fields)


def test_a_forecast_is_noted_and_told_and_an_older_one_is_not() -> None:
    bench = Bench()
    service = bench.state.services[0]
    assert bench.tell(forecast(number=2)) == ([ForecastIsGiven(service)], [])
    assert service.forecast is not None
    assert bench.tell(forecast(number=1, fresh_until=9_000)) == NOTHING
    assert service.forecast.fresh_until == 1_800
    assert bench.tell(forecast(service_id="stranger")) == NOTHING


@pytest.mark.parametrize(
    "fields",
    [
        {"quantiles": (0.9, 0.5)},
        {"quantiles": (0.5, 1.0)},
        {"quantiles": ()},
        {"demand": ((1.0, 2.0),)},
        {"demand": ((1.0, 2.0), (1.0,))},
        {"demand": ((), ())},
        {"demand": ((1.0, 2.0), (1.0, float("nan")))},
        {"demand": ((1.0, 2.0), (1.0, -1.0))},
        {"step_seconds": 0},
    ],
    ids=str,
)
def test_a_forecast_without_sense_is_refused_with_an_alarm(fields: dict[str, Any]) -> None:
    bench = Bench()
    changes, (alarm,) = bench.tell(forecast(**fields))
    assert changes == []
    assert isinstance(alarm, RaiseAlarm)
    assert alarm.text.startswith("a forecast for 'chat' has ")
    assert bench.state.services[0].forecast is None
