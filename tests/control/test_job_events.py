"""What events about jobs do to the state: each once, and nothing when they are old, doubled or about strangers."""

from __future__ import annotations

from typing import Any

import pytest

from loadfactor.control import Decision, JobStart
from loadfactor.control.changes import GridChanged, JobIsOver, JobLeftQueue, JobWaits
from loadfactor.control.effects import CancelJob, RaiseAlarm, SetTimer, StartJob
from loadfactor.control.events import (
    Event,
    JobCancelled,
    JobEnded,
    JobLost,
    JobStarted,
    JobSubmitted,
    PriorityChanged,
    StartRefused,
)
from loadfactor.control.machine import RETRY_SECONDS
from loadfactor.control.records import NEVER, NOWHERE, JobPhase
from loadfactor.control.requests import JobRequest
from loadfactor.control.state import FREE
from tests.support.control import Bench

NEWS: list[Event] = [
    JobStarted(50, "job", 1),
    JobEnded(50, "job", 1, "finished"),
    JobLost(50, "job", 1),
    StartRefused(50, "job", 1, "the node did not answer"),
]


def kinds(things: object) -> list[type]:
    assert isinstance(things, list)
    return [type(each) for each in things]


def test_a_submitted_job_waits_with_a_block_size() -> None:
    bench = Bench()
    changes, effects = bench.tell(JobSubmitted(10, JobRequest("job", 3)))
    job = bench.job()
    assert (job.phase, job.size, job.submitted_at, bench.state.waiting) == (JobPhase.WAITING, 4, 10, 1)
    assert changes == [JobWaits(job)]
    assert effects == []
    assert bench.tell(JobSubmitted(30, JobRequest("job", 3))) == ([], [])
    assert (len(bench.state.jobs), job.submitted_at) == (1, 10)


def test_a_job_that_no_block_holds_is_told_of_and_never_waits() -> None:
    bench = Bench()
    changes, (alarm,) = bench.tell(JobSubmitted(10, JobRequest("job", 9)))
    assert changes == []
    assert isinstance(alarm, RaiseAlarm)
    assert "'job' asks for 9 GPUs, and the largest block here has 8" in alarm.text
    assert "cancel it or ask for less" in alarm.text
    assert (bench.job().phase, bench.state.waiting) == (JobPhase.TOO_LARGE, 0)
    assert bench.tell(JobCancelled(20, "job")) == ([], [])
    assert (bench.job().phase, bench.job().outcome) == (JobPhase.OVER, "cancelled")


def test_a_job_starts_runs_and_ends() -> None:
    bench = Bench()
    job = bench.submit()
    assert bench.start(first_gpu=4) == [StartJob(1, "job", 1, 4, 2)]
    assert (job.phase, job.given_at, job.first_given_at, bench.state.waiting) == (JobPhase.STARTING, 10, 10, 0)
    assert bench.state.owner.tolist() == [FREE] * 4 + [0, 0] + [FREE] * 4
    assert bench.tell(JobStarted(20, "job", 1)) == ([], [])
    assert (job.phase, job.started_at) == (JobPhase.RUNNING, 20)
    changes, effects = bench.tell(JobEnded(90, "job", 1, "finished"))
    assert (changes, effects) == ([GridChanged(), JobIsOver(job)], [])
    assert (job.phase, job.outcome, job.ended_at) == (JobPhase.OVER, "finished", 90)
    assert (bench.state.owner == FREE).all()


def test_an_end_that_overtakes_the_start_counts() -> None:
    bench = Bench()
    job = bench.submit()
    bench.start()
    bench.tell(JobEnded(90, "job", 1, "failed"))
    assert (job.phase, job.outcome, job.started_at) == (JobPhase.OVER, "failed", 90)
    assert bench.tell(JobStarted(20, "job", 1)) == ([], [])
    assert job.phase is JobPhase.OVER


def test_only_a_finished_job_teaches_run_times() -> None:
    bench = Bench()
    bench.running()
    changes, _ = bench.tell(JobEnded(90, "job", 1, "failed"))
    assert kinds(changes) == [GridChanged]


def test_a_lost_job_waits_again_and_keeps_its_first_start() -> None:
    bench = Bench()
    job = bench.running(first_gpu=4)
    changes, effects = bench.tell(JobLost(90, "job", 1))
    assert (changes, effects) == ([JobWaits(job), GridChanged()], [])
    assert (job.phase, job.losses, job.first_gpu, job.given_at) == (JobPhase.WAITING, 1, NOWHERE, NEVER)
    assert (job.first_given_at, bench.state.waiting) == (10, 1)
    assert bench.start(first_gpu=0) == [StartJob(2, "job", 2, 0, 2)]
    assert (job.given_at, job.first_given_at) == (90, 10)


