"""The state machine: events in, effects out, without input, output, clock or chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from loadfactor.control.changes import (
    Change,
    DemandIsKnown,
    ForecastIsGiven,
    GridChanged,
    JobIsOver,
    JobLeftQueue,
    JobWaits,
)
from loadfactor.control.decision import Decision
from loadfactor.control.effects import CancelJob, Effect, RaiseAlarm, SetTimer, StartJob, StartReplica, StopReplica
from loadfactor.control.events import (
    DemandMeasured,
    Event,
    ForecastUpdated,
    GpusBack,
    GpusDrained,
    GpusLost,
    GpusResumed,
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
from loadfactor.control.records import (
    HOLDING,
    NEVER,
    GivenForecast,
    JobPhase,
    JobRecord,
    ReplicaPhase,
    ServiceRecord,
)
from loadfactor.control.state import ClusterState
from loadfactor.units import SECONDS_PER_HOUR

RETRY_SECONDS = 60
"""How long a job whose start was refused is left alone, so that a sick node does not get it again at once."""

LONGEST_SILENCE_SECONDS = SECONDS_PER_HOUR
SILENT_STEPS = 3
"""A cluster with services is never silent for longer than both of these: their demand is told at every step."""
MOST_DEMAND = 1e9
"""No forecast says that a service will need more GPUs."""


class Machine:
    """Applies events and decisions to the state, and numbers the commands.

    What an event says of something unknown, of another attempt or of a phase that is past changes nothing: engines
    repeat themselves, and what they say may be overtaken. An event dated far ahead of all that was heard does not move
    the clock, which never goes back and by which swaps are counted: it is taken as happening now, unless the event
    before it was dated much the same.
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
            ForecastUpdated: self._forecast,
            ReplicaReady: self._make_ready,
            ReplicaStopped: self._stop,
            GpusLost: self._lose,
            GpusBack: self._regain,
            GpusDrained: self._drain_gpus,
            GpusResumed: self._drain_gpus,
            NodeDrained: self._drain_node,
            NodeResumed: self._drain_node,
            TimerFired: self._wake,
        }

    def handle(self, event: Event) -> tuple[list[Change], list[Effect]]:
        """Apply what happened; return what changed for planners, and what is to be done whatever they decide."""
        self._changes, self._effects = [], []
        if not self._is_believable(event.at):
            event = replace(event, at=self.state.now)
        self.state.now = max(self.state.now, event.at)
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
            state.give_block(job, start.first_gpu, state.now, start.size)
            self._changes.append(JobLeftQueue(job))
            self._effects.append(StartJob(self._number(), job.request.id, job.attempt, start.first_gpu, job.size))
        return self._changes, self._effects

    def alarm(self, text: str) -> RaiseAlarm:
        """Return the effect that tells a person `text`."""
        return RaiseAlarm(self.state.now, text)

    def timer(self, at: int) -> SetTimer:
        """Return the effect that wakes the loop at the second `at`."""
        return SetTimer(at)

    def _number(self) -> int:
        self.state.commands += 1
        return self.state.commands

    def _is_believable(self, at: int) -> bool:
        """Return whether an event may move the clock to `at`; raise an alarm where it may not."""
        state = self.state
        most = max(LONGEST_SILENCE_SECONDS, SILENT_STEPS * state.step_seconds)
        agreed = state.doubted_at != NEVER and state.doubted_at < at <= state.doubted_at + most
        if agreed or at <= state.now + most or not state.services:
            state.doubted_at = NEVER
            return True
        state.doubted_at = at
        fact = f"an event is dated {at - state.now} seconds ahead of all that was heard before"
        self._effects.append(self.alarm(f"{fact}; it is taken as happening now: check the clock that stamped it"))
        return False

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
            self._effects.append(
                self.alarm(f"{self._why_too_large(job)}; it will never start: cancel it or ask for less")
            )
        self._recall_priority(job)

    def _why_too_large(self, job: JobRecord) -> str:
        blocks, name = self.state.block_sizes, f"job {job.request.id!r}"
        sizes = blocks.of_need(blocks.need(job.request))
        if not sizes:
            return f"{name} needs GPUs of a type or memory that no node here states"
        here = "here" if sizes == blocks.sizes else "of the GPUs that it needs"
        return f"{name} asks for {job.request.gpus} GPUs, and the largest block {here} has {sizes[-1]}"

    def _recall_priority(self, job: JobRecord) -> None:
        """Give a job the priority that somebody changed before its submission was told."""
        if job.request.id in self.state.priorities_unseen:
            job.priority, job.priority_number = self.state.priorities_unseen.pop(job.request.id)

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
        if job is None:  # this has overtaken the submission
            _, known = self.state.priorities_unseen.get(event.job_id, (0.0, 0))
            if known < event.number:
                self.state.priorities_unseen[event.job_id] = event.priority, event.number
            return
        if event.number <= job.priority_number:
            return
        waits = job.phase is JobPhase.WAITING
        if waits:
            self._changes.append(JobLeftQueue(job))
        job.priority, job.priority_number = event.priority, event.number  # one that holds its block has it later
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
            if service is not None and (service.measured_number, service.measured_at) < (event.number, event.at):
                service.demand, service.measured_number, service.measured_at = demand, event.number, event.at
                newer[name] = demand
        if newer:
            self._changes.append(DemandIsKnown(event.at, newer))

    def _forecast(self, event: ForecastUpdated) -> None:
        service = self._service(event.service_id)
        if service is None or (service.forecast is not None and event.number <= service.forecast.number):
            return
        fault = _fault_of(event)
        if fault:
            self._effects.append(self.alarm(f"a forecast for {event.service_id!r} {fault}; it is ignored"))
            return
        service.forecast = GivenForecast(
            event.number, event.begin, event.step_seconds, event.quantiles, event.demand, event.fresh_until
        )
        self._changes.append(ForecastIsGiven(service))

    def _make_ready(self, event: ReplicaReady) -> None:
        service = self._service(event.service_id)
        replica = service.replicas.get(event.gpu) if service else None
        if replica and replica.attempt == event.attempt and replica.phase is ReplicaPhase.STARTING:
            self.state.serve(replica)

    def _stop(self, event: ReplicaStopped) -> None:
        service = self._service(event.service_id)
        replica = service.replicas.get(event.gpu) if service else None
        if service and replica and replica.attempt == event.attempt:
            self.state.drop_replica(service, event.gpu)
            self._changes.append(GridChanged())

    # GPUs and nodes

    def _lose(self, event: GpusLost) -> None:
        self.state.lost[_newer(self.state.told, event.gpus, event.number)] = True
        self._changes.append(GridChanged())

    def _regain(self, event: GpusBack) -> None:
        self.state.lost[_newer(self.state.told, event.gpus, event.number)] = False
        self._changes.append(GridChanged())

    def _drain_gpus(self, event: GpusDrained | GpusResumed) -> None:
        self._drain(event.gpus, event.number, isinstance(event, GpusDrained))

    def _drain_node(self, event: NodeDrained | NodeResumed) -> None:
        if 0 <= event.node < len(self.state.cluster.nodes):
            gpus = range(len(self.state.owner))[self.state.gpus_of_node(event.node)]
            self._drain(gpus, event.number, isinstance(event, NodeDrained))

    def _drain(self, gpus: Iterable[int], number: int, drained: bool) -> None:
        newer = _newer(self.state.drain_told, gpus, number)
        self.state.drained[newer] = drained
        if newer:
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


def _newer(told: npt.NDArray[np.int64], gpus: Iterable[int], number: int) -> list[int]:
    """Return the GPUs of which nothing newer is known, and note in `told` that `number` is now the newest."""
    newer = [gpu for gpu in gpus if 0 <= gpu < len(told) and told[gpu] < number]
    told[newer] = number
    return newer


def _fault_of(event: ForecastUpdated) -> str:
    """Return what is wrong with a forecast, or nothing."""
    quantiles, lengths = event.quantiles, {len(curve) for curve in event.demand}
    if not quantiles or not (quantiles[0] > 0 and quantiles[-1] < 1 and all(a < b for a, b in pairwise(quantiles))):
        return f"has quantiles {list(quantiles)}, which do not ascend between 0 and 1"
    if len(event.demand) != len(quantiles) or len(lengths) != 1 or 0 in lengths:
        return f"has {len(event.demand)} curves of {sorted(lengths)} steps for {len(quantiles)} quantiles"
    if event.step_seconds < 1:
        return f"has steps of {event.step_seconds} seconds"
    if not all(0 <= gpus < MOST_DEMAND for curve in event.demand for gpus in curve):
        return "has demand that is no number of GPUs"
    return ""
