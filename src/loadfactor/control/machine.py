"""The state machine: events in, effects out, without input, output, clock or chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from loadfactor.control.changes import Change, DemandIsKnown, GridChanged, JobIsOver, JobLeftQueue, JobWaits
from loadfactor.control.decision import Decision
from loadfactor.control.effects import CancelJob, Effect, RaiseAlarm, SetTimer, StartJob, StartReplica, StopReplica
from loadfactor.control.events import (
    DemandMeasured,
    Event,
    GpusBack,
    GpusLost,
    JobCancelled,
    JobEnded,
    JobLost,
    JobStarted,
    JobSubmitted,
    NodeDrained,
    NodeResumed,
    PriorityChanged,
    ReplicaReady,
    ReplicaStopped,
    StartRefused,
    TimerFired,
)
from loadfactor.control.records import HOLDING, JobPhase, JobRecord, ReplicaPhase, ServiceRecord
from loadfactor.control.state import ClusterState, Mask

RETRY_SECONDS = 60
"""How long a job whose start was refused is left alone, so that a sick node does not get it again at once."""


class Machine:
    """Applies events and decisions to the state, and numbers the effects.

    What an event says of something unknown, of another attempt or of a phase that is past changes nothing: engines
    repeat themselves, and what they say may be overtaken.
    """

    def __init__(self, state: ClusterState) -> None:
        self.state = state
        self._changes: list[Change] = []
        self._effects: list[Effect] = []
        self._handlers: dict[type[Event], Callable[[Any], None]] = {
            JobSubmitted: self._submit,
            JobCancelled: self._cancel,
            JobStarted: self._start,
            JobEnded: self._end,
            JobLost: self._lose_job,
            StartRefused: self._refuse,
            PriorityChanged: self._reprioritise,
            DemandMeasured: self._measure,
            ReplicaReady: self._make_ready,
            ReplicaStopped: self._stop,
            GpusLost: self._lose,
            GpusBack: self._regain,
            NodeDrained: self._drain,
            NodeResumed: self._resume,
            TimerFired: self._wake,
        }

    def handle(self, event: Event) -> tuple[list[Change], list[Effect]]:
        """Apply what happened; return what changed for planners, and what is to be done whatever they decide."""
        self.state.now = max(self.state.now, event.at)
        self._changes, self._effects = [], []
        self._handlers[type(event)](event)
        return self._changes, self._effects

    def apply(self, decision: Decision) -> tuple[list[Change], list[Effect]]:
        """Apply a decision that the referee let pass; return what changed, and the effects that carry it out."""
        self._changes, self._effects = [], []
        state = self.state
        for swap in decision.taken:
            service = state.services[swap.service]
            replica = state.take_gpu(service, swap.gpu)
            self._effects.append(StopReplica(self._number(), service.request.id, swap.gpu, replica.attempt))
        for swap in decision.given:
            service = state.services[swap.service]
            replica = state.give_gpu(service, swap.gpu)
            self._effects.append(StartReplica(self._number(), service.request.id, swap.gpu, replica.attempt))
        for row, swaps in Counter(swap.service for swap in (*decision.taken, *decision.given)).items():
            state.count_swaps(state.services[row], swaps)
        for start in decision.starts:
            job = state.jobs[start.row]
            state.give_block(job, start.first_gpu, state.now)
            self._changes.append(JobLeftQueue(job))
            self._effects.append(StartJob(self._number(), job.request.id, job.attempt, start.first_gpu, job.size))
        return self._changes, self._effects

    def alarm(self, text: str) -> RaiseAlarm:
        """Return the effect that tells a person `text`."""
        return RaiseAlarm(self._number(), self.state.now, text)

    def timer(self, at: int) -> SetTimer:
        """Return the effect that wakes the loop at the second `at`."""
        return SetTimer(self._number(), at)

    def _number(self) -> int:
        self.state.effects += 1
        return self.state.effects

    # Jobs

    def _submit(self, event: JobSubmitted) -> None:
        if event.job.id in self.state.row_of_job:
            return
        job = self.state.add(event.job, event.at)
        if event.job.id in self.state.cancelled_unseen:
            self.state.cancelled_unseen.remove(event.job.id)
            self._over(job, event.at)
            job.outcome, job.cancelled = "cancelled", True
        elif job.phase is JobPhase.WAITING:
            self._changes.append(JobWaits(job))
        else:
            largest = self.state.block_sizes.sizes[-1]
            text = f"job {event.job.id!r} asks for {event.job.gpus} GPUs, and the largest block here has {largest}"
            self._effects.append(self.alarm(f"{text}; it will never start: cancel it or ask for less"))

    def _cancel(self, event: JobCancelled) -> None:
        job = self._job(event.job_id)
        if job is None:  # this has overtaken the submission
            self.state.cancelled_unseen.add(event.job_id)
            return
        if job.phase is JobPhase.OVER:
            return
        if job.phase in HOLDING:
            if not job.cancelled:
                self._effects.append(CancelJob(self._number(), job.request.id, job.attempt))
            job.cancelled = True
            return
        waited = job.phase is JobPhase.WAITING
        self._over(job, event.at)
        job.outcome, job.cancelled = "cancelled", True
        if waited:
            self._changes.append(JobLeftQueue(job))

    def _start(self, event: JobStarted) -> None:
        job = self._present(event.job_id, event.attempt)
        if job is not None and job.phase is JobPhase.STARTING:
            self.state.run(job, event.at)

    def _end(self, event: JobEnded) -> None:
        job = self._present(event.job_id, event.attempt)
        if job is None:
            return
        if job.phase is JobPhase.STARTING:  # that it runs was never said, or is still on its way
            self.state.run(job, min(event.at, self.state.now))
        self._over(job, event.at)
        job.outcome = event.outcome
        self._changes.append(GridChanged())
        if event.outcome == "finished":
            self._changes.append(JobIsOver(job))

    def _lose_job(self, event: JobLost) -> None:
        job = self._present(event.job_id, event.attempt)
        if job is None:
            return
        job.losses += 1
        self._wait_again(job)
        self._changes.append(GridChanged())

    def _refuse(self, event: StartRefused) -> None:
        job = self._present(event.job_id, event.attempt)
        if job is None or job.phase is not JobPhase.STARTING:
            return
        job.retry_at = event.at + RETRY_SECONDS
        self._wait_again(job)
        self._effects.append(self.timer(job.retry_at))

    def _reprioritise(self, event: PriorityChanged) -> None:
        job = self._job(event.job_id)
        if job is None:
            return
        waits = job.phase is JobPhase.WAITING
        if waits:
            self._changes.append(JobLeftQueue(job))
        job.priority = event.priority  # one that holds its block has it when it waits again
        if waits:
            self._changes.append(JobWaits(job))

    def _over(self, job: JobRecord, at: int) -> None:
        self.state.finish(job, at)

    def _wait_again(self, job: JobRecord) -> None:
        self.state.put_back(job)
        if job.cancelled:
            self._over(job, self.state.now)
            job.outcome = "cancelled"
        else:
            self._changes.append(JobWaits(job))

    # Services

    def _measure(self, event: DemandMeasured) -> None:
        newer: dict[str, int] = {}
        for name, demand in event.demand.items():
            service = self._service(name)
            if service is not None and service.measured_at < event.at:
                service.demand, service.measured_at = demand, event.at
                newer[name] = demand
        if newer:
            self._changes.append(DemandIsKnown(event.at, newer))

    def _make_ready(self, event: ReplicaReady) -> None:
        service = self._service(event.service_id)
        replica = service.replicas.get(event.gpu) if service else None
        if replica and replica.attempt == event.attempt and replica.phase is ReplicaPhase.STARTING:
            replica.phase = ReplicaPhase.READY

    def _stop(self, event: ReplicaStopped) -> None:
        service = self._service(event.service_id)
        replica = service.replicas.get(event.gpu) if service else None
        if service and replica and replica.attempt == event.attempt:
            self.state.drop_replica(service, event.gpu)
            self._changes.append(GridChanged())

    # GPUs and nodes

    def _lose(self, event: GpusLost) -> None:
        self.state.lost[self._newer(event.gpus, event.number)] = True
        self._changes.append(GridChanged())

    def _regain(self, event: GpusBack) -> None:
        self.state.lost[self._newer(event.gpus, event.number)] = False
        self._changes.append(GridChanged())

    def _newer(self, gpus: tuple[int, ...], number: int) -> list[int]:
        """Return the GPUs of which nothing newer is known, and note that `number` is now the newest."""
        newer = [gpu for gpu in gpus if 0 <= gpu < len(self.state.told) and self.state.told[gpu] < number]
        self.state.told[newer] = number
        return newer

    def _drain(self, event: NodeDrained) -> None:
        self._mark(self.state.drained, event.node, True)

    def _resume(self, event: NodeResumed) -> None:
        self._mark(self.state.drained, event.node, False)

    def _mark(self, mask: Mask, node: int, mark: bool) -> None:
        if 0 <= node < len(self.state.cluster.nodes):
            mask[self.state.gpus_of_node(node)] = np.bool_(mark)
            self._changes.append(GridChanged())

    def _wake(self, event: TimerFired) -> None:
        self._changes.append(GridChanged())

    # What events speak of

    def _job(self, name: str) -> JobRecord | None:
        row = self.state.row_of_job.get(name)
        return None if row is None else self.state.jobs[row]

    def _present(self, name: str, attempt: int) -> JobRecord | None:
        """Return the job if it holds its block in this attempt."""
        job = self._job(name)
        return job if job is not None and job.attempt == attempt and job.phase in HOLDING else None

    def _service(self, name: str) -> ServiceRecord | None:
        row = self.state.row_of_service.get(name)
        return None if row is None else self.state.services[row]