def test_a_refused_start_is_tried_again_later() -> None:
    bench = Bench()
    job = bench.submit()
    bench.start()
    changes, effects = bench.tell(StartRefused(40, "job", 1, "the node did not answer"))
    assert changes == [JobWaits(job)]
    assert effects == [SetTimer(40 + RETRY_SECONDS)]
    assert (job.phase, job.retry_at, job.losses) == (JobPhase.WAITING, 40 + RETRY_SECONDS, 0)


def test_a_refusal_of_a_job_that_runs_says_nothing() -> None:
    bench = Bench()
    bench.running()
    assert bench.tell(StartRefused(40, "job", 1, "late")) == ([], [])
    assert bench.job().phase is JobPhase.RUNNING


@pytest.mark.parametrize("event", NEWS, ids=lambda event: type(event).__name__)
@pytest.mark.parametrize("attempt", [1, 3])
def test_news_of_another_attempt_changes_nothing(event: Event, attempt: int) -> None:
    bench = Bench()
    bench.running()
    bench.tell(JobLost(30, "job", 1))
    bench.start()
    stale = type(event)(**{field: getattr(event, field) for field in event.__struct_fields__} | {"attempt": attempt})
    bench.tell(JobStarted(40, "stranger", 1))
    before = bench.document()
    bench.state.now = 40
    assert bench.tell(stale) == ([], [])
    bench.state.now = 40
    assert bench.document() == before


@pytest.mark.parametrize("event", NEWS, ids=lambda event: type(event).__name__)
def test_news_that_comes_twice_counts_once(event: Event) -> None:
    bench = Bench()
    bench.submit()
    bench.start()
    bench.tell(event)
    after = bench.document()
    assert bench.tell(event) == ([], [])
    assert bench.document() == after


@pytest.mark.parametrize("event", NEWS, ids=lambda event: type(event).__name__)
def test_news_of_a_stranger_changes_nothing(event: Event) -> None:
    bench = Bench()
    bench.state.now = 50
    before = bench.document()
    assert bench.tell(event) == ([], [])
    assert bench.document() == before


@pytest.mark.parametrize("event", [*NEWS, PriorityChanged(50, "job", 2.0, 1)], ids=lambda event: type(event).__name__)
def test_nothing_wakes_a_job_that_is_over(event: Event) -> None:
    bench = Bench()
    bench.running()
    bench.tell(JobEnded(30, "job", 1, "finished"))
    assert bench.tell(event) == ([], [])
    assert bench.job().phase is JobPhase.OVER
    assert bench.tell(JobCancelled(60, "job")) == ([], [])
    assert bench.job().outcome == "finished"


# Users who take jobs back


def test_a_waiting_job_is_cancelled_at_once() -> None:
    bench = Bench()
    job = bench.submit()
    assert bench.tell(JobCancelled(20, "job")) == ([JobLeftQueue(job)], [])
    assert (job.phase, job.outcome, job.ended_at) == (JobPhase.OVER, "cancelled", 20)
    assert bench.state.waiting == 0


@pytest.mark.parametrize("runs", [False, True])
def test_a_job_that_holds_its_block_is_cancelled_once_and_over_when_it_ends(runs: bool) -> None:
    bench = Bench()
    job = bench.submit()
    bench.start()
    if runs:
        bench.tell(JobStarted(20, "job", 1))
    assert bench.tell(JobCancelled(30, "job")) == ([], [CancelJob(2, "job", 1)])
    assert bench.tell(JobCancelled(31, "job")) == ([], [])
    assert job.phase in {JobPhase.STARTING, JobPhase.RUNNING}
    bench.tell(JobEnded(40, "job", 1, "cancelled"))
    assert (job.phase, job.outcome) == (JobPhase.OVER, "cancelled")


@pytest.mark.parametrize("event", [JobLost(50, "job", 1), StartRefused(50, "job", 1, "lost")])
def test_a_cancelled_job_that_never_ran_to_its_end_does_not_wait_again(event: Event) -> None:
    bench = Bench()
    bench.submit()
    bench.start()
    bench.tell(JobCancelled(30, "job"))
    changes, _ = bench.tell(event)
    assert JobWaits not in kinds(changes)
    assert (bench.job().phase, bench.job().outcome, bench.state.waiting) == (JobPhase.OVER, "cancelled", 0)


