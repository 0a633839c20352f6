"""What every engine must do, whatever its clock: one suite, which each engine's tests inherit and run.

An engine is brought by a `Rig`. It offers two nodes of at least four GPUs, GPUs 0 to 3 in the first, and tells of three
jobs: `short` (1 GPU, ends by itself), `long` (2 GPUs, runs until it is ended) and `wide` (4 GPUs, ends by itself). The
service `chat` needs a while to load its model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import pytest

from loadfactor.control.effects import (
    CancelJob,
    Command,
    Effect,
    RaiseAlarm,
    SetTimer,
    StartJob,
    StartReplica,
    StopReplica,
)
from loadfactor.control.events import (
    Event,
    GpusBack,
    GpusLost,
    JobEnded,
    JobLost,
    JobStarted,
    JobSubmitted,
    ReplicaReady,
    ReplicaStopped,
    StartRefused,
    TimerFired,
)
from loadfactor.engines import Engine

Kind = TypeVar("Kind", bound=Event)
MOST_EVENTS = 1_000


class Rig(Protocol):
    """An engine under test, and what must be done to it from outside."""

    @property
    def engine(self) -> Engine:
        """Return the engine."""
        ...

    @property
    def settle_seconds(self) -> int:
        """Return after how long all that was wanted has happened, and `short` and `wide` have ended."""
        ...

    def now(self) -> int:
        """Return the second that the engine's clock shows."""
        ...

    def lose(self, *gpus: int) -> None:
        """Let GPUs fail."""
        ...

    def repair(self, *gpus: int) -> None:
        """Let GPUs that failed serve again."""
        ...


class Stage:
    """Numbers effects, and gathers what is told."""

    def __init__(self, rig: Rig) -> None:
        self.rig, self.engine = rig, rig.engine
        self.number = 0
        self.told: list[Event] = []

    def want(self, make: Callable[..., Effect], *fields: object, times: int = 1) -> Effect:
        """Want something, by the fields behind the number that commands have; return the effect."""
        if isinstance(make, type) and issubclass(make, Command):
            self.number += 1
            fields = (self.number, *fields)
        effect = make(*fields)
        for _ in range(times):
            self.engine.carry_out(effect)
        return effect

    def hear(self, kind: type[Kind]) -> Kind:
        """Listen until an event of a kind is told; return it."""
        for _ in range(MOST_EVENTS):
            event = self.engine.next_event()
            assert event is not None, f"the engine fell silent before any {kind.__name__}"
            self.told.append(event)
            if isinstance(event, kind):
                return event
        raise AssertionError(f"no {kind.__name__} in {MOST_EVENTS} events")

    def settle(self) -> list[Event]:
        """Wait until all that was wanted has happened; return what was told meanwhile, without demand and timers."""
        before = len(self.told)
        self.want(SetTimer, self.rig.now() + self.rig.settle_seconds)
        self.hear(TimerFired)
        kinds = (JobStarted, JobEnded, JobLost, StartRefused, ReplicaReady, ReplicaStopped, GpusLost, GpusBack)
        return [event for event in self.told[before:] if isinstance(event, kinds)]


def kinds(events: list[Event]) -> list[str]:
    """Return the names of the events' kinds."""
    return [type(event).__name__ for event in events]


