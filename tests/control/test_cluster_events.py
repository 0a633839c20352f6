"""What events about replicas, GPUs, nodes, demand and timers do to the state."""

from __future__ import annotations

import pytest

from loadfactor.control.changes import DemandIsKnown, GridChanged
from loadfactor.control.effects import StartReplica, StopReplica
from loadfactor.control.events import (
    DemandMeasured,
    Event,
    GpusBack,
    GpusLost,
    JobLost,
    NodeDrained,
    NodeResumed,
    ReplicaReady,
    ReplicaStopped,
    TimerFired,
)
from loadfactor.control.records import JobPhase, ReplicaPhase
from loadfactor.control.state import FREE, owner_of_service
from tests.support.control import Bench

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
        assert bench.tell(NodeDrained(10, node)) == NOTHING
        assert bench.tell(NodeResumed(10, node)) == NOTHING
    assert not bench.state.drained.any()


def test_a_drained_node_goes_on_with_what_it_has_and_takes_nothing_new() -> None:
    bench = Bench()
    job = bench.running(first_gpu=4)
    for _ in range(2):
        assert bench.tell(NodeDrained(30, 1)) == CHANGED
    assert (job.phase, usable(bench)) == (JobPhase.RUNNING, [0, 1, 2, 3, 8, 9])
    bench.tell(JobLost(40, "job", 1))
    assert usable(bench) == [0, 1, 2, 3, 8, 9]
    for _ in range(2):
        assert bench.tell(NodeResumed(50, 1)) == CHANGED
    assert usable(bench) == list(range(10))


def test_a_node_that_is_drained_and_lost_needs_both_to_be_over() -> None:
    bench = Bench()
    bench.tell(NodeDrained(30, 2))
    bench.tell(GpusLost(31, (8, 9), 1))
    bench.tell(NodeResumed(32, 2))
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
