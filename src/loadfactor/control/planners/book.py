"""What every planner keeps in mind of jobs: the queue in its order, expected run times, and expected ends."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from loadfactor.control.blocks import Mask
from loadfactor.control.changes import Change, JobIsOver, JobLeftQueue, JobWaits
from loadfactor.control.planners.placing import NOWHERE, best_free_block
from loadfactor.control.planners.queue import Columns, Ints, RankedQueue
from loadfactor.control.records import HOLDING, JobRecord
from loadfactor.control.state import FREE, ClusterState
from loadfactor.foresight import JobFeatures, RuntimeEstimator

Floats = npt.NDArray[np.float64]
LAST_MOMENT = float(np.finfo(np.float64).max)
Rank = Callable[[JobRecord], float]
"""The key of a job in the queue; the smallest is served first."""


def by_arrival(job: JobRecord) -> float:
    """Rank by the moment of submission."""
    return float(job.submitted_at)


def by_priority(job: JobRecord) -> float:
    """Rank by priority, the highest first; equals by row, which is by arrival."""
    return -job.priority


def features_of(job: JobRecord) -> JobFeatures:
    """Return what run times are learnt by; those of moldable jobs are on the fewest GPUs that they can use."""
    request = job.request
    work = request.work_gpu_seconds
    return JobFeatures(
        gpus=request.gpus,
        user=request.user,
        name=request.name,
        limit_seconds=request.limit_seconds if work is None else -(-work // request.gpus),
        kind=request.kind,
    )


class JobBook:
    """The queue in the order of `rank`, and when each GPU is expected to be free.

    `overhead_seconds` is what a start takes before the job runs; its block is held meanwhile.
    """

    def __init__(self, rank: Rank, estimator: RuntimeEstimator, overhead_seconds: int = 0) -> None:
        self.rank, self.estimator, self.overhead_seconds = rank, estimator, overhead_seconds
        self.queue, self.columns = RankedQueue(), Columns(overhead_seconds)
        self._ends: Floats = np.empty(0, dtype=np.float64)

    def notice(self, change: Change, state: ClusterState) -> None:
        """Keep queue and ends in step with a change."""
        if isinstance(change, JobWaits):
            self._queue(change.job, state)
        elif isinstance(change, JobLeftQueue):
            job = change.job
            self.queue.remove(job.row, self.columns.key[job.row])
            if job.phase in HOLDING:
                self._expect(job, state)
        elif isinstance(change, JobIsOver):
            job = change.job
            ran = job.request.seconds_on_fewest(job.size, max(1, job.ended_at - job.started_at))
            self.estimator.learn(job.request.id, features_of(job), ran)

    def _queue(self, job: JobRecord, state: ClusterState) -> None:
        row, columns, request = job.row, self.columns, job.request
        columns.set_block(row, state.block_sizes.need(request), job.sizes)
        seconds = self.estimator.planned(request.id, features_of(job))
        columns.run_seconds[row] = self.overhead_seconds + request.seconds_on(job.size, seconds)
        scales = request.work_gpu_seconds is not None and len(job.sizes) > 1
        columns.work[row] = seconds * request.gpus if scales else 0.0
        columns.ready_at[row] = job.retry_at
        columns.priority[row] = job.priority
        columns.key[row] = self.rank(job)
        self.queue.add(row, columns.key[row])

    def _expect(self, job: JobRecord, state: ClusterState) -> None:
        if len(self._ends) != len(state.owner):
            self._ends = np.zeros(len(state.owner), dtype=np.float64)
        seconds = job.request.seconds_on(job.size, self.estimator.estimate(job.request.id, features_of(job), 0.0))
        self._ends[job.first_gpu : job.first_gpu + job.size] = state.now + self.overhead_seconds + seconds

    def shapes_foreseen(self, rows: Ints, free_at: Floats, state: ClusterState) -> Ints:
        """Return the shapes of `rows`, each job at one size: its largest, as in the baselines of documents.

        Where nobody can say when a block of that size will be free, it is the largest of which somebody can, if any.
        """
        columns, shapes = self.columns, self.columns.shapes
        shape = columns.shape.of(rows)
        moldable = shapes.moldable.of(shape)
        if moldable.any():
            for number in np.unique(shape[moldable]).tolist():
                nodes = state.block_sizes.nodes(shapes.needs[number])
                sizes = [size for size in shapes.sizes[number] if _is_foreseen(free_at, size, nodes, state)]
                chosen = (sizes or shapes.sizes[number])[-1]
                shape[shape == number] = shapes.number(shapes.needs[number], (chosen,))
        return shape

    def backlog_gpu_seconds(self, state: ClusterState) -> float:
        """Return the work that is there, by expected run times: what waits, and what is left of what runs."""
        rows = self.queue.rows
        waiting = float((self.columns.size.of(rows) * self.columns.run_seconds.of(rows)).sum())
        left = self._ends[state.owner > FREE] - state.now if len(self._ends) else np.zeros(0)
        return waiting + float(np.maximum(0.0, left).sum())

    def free_at(self, state: ClusterState) -> Floats:
        """Return (N,) the second from which on each GPU is expected free, infinity where nobody can say.

        A job that outlives its expected end is asked about again, given how long it has run.
        """
        if len(self._ends) != len(state.owner):
            self._ends = np.zeros(len(state.owner), dtype=np.float64)
        owner, ends = state.owner, self._ends
        held_by_jobs = owner > FREE
        late = held_by_jobs & (ends <= state.now)
        if late.any():
            for row in np.unique(owner[late]).tolist():
                self._prolong(state.jobs[row], state.now)
        free_at: Floats = np.where(held_by_jobs, ends, np.inf)
        free_at[state.usable()] = 0.0
        free_at[(state.lost | state.drained)] = np.inf
        return free_at

    def _prolong(self, job: JobRecord, now: int) -> None:
        began = job.given_at + self.overhead_seconds
        elapsed = job.request.seconds_on_fewest(job.size, max(0.0, float(now - began)))
        total = job.request.seconds_on(job.size, self.estimator.estimate(job.request.id, features_of(job), elapsed))
        self._ends[job.first_gpu : job.first_gpu + job.size] = max(now + 1.0, began + total)


def _is_foreseen(free_at: Floats, size: int, nodes: Mask, state: ClusterState) -> bool:
    """Return whether a block is free, or expected to be at some moment."""
    return best_free_block(free_at, LAST_MOMENT, size, state.first_of_node, nodes, 0, 0, False) != NOWHERE