def test_a_job_that_finishes_before_its_cancellation_is_carried_out_has_finished() -> None:
    bench = Bench()
    bench.running()
    bench.tell(JobCancelled(30, "job"))
    bench.tell(JobEnded(30, "job", 1, "finished"))
    assert bench.job().outcome == "finished"


def test_a_cancellation_that_overtakes_the_submission_counts() -> None:
    bench = Bench()
    assert bench.tell(JobCancelled(30, "job")) == ([], [])
    assert bench.tell(JobSubmitted(20, JobRequest("job", 2))) == ([], [])
    assert (bench.job().phase, bench.job().outcome, bench.state.waiting) == (JobPhase.OVER, "cancelled", 0)
    assert bench.state.cancelled_unseen == set()


# Priorities and time


def test_a_waiting_job_is_queued_anew_with_its_new_priority() -> None:
    bench = Bench()
    job = bench.submit()
    changes, effects = bench.tell(PriorityChanged(20, "job", 5.0, 1))
    assert (changes, effects, job.priority) == ([JobLeftQueue(job), JobWaits(job)], [], 5.0)


def test_a_job_that_holds_its_block_waits_again_with_the_priority_that_it_got_meanwhile() -> None:
    bench = Bench()
    job = bench.running()
    assert bench.tell(PriorityChanged(20, "job", 5.0, 1)) == ([], [])
    bench.tell(JobLost(30, "job", 1))
    assert (job.phase, job.priority) == (JobPhase.WAITING, 5.0)


def test_time_never_runs_backwards() -> None:
    bench = Bench()
    bench.submit(at=100)
    bench.submit("earlier", at=40)
    assert (bench.state.now, bench.job("earlier").submitted_at) == (100, 40)


def test_of_two_priorities_the_higher_number_counts_whatever_came_last() -> None:
    bench = Bench()
    job = bench.submit()
    bench.tell(PriorityChanged(20, "job", 5.0, 2))
    assert bench.tell(PriorityChanged(30, "job", 3.0, 1)) == ([], [])
    assert bench.tell(PriorityChanged(20, "job", 5.0, 2)) == ([], [])
    assert job.priority == 5.0


def test_a_priority_that_overtakes_the_submission_counts() -> None:
    bench = Bench()
    for priority, number in ((5.0, 2), (3.0, 1)):
        assert bench.tell(PriorityChanged(20, "job", priority, number)) == ([], [])
    assert (bench.submit().priority, bench.state.priorities_unseen) == (5.0, {})
    assert bench.tell(PriorityChanged(30, "job", 9.0, 2)) == ([], [])


# Moldable jobs and needs


def test_a_moldable_job_waits_with_all_its_sizes_and_keeps_the_one_it_gets() -> None:
    bench = Bench()
    bench.tell(JobSubmitted(10, JobRequest("job", 1, most_gpus=4, work_gpu_seconds=400)))
    job = bench.job()
    assert (job.sizes, job.size) == ((1, 2, 4), 4)
    bench.apply(Decision(starts=[JobStart(job.row, 8, 2)]))
    assert (job.size, bench.state.owner[8:].tolist()) == (2, [0, 0])
    bench.tell(JobLost(30, "job", 1))
    assert (job.phase, job.size) == (JobPhase.WAITING, 4)


def test_a_job_that_no_gpu_suits_is_told_of() -> None:
    bench = Bench()
    _, (alarm,) = bench.tell(JobSubmitted(10, JobRequest("job", 1, gpu_types=("H100",))))
    assert isinstance(alarm, RaiseAlarm)
    assert "job 'job' needs GPUs of a type or memory that no node here states" in alarm.text
    assert bench.job().phase is JobPhase.TOO_LARGE


BAD_REQUESTS: list[dict[str, Any]] = [
    {"gpus": 0},
    {"gpus": 2, "most_gpus": 1},
    {"gpus": 1, "work_gpu_seconds": 0},
    {"gpus": 1, "gpu_types": ()},
    {"gpus": 1, "gpu_memory_gib": 0.0},
    {"gpus": 1, "gpu_memory_gib": float("nan")},
]


@pytest.mark.parametrize("fields", BAD_REQUESTS, ids=str)
def test_a_request_without_sense_is_never_born(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"job 'job' .*; "):
        JobRequest("job", **fields)
