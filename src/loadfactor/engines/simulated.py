"""The simulated engine: a virtual clock and an event heap behind the interface of every engine."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from loadfactor.control.effects import CancelJob, Effect, RaiseAlarm, SetTimer, StartJob, StartReplica, StopReplica
from loadfactor.control.events import (
    DemandMeasured,
    Event,
    GpusBack,
    GpusLost,
    JobEnded,
    JobLost,
    JobStarted,
    JobSubmitted,
    Outcome,
    ReplicaReady,
    ReplicaStopped,
    StartRefused,
    TimerFired,
)
from loadfactor.engines.faults import Faults
from loadfactor.engines.ledger import DemandMeter, Ledger, Use
from loadfactor.engines.world import World
from loadfactor.errors import LoadfactorError
from loadfactor.model import Cluster

JOB_NEWS = (JobStarted, JobEnded, JobLost, StartRefused)
"""Messages that the loop must have before a world is over."""


class BrokenPromiseError(LoadfactorError):
    """The control loop did what it must never do: started a job twice, or one that is over."""


@dataclass(slots=True)
class _RunningJob:
    attempt: int
    first_gpu: int
    size: int
    given_at: int


@dataclass(slots=True)
class JobLog:
    """What really happened to a job: seconds that it held its blocks, lost attempts, and its end.

    `destroyed_gpu_seconds` is the work that was lost with them, in GPUs used. `size` is that of its last block.
    """

    starts: int = 0
    losses: int = 0
    held_gpu_seconds: int = 0
    destroyed_gpu_seconds: int = 0
    ended_at: int | None = None
    outcome: Outcome | None = None
    size: int = 0


class SimulatedEngine:
    """Lets a world happen.

    The heap holds what will happen by itself (`_Action`s, called at their second) and messages on their way; messages
    are what `next_event` returns. `ledger` and `meters` book what GPUs and services really did.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.now = world.begin
        self.ledger = Ledger(world.cluster.gpu_count, world.begin)
        self.meters = {service.id: DemandMeter(world.begin) for service in world.services}
        self.logs = {arrival.job.id: JobLog() for arrival in world.arrivals}
        self.alarms: list[RaiseAlarm] = []
        self.open_jobs = len(world.arrivals)
        last = world.begin + world.last_step() * world.step_seconds
        self._end = last if world.end is None else world.end
        self._arrivals = {arrival.job.id: arrival for arrival in world.arrivals}
        self._start_seconds = {service.id: service.start_seconds for service in world.services}
        self._faults = Faults(world.faults, world.seed)
        self._heap: list[tuple[int, int, Callable[..., None] | None, Any]] = []
        self._sent = self._numbered = self._steps = 0
        self._inbox: deque[Event] = deque()
        self._jobs: dict[str, _RunningJob] = {}
        self._replicas: dict[tuple[str, int], int] = {}
        self._serving = dict.fromkeys(self.meters, 0)
        self._ready: set[tuple[str, int]] = set()
        self._lost: Counter[int] = Counter()
        self._late_news = 0
        self._carried_out: set[str] = set()
        self._watcher: Callable[[int], None] | None = None
        self._carriers: dict[type[Effect], Callable[[Any], None]] = {
            StartJob: self._start_job,
            CancelJob: self._cancel_job,
            StartReplica: self._start_replica,
            StopReplica: self._stop_replica,
            SetTimer: self._set_timer,
            RaiseAlarm: self.alarms.append,
        }
        self._begin()

    # The interface of an engine

    def inventory(self) -> Cluster:
        """Return the nodes and GPUs."""
        return self.world.cluster

    def next_event(self) -> Event | None:
        """Let time pass until something is told; None when every job is over, or the world's end has come."""
        while not self._inbox:
            if not self._heap or (self.open_jobs == 0 and self._late_news == 0):
                return None
            at, _, action, message = heappop(self._heap)
            if at >= self._end:
                self._pass_time(self._end)
                return None
            self._pass_time(at)
            if action is None:
                self._late_news -= isinstance(message, JOB_NEWS)
                self._inbox.append(message)
            else:
                action(*message)
        return self._inbox.popleft()

    def carry_out(self, effect: Effect) -> None:
        """Do what an effect says, once."""
        identity = effect.identity
        if identity in self._carried_out:
            return
        self._carried_out.add(identity)
        self._carriers[type(effect)](effect)

    def watch(self, watcher: Callable[[int], None]) -> None:
        """Let `watcher` be called before the clock moves, with the second that it moves to; nothing happens between."""
        self._watcher = watcher

    # The truth, for checkers

    def holdings(self) -> dict[int, str]:
        """Return who really holds each GPU that is held: `job` or `service` and the id."""
        jobs = {
            gpu: f"job {name}"
            for name, job in self._jobs.items()
            for gpu in range(job.first_gpu, job.first_gpu + job.size)
        }
        return jobs | {gpu: f"service {name}" for name, gpu in self._replicas}

    def lost_gpus(self) -> list[int]:
        """Return the GPUs that are really lost, ascending."""
        return sorted(self._lost)

    def undelivered(self) -> list[Event]:
        """Return the messages that are still on their way, in the order in which they would arrive."""
        late = [message for _, _, action, message in sorted(self._heap, key=lambda each: each[:2]) if action is None]
        return [*self._inbox, *late]

    # What happens by itself

    def _pass_time(self, until: int) -> None:
        if self._watcher is not None and until > self.now:
            self._watcher(until)
        self.now = until

    def _begin(self) -> None:
        world = self.world
        if world.arrivals:
            self._schedule(world.arrivals[0].at, self._arrive, 0)
        if world.services:
            for service in world.services:
                self.meters[service.id].turn(world.begin, demand=world.demand_at(service.id, world.begin))
            self._tell(DemandMeasured(world.begin, {each: meter.demand for each, meter in self.meters.items()}))
            self._schedule(world.begin + world.step_seconds, self._step)
        for loss in self._faults.losses(world.cluster, world.begin, self._end):
            self._schedule(loss.at, self._lose, loss.gpus)
            self._schedule(loss.back_at, self._regain, loss.gpus)

    def _arrive(self, index: int) -> None:
        arrival = self.world.arrivals[index]
        self._tell(JobSubmitted(self._faults.stamp(self.now), arrival.job))
        if index + 1 < len(self.world.arrivals):
            self._schedule(self.world.arrivals[index + 1].at, self._arrive, index + 1)

    def _step(self) -> None:
        measured = {name: meter.demand for name, meter in self.meters.items()}
        self._steps += 1
        for name, meter in self.meters.items():
            meter.turn(self.now, demand=self.world.demand_at(name, self.now))
        self._tell(DemandMeasured(self._faults.stamp_of_measurement(self.now), measured, self._steps))
        self._schedule(self.now + self.world.step_seconds, self._step)

    def _run_job(self, job_id: str, attempt: int) -> None:
        job = self._jobs.get(job_id)
        if job is None or job.attempt != attempt:
            return
        arrival = self._arrivals[job_id]
        working = job.first_gpu + arrival.job.used_on(job.size)
        self.ledger.turn(job.first_gpu, working, Use.JOB_WORKING, self.now)
        if working < job.first_gpu + job.size:
            self.ledger.turn(working, job.first_gpu + job.size, Use.PADDING, self.now)
        self._tell(JobStarted(self._faults.stamp(self.now), job_id, attempt))
        self._schedule(self.now + arrival.run_seconds_on(job.size), self._end_job, job_id, attempt, "finished")

    def _end_job(self, job_id: str, attempt: int, outcome: Outcome) -> None:
        job = self._jobs.get(job_id)
        if job is None or job.attempt != attempt:
            return
        self._release(job_id, job)
        log = self.logs[job_id]
        log.ended_at, log.outcome = self.now, outcome
        self.open_jobs -= 1
        self._tell(JobEnded(self._faults.stamp(self.now), job_id, attempt, outcome))

    def _release(self, job_id: str, job: _RunningJob) -> None:
        self.ledger.turn(job.first_gpu, job.first_gpu + job.size, Use.IDLE, self.now)
        self.logs[job_id].held_gpu_seconds += job.size * (self.now - job.given_at)
        del self._jobs[job_id]

    def _make_ready(self, service_id: str, gpu: int, attempt: int) -> None:
        if self._replicas.get((service_id, gpu)) == attempt and self.ledger.use(gpu) is Use.REPLICA_STARTING:
            self.ledger.turn(gpu, gpu + 1, Use.REPLICA_READY, self.now)
            self._ready.add((service_id, gpu))
            self._serve(service_id, 1)
            self._tell(ReplicaReady(self._faults.stamp(self.now), service_id, gpu, attempt))

    def _end_replica(self, service_id: str, gpu: int, attempt: int) -> None:
        if self._replicas.get((service_id, gpu)) == attempt:
            del self._replicas[service_id, gpu]
            self.ledger.turn(gpu, gpu + 1, Use.IDLE, self.now)
            self._tell(ReplicaStopped(self._faults.stamp(self.now), service_id, gpu, attempt))

    def _serve(self, service_id: str, more: int) -> None:
        self._serving[service_id] += more
        self.meters[service_id].turn(self.now, serving=self._serving[service_id])

    def _lose(self, gpus: tuple[int, ...]) -> None:
        for name, job in [(name, job) for name, job in self._jobs.items() if _meets(job, gpus)]:
            worked = max(0, self.now - job.given_at - self.world.job_start_seconds)
            self._release(name, job)
            self.logs[name].losses += 1
            self.logs[name].destroyed_gpu_seconds += worked * self._arrivals[name].job.used_on(job.size)
            self._tell(JobLost(self._faults.stamp(self.now), name, job.attempt))
        for service_id, gpu in [key for key in self._replicas if key[1] in gpus]:
            self._stop_serving(service_id, gpu)
            attempt = self._replicas.pop((service_id, gpu))
            self._tell(ReplicaStopped(self._faults.stamp(self.now), service_id, gpu, attempt))
        self._lost.update(gpus)
        for gpu in gpus:
            self.ledger.turn(gpu, gpu + 1, Use.LOST, self.now)
        self._numbered += 1
        self._tell(GpusLost(self._faults.stamp(self.now), gpus, self._numbered))

    def _regain(self, gpus: tuple[int, ...]) -> None:
        self._lost -= Counter(gpus)
        back = tuple(gpu for gpu in gpus if gpu not in self._lost)  # what failed twice is back when both are repaired
        for gpu in back:
            self.ledger.turn(gpu, gpu + 1, Use.IDLE, self.now)
        self._numbered += 1
        self._tell(GpusBack(self._faults.stamp(self.now), back, self._numbered))

    def _stop_serving(self, service_id: str, gpu: int) -> None:
        if (service_id, gpu) in self._ready:
            self._ready.discard((service_id, gpu))
            self._serve(service_id, -1)

    # What is wanted

    def _start_job(self, effect: StartJob) -> None:
        log = self.logs[effect.job_id]
        if effect.job_id in self._jobs or log.ended_at is not None:
            raise BrokenPromiseError(f"job {effect.job_id!r} is started again at second {self.now}")
        block = range(effect.first_gpu, effect.first_gpu + effect.size)
        reason = self._why_not(block)
        if reason:
            self._tell(StartRefused(self._faults.stamp(self.now), effect.job_id, effect.attempt, reason))
            return
        self._jobs[effect.job_id] = _RunningJob(effect.attempt, effect.first_gpu, effect.size, self.now)
        log.starts, log.size = log.starts + 1, effect.size
        self.ledger.turn(block.start, block.stop, Use.JOB_STARTING, self.now)
        self._schedule(self.now + self.world.job_start_seconds, self._run_job, effect.job_id, effect.attempt)

    def _why_not(self, block: range) -> str:
        if self._faults.refuses():
            return "the node did not answer"
        if any(gpu in self._lost for gpu in block):
            return "a GPU of the block is lost"
        if any(self.ledger.use(gpu) is not Use.IDLE for gpu in block):
            return "a GPU of the block is in use"
        return ""

    def _cancel_job(self, effect: CancelJob) -> None:
        self._end_job(effect.job_id, effect.attempt, "cancelled")

    def _start_replica(self, effect: StartReplica) -> None:
        if effect.gpu in self._lost or self.ledger.use(effect.gpu) is not Use.IDLE:
            stopped = ReplicaStopped(self._faults.stamp(self.now), effect.service_id, effect.gpu, effect.attempt)
            self._tell(stopped)
            return
        key = (effect.service_id, effect.gpu)
        self._replicas[key] = effect.attempt
        self.ledger.turn(effect.gpu, effect.gpu + 1, Use.REPLICA_STARTING, self.now)
        self._schedule(self.now + self._start_seconds[effect.service_id], self._make_ready, *key, effect.attempt)

    def _stop_replica(self, effect: StopReplica) -> None:
        key = (effect.service_id, effect.gpu)
        if self._replicas.get(key) != effect.attempt:
            return
        self._stop_serving(*key)
        self.ledger.turn(effect.gpu, effect.gpu + 1, Use.REPLICA_STOPPING, self.now)
        self._schedule(self.now + self.world.replica_stop_seconds, self._end_replica, *key, effect.attempt)

    def _set_timer(self, effect: SetTimer) -> None:
        self._push(max(effect.at, self.now), None, TimerFired(max(effect.at, self.now)))

    # Time and messages

    def _schedule(self, at: int, action: Callable[..., None], *message: Any) -> None:
        self._push(at, action, message)

    def _tell(self, event: Event) -> None:
        for at in self._faults.deliveries(self.now):
            if at <= self.now:
                self._inbox.append(event)
            else:
                self._late_news += isinstance(event, JOB_NEWS)
                self._push(at, None, event)

    def _push(self, at: int, action: Callable[..., None] | None, message: Any) -> None:
        self._sent += 1
        heappush(self._heap, (at, self._sent, action, message))


def _meets(job: _RunningJob, gpus: tuple[int, ...]) -> bool:
    return any(job.first_gpu <= gpu < job.first_gpu + job.size for gpu in gpus)
