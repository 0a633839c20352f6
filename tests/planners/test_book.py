"""What planners keep in mind of jobs: the two run times of a job, one to plan it with and one to expect its end by."""

from __future__ import annotations

from loadfactor.control import ClusterState, JobRequest
from loadfactor.control.changes import JobLeftQueue, JobWaits
from loadfactor.control.planners import JobBook, by_priority
from loadfactor.foresight import JobFeatures, LearntRuntime
from tests.planners.states import STEP_SECONDS, cluster

OVERHEAD_SECONDS = 7


def test_a_job_is_planned_with_a_long_run_time_and_its_end_expected_by_the_usual_one() -> None:
    estimator = LearntRuntime(0.5, planned_quantile=0.9)
    for number in range(1, 101):
        estimator.learn(str(number), JobFeatures(2, kind="training"), 10.0 * number)
    state = ClusterState(cluster(), [], STEP_SECONDS, now=100)
    book = JobBook(by_priority, estimator, OVERHEAD_SECONDS)
    job = state.add(JobRequest("a", 2, "training"), state.now)
    book.notice(JobWaits(job), state)
    assert book.columns.run_seconds[job.row] == OVERHEAD_SECONDS + 910
    state.give_block(job, 4, state.now)
    book.notice(JobLeftQueue(job), state)
    assert book.free_at(state)[4:6].tolist() == [100 + OVERHEAD_SECONDS + 510] * 2
    state.now += OVERHEAD_SECONDS + 510
    assert book.free_at(state)[4:6].tolist() == [100 + OVERHEAD_SECONDS + 760] * 2
