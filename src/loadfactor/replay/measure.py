"""The measures of one replay: what the GPUs did, what it was worth, how long jobs waited, what services lacked.

GPUs and services are measured from the end of the warm-up to the last arrival, the same window for every policy: after
it the queue only drains. All jobs that came since the warm-up are measured, whenever they ended. Everything is computed
from what really happened in the world, never from what the control loop believed; how long decisions took is kept
apart, in `Timing`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import fsum
from typing import Any

import numpy as np

from loadfactor.control.records import HOLDING, JobPhase
from loadfactor.engines import Arrival, Use
from loadfactor.replay.recorder import Books
from loadfactor.replay.run import Replayed
from loadfactor.units import MILLISECONDS_PER_SECOND, SECONDS_PER_HOUR

SLOWDOWN_FLOOR_SECONDS = 10
"""Tau of the bounded slowdown: shorter jobs count as if they ran so long (Feitelson, Metrics for parallel job
scheduling and their convergence, 2001)."""
SIZE_CLASSES: Mapping[str, tuple[int, float]] = {"1": (1, 1), "2-4": (2, 4), "5-8": (5, 8), "9+": (9, np.inf)}
"""The GPUs that jobs ask for, from and to, by the name of the class."""
DIGITS = 9


@dataclass(frozen=True)
class Yardstick:
    """What the measures depend on beside the replay: the objective, and from which wait on a job counts as starved."""

    realtime_penalty: float = 8.0
    hourly_decay: float = 0.98
    starved_hours: float = 72.0


@dataclass(frozen=True, slots=True)
class Spread:
    """How a figure is distributed over jobs; percentiles are interpolated, and all is 0 where there is no job."""

    count: int
    mean: float
    median: float
    p95: float
    p99: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of `values`."""
        if not len(values):
            return cls(0, 0.0, 0.0, 0.0, 0.0, 0.0)
        median, p95, p99 = (float(each) for each in np.percentile(values, (50, 95, 99)))
        return cls(len(values), fsum(values) / len(values), median, p95, p99, float(max(values)))


@dataclass(frozen=True, slots=True)
class GpuHours:
    """What the GPUs of the cluster were used for in the window, in GPU-hours; the parts add up to `total`.

    `jobs` is work in GPUs that were asked for, `services` demand met. Not utilized: `padding` (in a block and not asked
    for), the start-up of jobs and replicas, replicas `stopping`, replicas ready beyond the demand (`spare`) and `idle`
    GPUs. `lost` ones were out of use.
    """

    total: float
    jobs: float
    services: float
    padding: float
    job_starting: float
    replica_starting: float
    replica_stopping: float
    spare: float
    idle: float
    lost: float