class EngineContract:
    """The suite; a subclass says how to make a rig."""

    def make_rig(self) -> Rig:
        """Return a fresh engine in its rig."""
        raise NotImplementedError

    @pytest.fixture
    def stage(self) -> Stage:
        stage = Stage(self.make_rig())
        names = {stage.hear(JobSubmitted).job.id for _ in range(3)}
        assert names == {"short", "long", "wide"}
        return stage

    def test_the_inventory_has_nodes_and_does_not_change(self) -> None:
        engine = self.make_rig().engine
        cluster = engine.inventory()
        assert [node.gpus >= 4 for node in cluster.nodes[:2]] == [True, True]
        assert engine.inventory() == cluster

    def test_a_job_starts_and_ends(self, stage: Stage) -> None:
        stage.want(StartJob, "short", 1, 0, 1)
        started, ended = stage.settle()
        assert isinstance(started, JobStarted)
        assert isinstance(ended, JobEnded)
        assert (started.job_id, started.attempt) == (ended.job_id, ended.attempt) == ("short", 1)
        assert ended.outcome == "finished"
        assert started.at < ended.at

    def test_what_was_done_already_is_not_done_again(self, stage: Stage) -> None:
        effects = [
            stage.want(StartJob, "short", 1, 0, 1, times=2),
            stage.want(StartReplica, "chat", 3, 1, times=2),
            stage.want(RaiseAlarm, 0, "nothing happened", times=2),
        ]
        assert sorted(kinds(stage.settle())) == ["JobEnded", "JobStarted", "ReplicaReady"]
        for effect in effects:
            stage.engine.carry_out(effect)
        assert stage.settle() == []

    def test_a_start_on_gpus_in_use_is_refused_and_harms_nobody(self, stage: Stage) -> None:
        stage.want(StartJob, "short", 1, 1, 1)
        stage.want(StartJob, "wide", 1, 0, 4)
        refused = stage.hear(StartRefused)
        assert (refused.job_id, refused.attempt) == ("wide", 1)
        assert refused.reason
        assert kinds(stage.settle())[-1:] == ["JobEnded"]
        stage.want(StartJob, "wide", 2, 0, 4)
        started, ended = stage.settle()
        assert isinstance(started, JobStarted)
        assert started.attempt == 2
        assert isinstance(ended, JobEnded)

    def test_a_start_on_lost_gpus_is_refused(self, stage: Stage) -> None:
        stage.rig.lose(2)
        stage.hear(GpusLost)
        stage.want(StartJob, "wide", 1, 0, 4)
        assert stage.hear(StartRefused).job_id == "wide"
        stage.want(StartReplica, "chat", 2, 1)
        assert kinds(stage.settle()) == ["ReplicaStopped"]

    def test_a_running_job_can_be_ended_once(self, stage: Stage) -> None:
        stage.want(StartJob, "long", 1, 0, 2)
        stage.hear(JobStarted)
        stage.want(CancelJob, "long", 1, times=2)
        (ended,) = stage.settle()
        assert isinstance(ended, JobEnded)
        assert (ended.job_id, ended.attempt, ended.outcome) == ("long", 1, "cancelled")
        stage.want(CancelJob, "long", 1)
        assert stage.settle() == []

    def test_ending_another_attempt_or_a_job_that_does_not_run_does_nothing(self, stage: Stage) -> None:
        stage.want(CancelJob, "long", 1)
        stage.want(StartJob, "long", 2, 0, 2)
        stage.hear(JobStarted)
        stage.want(CancelJob, "long", 1)
        assert stage.settle() == []

    def test_a_replica_loads_serves_stops_and_frees_its_gpu(self, stage: Stage) -> None:
        stage.want(StartReplica, "chat", 0, 1)
        ready = stage.hear(ReplicaReady)
        assert (ready.service_id, ready.gpu, ready.attempt) == ("chat", 0, 1)
        stage.want(StopReplica, "chat", 0, 1, times=2)
        (stopped,) = stage.settle()
        assert isinstance(stopped, ReplicaStopped)
        assert (stopped.service_id, stopped.gpu, stopped.attempt) == ("chat", 0, 1)
        stage.want(StartJob, "wide", 1, 0, 4)
        assert kinds(stage.settle()) == ["JobStarted", "JobEnded"]

    def test_a_replica_that_is_stopped_while_it_loads_never_serves(self, stage: Stage) -> None:
        stage.want(StartReplica, "chat", 0, 1)
        stage.want(StopReplica, "chat", 0, 1)
        assert kinds(stage.settle()) == ["ReplicaStopped"]

    def test_a_gpu_serves_one_replica_after_another(self, stage: Stage) -> None:
        stage.want(StartReplica, "chat", 0, 1)
        stage.want(StartReplica, "chat", 0, 2)
        stopped = stage.hear(ReplicaStopped)
        assert stopped.attempt == 2
        assert kinds(stage.settle()) == ["ReplicaReady"]
        stage.want(StopReplica, "chat", 0, 2)
        assert stage.settle() == [], "attempt 2 was never there"

    def test_lost_gpus_take_with_them_what_runs_there_and_nothing_else(self, stage: Stage) -> None:
        stage.want(StartJob, "long", 1, 0, 2)
        stage.want(StartReplica, "chat", 3, 1)
        stage.want(StartJob, "short", 1, 4, 1)
        stage.hear(ReplicaReady)
        stage.rig.lose(0, 1, 2, 3)
        told = stage.settle()
        assert sorted(kinds(told)) in (
            ["GpusLost", "JobEnded", "JobLost", "JobStarted", "ReplicaStopped"],
            ["GpusLost", "JobEnded", "JobLost", "ReplicaStopped"],
            ["GpusLost", "JobLost", "ReplicaStopped"],
        )
        lost = next(event for event in told if isinstance(event, JobLost))
        assert (lost.job_id, lost.attempt) == ("long", 1)
        ended = [event.job_id for event in stage.told if isinstance(event, JobEnded)]
        assert ended == ["short"]

    def test_what_is_said_of_gpus_is_numbered_and_they_serve_again(self, stage: Stage) -> None:
        stage.rig.lose(0, 1)
        lost = stage.hear(GpusLost)
        stage.rig.repair(0, 1)
        back = stage.hear(GpusBack)
        assert sorted(lost.gpus) == sorted(back.gpus) == [0, 1]
        assert lost.number < back.number
        stage.want(StartJob, "long", 1, 0, 2)
        assert stage.hear(JobStarted).job_id == "long"

    def test_a_timer_fires_not_before_its_time(self, stage: Stage) -> None:
        at = stage.rig.now() + 2
        stage.want(SetTimer, at)
        assert stage.hear(TimerFired).at >= at
