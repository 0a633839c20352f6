"""The loop: it falls back where a planner is late, raises or is illegal, tells why, and loses nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from loadfactor.control import ClusterState, ControlLoop, Decision, JobRequest, JobStart, Swap
from loadfactor.control.changes import Change, JobLeftQueue, JobWaits
from loadfactor.control.effects import (
    Command,
    Effect,
    RaiseAlarm,
    SetTimer,
    StartJob,
    StartReplica,
    encode_effect,
)
from loadfactor.control.events import DemandMeasured, JobCancelled, JobStarted, JobSubmitted, TimerFired
from loadfactor.control.machine import RETRY_SECONDS
from loadfactor.control.planners import safe_planner
from loadfactor.control.records import JobPhase
from loadfactor.errors import InputError
from tests.support.control import SERVICES, STEP_SECONDS, cluster

Decide = Callable[[ClusterState], Decision]


class Puppet:
    """A planner that does what a test says, and notes what it is told."""

    name = "puppet"

    def __init__(self, decide: Decide) -> None:
        self.how, self.noticed, self.asked = decide, list[Change](), 0

    def notice(self, change: Change, state: ClusterState) -> None:
        self.noticed.append(change)

    def decide(self, state: ClusterState, now: int) -> Decision:
        self.asked += 1
        assert now == state.now
        return self.how(state)


class Clock:
    """A clock that goes on by `seconds` whenever it is read."""

    def __init__(self) -> None:
        self.seconds, self.now = 0.5, 0.0

    def __call__(self) -> float:
        self.now += self.seconds
        return self.now


class Stage:
    """A loop on a small cluster, with a puppet for its planner."""

    def __init__(self, decide: Decide, safe: Puppet | None = None) -> None:
        self.state = ClusterState(cluster(), SERVICES, STEP_SECONDS)
        self.puppet, self.clock = Puppet(decide), Clock()
        self.loop = ControlLoop(self.state, self.puppet, safe or safe_planner(), self.clock)

    def submit(self, name: str = "job", at: int = 10) -> list[Effect]:
        effects = self.loop.step(JobSubmitted(at, JobRequest(name, 2)))
        self.state.check()
        return effects


def first_waiting(state: ClusterState) -> Decision:
    waiting = [job for job in state.jobs if job.phase is JobPhase.WAITING]
    return Decision([JobStart(job.row, 0) for job in waiting[:1]])


def raises(state: ClusterState) -> Decision:
    raise KeyError("the book of jobs")


def illegal(state: ClusterState) -> Decision:
    return Decision([JobStart(0, 3)])


def text_of(effects: list[Effect]) -> str:
    return "\n".join(effect.text for effect in effects if isinstance(effect, RaiseAlarm))


def test_a_legal_decision_in_time_is_carried_out() -> None:
    stage = Stage(first_waiting)
    assert stage.submit() == [StartJob(1, "job", 1, 0, 2)]
    (job,) = stage.state.jobs
    assert stage.puppet.noticed == [JobWaits(job), JobLeftQueue(job)]
    assert stage.loop.record.decision_seconds == [0.5]
    assert (stage.loop.record.late, stage.loop.record.illegal) == (0, 0)


def test_where_nothing_changed_nobody_is_asked() -> None:
    stage = Stage(first_waiting)
    stage.submit()
    for event in (JobStarted(20, "job", 1), JobStarted(20, "job", 1), JobCancelled(30, "stranger")):
        assert stage.loop.step(event) == []
    assert stage.puppet.asked == 1


STORIES = {
    "late": (first_waiting, "planner 'puppet' took 3.0 s, and 2 s are allowed; 'steady' decided instead"),
    "raising": (raises, "planner 'puppet' raised KeyError: 'the book of jobs'; 'steady' decided instead"),
    "illegal": (illegal, "planner 'puppet' decided what is illegal: R3: GPUs 3 to 4 fit into a node and cross into "),
    "without sense": (lambda state: Decision([JobStart(7, 0)]), "R2: there is no job 7; 'steady' decided instead"),
}


@pytest.mark.parametrize("kind", ["late", "raising", "illegal", "without sense"])
def test_a_planner_that_fails_is_replaced_told_of_and_asked_again(kind: str) -> None:
    decide, story = STORIES[kind]
    stage = Stage(decide)
    stage.loop.step(DemandMeasured(5, {"chat": 2}))
    stage.clock.seconds = 3.0 if kind == "late" else 0.5
    effects = stage.submit()
    assert story in text_of(effects)
    assert SetTimer in [type(effect) for effect in effects]
    assert [job.phase for job in stage.state.jobs] == [JobPhase.WAITING], "nothing is lost"
    assert stage.loop.record.late == (kind == "late")
    assert stage.loop.record.illegal >= (kind != "late")
    stage.puppet.how, stage.clock.seconds = first_waiting, 0.5
    assert [type(effect) for effect in stage.loop.step(TimerFired(10 + RETRY_SECONDS))] == [StartJob]


@pytest.mark.parametrize("decide", [raises, illegal, lambda state: Decision([JobStart(7, 0)])])
def test_the_safe_planner_keeps_services_where_their_demand_is(decide: Decide) -> None:
    stage = Stage(lambda state: Decision())
    stage.submit()
    stage.puppet.how = decide
    effects = stage.loop.step(DemandMeasured(600, {"chat": 2}))
    assert [type(effect) for effect in effects] == [RaiseAlarm, SetTimer, StartReplica, StartReplica]
    assert stage.state.services[0].held() == 2
    stage.state.check()


def test_only_one_timer_runs_at_a_time_and_none_where_no_job_waits() -> None:
    stage = Stage(raises)
    timers = [effect for at in range(10, 130) for effect in stage.submit(f"job-{at}", at)]
    assert [effect.at for effect in timers if isinstance(effect, SetTimer)] == [70, 130]
    quiet = Stage(raises)
    assert SetTimer not in [type(effect) for effect in quiet.loop.step(TimerFired(10))]


def test_where_both_are_illegal_nothing_is_done_and_both_are_told_of() -> None:
    stage = Stage(illegal, safe=Puppet(lambda state: Decision(given=[Swap(0, 99)])))
    effects = stage.submit()
    assert [type(effect) for effect in effects] == [RaiseAlarm, RaiseAlarm, SetTimer]
    assert "'puppet' is illegal: R1: GPU 99 does not exist too, and nothing was done" in text_of(effects)
    assert (stage.state.owner == -1).all()


def test_where_the_safe_planner_raises_the_cluster_goes_on() -> None:
    stage = Stage(raises, safe=Puppet(raises))
    assert "'puppet' raised KeyError: 'the book of jobs' too, and nothing was done" in text_of(stage.submit())


def test_a_planner_that_raises_when_it_is_told_does_not_stop_the_loop() -> None:
    stage = Stage(first_waiting)

    def deaf(change: Change, state: ClusterState) -> None:
        raise ValueError("too late")

    stage.puppet.notice = deaf  # type: ignore[method-assign]
    effects = stage.submit()
    assert "planner 'puppet' raised ValueError: too late when told of JobWaits" in text_of(effects)
    assert [type(effect) for effect in effects] == [RaiseAlarm, StartJob, RaiseAlarm]
    assert [effect.identity for effect in effects][1] == "command 1"
    assert len({effect.identity for effect in effects}) == 3


def test_alarms_and_timers_do_not_change_the_numbers_of_commands() -> None:
    def numbers(trouble: bool) -> list[int]:
        stage = Stage(raises if trouble else lambda state: Decision())
        effects = [*stage.submit("job-10", 10), *stage.submit("job-100", 100)]
        assert (RaiseAlarm in [type(effect) for effect in effects]) == trouble
        stage.puppet.how = first_waiting
        effects = [*stage.submit("job-200", 200), *stage.loop.step(JobCancelled(201, "job-10"))]
        return [effect.number for effect in effects if isinstance(effect, Command)]

    assert numbers(trouble=True) == numbers(trouble=False) == [1, 2]


def test_every_effect_has_an_identity_of_its_own() -> None:
    stage = Stage(raises)
    effects = [effect for at in (10, 100, 100, 200) for effect in stage.submit(f"job-{at}-{len(stage.state.jobs)}", at)]
    stage.puppet.how = first_waiting
    effects += stage.loop.step(TimerFired(260))
    by_identity = {effect.identity: effect for effect in effects}
    assert len({type(effect) for effect in effects}) == 3
    for effect in effects:
        assert by_identity[effect.identity] == effect, "the same identity, the same effect"
    assert len(by_identity) == len(set(map(encode_effect, effects)))


class Timed(Puppet):
    """A puppet that says how long it searches."""

    search_seconds = 10.0


def test_the_deadline_leaves_room_for_the_search_that_a_planner_announces() -> None:
    state = ClusterState(cluster(), SERVICES, STEP_SECONDS)
    timed, safe = Timed(first_waiting), safe_planner()
    assert ControlLoop(state, timed, safe, Clock()).deadline_seconds == 12.0
    assert ControlLoop(state, timed, safe, Clock(), 11.0).deadline_seconds == 11.0
    assert ControlLoop(state, Puppet(first_waiting), safe, Clock()).deadline_seconds == 2.0
    told = "deadline_seconds: 10 s are allowed for a decision, and 'puppet' searches for 10 s; allow at least 12 s"
    with pytest.raises(InputError, match=told):
        ControlLoop(state, timed, safe, Clock(), 10.0)