@dataclass(frozen=True, slots=True)
class JobCounts:
    """What became of the jobs. A job counts as starved that waited longer than the bound, started or not.

    `destroyed_gpu_hours` is work that went with lost GPUs and had to be done again; it counts as utilized.
    """

    submitted: int
    finished: int
    unfinished: int
    never_started: int
    too_large: int
    starved: int
    starts: int
    losses: int
    destroyed_gpu_hours: float


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Demand that was not met in the window; `steps_met` is the share of steps without a second of it."""

    gpu_hours: float
    share_of_demand: float
    steps_met: float
    longest_seconds: int


@dataclass(frozen=True, slots=True)
class Timing:
    """How long it took, which no two runs agree on; times of a decision are in milliseconds."""

    decisions: int
    median_ms: float
    p99_ms: float
    most_ms: float
    late: int
    events: int
    seconds: float


@dataclass(frozen=True)
class Measures:
    """One policy in one world; the same seed gives the same measures, but for `timing`."""

    policy: str
    window_hours: float
    utilization: float
    job_utilization: float
    service_utilization: float
    gpu_hours: GpuHours
    value: float
    penalty: float
    objective: float
    jobs: JobCounts
    wait_hours: Spread
    wait_hours_by_size: Mapping[str, Spread]
    slowdown: Spread
    shortfall: Shortfall
    shortfall_by_service: Mapping[str, Shortfall]
    replicas_started: int
    replicas_stopped: int
    makespan_hours: float
    illegal_decisions: int
    alarms: int
    first_alarms: tuple[str, ...] = ()
    timing: Timing = field(compare=False, default=Timing(0, 0.0, 0.0, 0.0, 0, 0, 0.0))

    @property
    def churn(self) -> int:
        """Return the replicas started plus those stopped in the window."""
        return self.replicas_started + self.replicas_stopped

    def to_document(self, timing: bool = True) -> dict[str, Any]:
        """Return the measures as plain mappings; `timing` stands in an object of its own, or nowhere."""
        document: dict[str, Any] = rounded(asdict(self) | {"churn": self.churn})
        if not timing:
            del document["timing"]
        return document


def measure(policy: str, replayed: Replayed, yardstick: Yardstick | None = None) -> Measures:
    """Return the measures of a replay."""
    yardstick = yardstick or Yardstick()
    hours = _gpu_hours(replayed.record.window)
    available = hours.total - hours.lost
    waits, slowdowns = _waits(replayed)
    value, penalty = _value(replayed, yardstick), _penalty(replayed, yardstick)
    shortfalls = _shortfalls(replayed)
    alarms = replayed.engine.alarms
    return Measures(
        policy=policy,
        window_hours=(replayed.record.window.at - replayed.record.measured_from) / SECONDS_PER_HOUR,
        utilization=_share(hours.jobs + hours.services, available),
        job_utilization=_share(hours.jobs, available),
        service_utilization=_share(hours.services, available),
        gpu_hours=hours,
        value=value,
        penalty=penalty,
        objective=value - penalty,
        jobs=_counts(replayed, waits, yardstick),
        wait_hours=Spread.of(list(waits.values())),
        wait_hours_by_size=_by_size(replayed, waits),
        slowdown=Spread.of(slowdowns),
        shortfall=_all_together(replayed),
        shortfall_by_service=shortfalls,
        replicas_started=replayed.record.window.replicas_started,
        replicas_stopped=replayed.record.window.replicas_stopped,
        makespan_hours=(replayed.engine.now - replayed.world.begin) / SECONDS_PER_HOUR,
        illegal_decisions=replayed.loop.illegal,
        alarms=len(alarms),
        first_alarms=tuple(alarm.text for alarm in alarms[:5]),
        timing=timing_of(replayed),
    )


def timing_of(replayed: Replayed) -> Timing:
    """Return how long the decisions of a replay took, and the whole of it."""
    times = np.array(replayed.loop.decision_seconds or [0.0]) * MILLISECONDS_PER_SECOND
    median, p99 = (float(each) for each in np.percentile(times, (50, 99)))
    count = len(replayed.loop.decision_seconds)
    return Timing(count, median, p99, float(times.max()), replayed.loop.late, replayed.events, replayed.seconds)


def started_at(replayed: Replayed, arrival: Arrival) -> int | None:
    """Return the second at which the job got the block on which it finished, or has now; None if it waits."""
    log = replayed.engine.logs[arrival.job.id]
    if log.ended_at is not None and log.outcome == "finished":
        return log.ended_at - arrival.run_seconds_on(log.size) - replayed.world.job_start_seconds
    row = replayed.state.row_of_job.get(arrival.job.id)
    if row is None or replayed.state.jobs[row].phase not in HOLDING:
        return None
    return replayed.state.jobs[row].given_at


def measured_arrivals(replayed: Replayed) -> list[Arrival]:
    """Return the arrivals since the warm-up."""
    return [arrival for arrival in replayed.world.arrivals if arrival.at >= replayed.record.measured_from]


def _waits(replayed: Replayed) -> tuple[dict[str, float], list[float]]:
    """Return the hours that each job waited, or has waited until now, and the bounded slowdowns."""
    waits: dict[str, float] = {}
    slowdowns = []
    for arrival in measured_arrivals(replayed):
        if arrival.at > replayed.engine.now or _is_too_large(replayed, arrival.job.id):
            continue
        start = started_at(replayed, arrival)
        waited = (replayed.engine.now if start is None else start) - arrival.at
        run = arrival.run_seconds_on(replayed.engine.logs[arrival.job.id].size or arrival.job.gpus)
        waits[arrival.job.id] = waited / SECONDS_PER_HOUR
        slowdowns.append(max(1.0, (waited + run) / max(run, SLOWDOWN_FLOOR_SECONDS)))
    return waits, slowdowns


def _is_too_large(replayed: Replayed, job_id: str) -> bool:
    row = replayed.state.row_of_job.get(job_id)
    return row is not None and replayed.state.jobs[row].phase is JobPhase.TOO_LARGE


def _by_size(replayed: Replayed, waits: Mapping[str, float]) -> dict[str, Spread]:
    asked = {arrival.job.id: arrival.job.gpus for arrival in measured_arrivals(replayed)}
    return {
        name: Spread.of([wait for job_id, wait in waits.items() if least <= asked[job_id] <= most])
        for name, (least, most) in SIZE_CLASSES.items()
    }


def _gpu_hours(books: Books) -> GpuHours:
    hours = {use: seconds / SECONDS_PER_HOUR for use, seconds in books.gpu_seconds.items()}
    met = sum(service.met for service in books.services.values()) / SECONDS_PER_HOUR
    return GpuHours(
        total=fsum(hours.values()),
        jobs=hours[Use.JOB_WORKING],
        services=met,
        padding=hours[Use.PADDING],
        job_starting=hours[Use.JOB_STARTING],
        replica_starting=hours[Use.REPLICA_STARTING],
        replica_stopping=hours[Use.REPLICA_STOPPING],
        spare=hours[Use.REPLICA_READY] - met,
        idle=hours[Use.IDLE],
        lost=hours[Use.LOST],
    )


def _value(replayed: Replayed, yardstick: Yardstick) -> float:
    """Return the worth of the finished jobs: priority x GPU-hours, less by the decay for every hour waited."""
    worths = []
    for arrival in measured_arrivals(replayed):
        if replayed.engine.logs[arrival.job.id].outcome == "finished":
            start = started_at(replayed, arrival)
            waited = 0.0 if start is None else (start - arrival.at) / SECONDS_PER_HOUR
            gpu_hours = arrival.gpu_seconds / SECONDS_PER_HOUR
            worths.append(arrival.job.priority * gpu_hours * yardstick.hourly_decay**waited)
    return fsum(worths)


def _penalty(replayed: Replayed, yardstick: Yardstick) -> float:
    books = replayed.record.window.services
    return fsum(
        yardstick.realtime_penalty * service.priority * books[service.id].unmet / SECONDS_PER_HOUR
        for service in replayed.world.services
    )


def _counts(replayed: Replayed, waits: Mapping[str, float], yardstick: Yardstick) -> JobCounts:
    logs = [replayed.engine.logs[arrival.job.id] for arrival in measured_arrivals(replayed)]
    finished = sum(log.outcome == "finished" for log in logs)
    too_large = sum(_is_too_large(replayed, arrival.job.id) for arrival in measured_arrivals(replayed))
    return JobCounts(
        submitted=len(logs),
        finished=finished,
        unfinished=len(logs) - finished,
        never_started=sum(log.starts == 0 for log in logs),
        too_large=too_large,
        starved=sum(wait > yardstick.starved_hours for wait in waits.values()),
        starts=sum(log.starts for log in logs),
        losses=sum(log.losses for log in logs),
        destroyed_gpu_hours=sum(log.destroyed_gpu_seconds for log in logs) / SECONDS_PER_HOUR,
    )


def _shortfalls(replayed: Replayed) -> dict[str, Shortfall]:
    record = replayed.record
    return {
        name: Shortfall(
            books.unmet / SECONDS_PER_HOUR,
            _share(books.unmet, books.met + books.unmet),
            _share(record.steps_met[name], record.steps, nothing=1.0),
            books.longest_shortfall_seconds,
        )
        for name, books in record.window.services.items()
    }


def _all_together(replayed: Replayed) -> Shortfall:
    record = replayed.record
    services = record.window.services.values()
    unmet = sum(books.unmet for books in services)
    demand = unmet + sum(books.met for books in services)
    longest = max((books.longest_shortfall_seconds for books in services), default=0)
    met = _share(record.steps_all_met, record.steps, nothing=1.0)
    return Shortfall(unmet / SECONDS_PER_HOUR, _share(unmet, demand), met, longest)


def _share(part: float, whole: float, nothing: float = 0.0) -> float:
    return part / whole if whole > 0 else nothing


def rounded(value: Any, digits: int = DIGITS) -> Any:
    """Return `value` as plain Python, its fractions rounded, so that documents do not end in noise."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, float | np.floating):
        return round(float(value), digits)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): rounded(each, digits) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each, digits) for each in value]
    return value
