"""The same week in a virtual world: its jobs and services under other policies, on other clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np
import numpy.typing as npt

from loadfactor.audit.idleness import waiting_span
from loadfactor.audit.integrals import seconds_between
from loadfactor.audit.record import Record
from loadfactor.audit.timeline import clipped
from loadfactor.control import JobRequest, Planner, ServiceRequest
from loadfactor.control.planners import (
    EASY,
    STRICT,
    HorizonSettings,
    InOrder,
    JobBook,
    PeakReservation,
    by_arrival,
    load_planners,
)
from loadfactor.engines import Arrival, World
from loadfactor.foresight import LearntRuntime
from loadfactor.model import Cluster, Node
from loadfactor.replay.contestants import Setting, make_planner
from loadfactor.replay.measure import measure
from loadfactor.replay.report import Outcome, series_of
from loadfactor.replay.run import replay
from loadfactor.replay.workload import DEFAULT_PRIORITIES
from loadfactor.sources.facts import JobInterval, JobState
from loadfactor.units import SECONDS_PER_HOUR

Ints = npt.NDArray[np.int64]
SERVICES = "services"
STEP_SECONDS = 600
STEPS_AHEAD = 144
"""The allocator looks a day ahead, in steps of ten minutes."""
REPLICA_START_SECONDS = 300
JOB_START_SECONDS = 60
SERVICE_PRIORITY = 8.0
MOST_JOBS = 20_000
"""Of a longer log the last jobs are replayed, so that a report takes no longer than a minute."""
FIFO, BACKFILL, ALLOCATOR = "FIFO with reservation", "backfill with reservation", "the allocator"
POLICIES = (FIFO, BACKFILL, ALLOCATOR)


@dataclass(frozen=True)
class Workload:
    """What is replayed: jobs in the order of their submission (seconds from the begin), and what services need.

    `demand` are GPUs in each step of `STEP_SECONDS` (empty without services), `reserved_gpus` what services hold where
    nothing follows the demand. `left_out` says by reason how many jobs are not replayed.
    """

    begin: float
    cluster: Cluster
    arrivals: tuple[Arrival, ...]
    demand: Ints
    reserved_gpus: int
    largest_swap: int
    left_out: dict[str, int] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()

    def with_priorities(self, priorities: Sequence[float]) -> Workload:
        """Return the same workload in which the jobs have these priorities, in the order of `arrivals`."""
        arrivals = tuple(
            replace(arrival, job=_with_priority(arrival.job, priority))
            for arrival, priority in zip(self.arrivals, priorities, strict=True)
        )
        return replace(self, arrivals=arrivals)

    def grown(self, share: float) -> Workload:
        """Return the same workload on a cluster with `share` more GPUs, in nodes like the largest kind it has."""
        added = round(self.cluster.gpu_count * share)
        sizes = [node.gpus for node in self.cluster.nodes]
        usual = self.cluster.nodes[sizes.index(max(set(sizes), key=sizes.count))]
        new = [
            usual.model_copy(update={"name": f"new-{number}"}) for number in range(max(1, round(added / usual.gpus)))
        ]
        nodes = (*self.cluster.nodes, *new)
        return replace(self, cluster=Cluster(block_sizes=self.cluster.block_sizes, nodes=nodes))


def _with_priority(job: JobRequest, priority: float) -> JobRequest:
    return msgspec.structs.replace(job, priority=priority)


def workload_of(record: Record, most_jobs: int = MOST_JOBS) -> Workload:
    """Return what the record's window looks like to a scheduler.

    A job that ran at the window's begin arrives then, with what it had left to run; one that still ran at its end runs
    until then. A job that still waits at the end is taken to run for the usual part of its limit (the usual time,
    without one): leaving it out would hide what more room is worth. Left out are jobs that were cancelled while they
    waited, and those larger than the cluster. Nodes that were out for more than half of the window are no part of it.
    """
    cluster = _cluster(record)
    stays, left_out, guessed = _stays(record, cluster.gpu_count)
    stays.sort(key=lambda stay: (stay.submitted, stay.started))
    left_out["before the last jobs"] = max(0, len(stays) - most_jobs)
    stays = stays[-most_jobs:]
    begin = stays[0].submitted if left_out["before the last jobs"] else record.window.begin
    demand, reserved, assumed = _demand(record, begin)
    if guessed:
        assumed = (*assumed, f"{guessed:,} jobs still waited at the end: they are taken to run as long as is usual")
    return Workload(
        begin=begin,
        cluster=cluster,
        arrivals=tuple(_arrival(number, begin, stay) for number, stay in enumerate(stays)),
        demand=np.minimum(demand, cluster.gpu_count),
        reserved_gpus=min(reserved, cluster.gpu_count),
        largest_swap=max(1, cluster.gpu_count // 10),
        left_out={reason: count for reason, count in left_out.items() if count},
        assumed=assumed,
    )


@dataclass(frozen=True, slots=True)
class _Stay:
    """A job to be replayed: when it came, when it was started (infinity: never), how long it runs, and its GPUs."""

    submitted: float
    started: float
    seconds: float
    gpus: int
    interval: JobInterval


def _stays(record: Record, most_gpus: int) -> tuple[list[_Stay], dict[str, int], int]:
    """Return the jobs to replay, how many are left out by reason, and how many have a run time that is a guess."""
    window, usual = record.window, _usual_run(record)
    stays: list[_Stay] = []
    left_out = {"cancelled while waiting": 0, "larger than the cluster": 0, "before the last jobs": 0}
    guessed = 0
    for interval, service in zip(record.intervals, record.is_service.tolist(), strict=True):
        span = clipped(interval, window)
        waited = None if interval.started is not None else waiting_span(interval, window)
        gpus = interval.gpus if span is not None else interval.gpus_requested
        if service or not gpus or (span is None and waited is None):
            continue
        if gpus > most_gpus:
            left_out["larger than the cluster"] += interval.count
        elif span is not None:
            submitted = span[0] if interval.submitted is None else min(interval.submitted, span[0])
            stays.append(_Stay(max(window.begin, submitted), span[0], span[1] - span[0], gpus, interval))
        elif waited is not None and interval.ended is None:
            stays += [_Stay(waited[0], np.inf, usual(interval), gpus, interval)] * interval.count
            guessed += interval.count
        else:
            left_out["cancelled while waiting"] += interval.count
    return stays, left_out, guessed


def _usual_run(record: Record) -> Callable[[JobInterval], float]:
    """Return how long a job runs that nobody saw run, by those that completed: their median share of the limit."""
    runs, shares = [], []
    for each in record.intervals:
        if each.state is JobState.COMPLETED and each.started is not None and each.ended is not None:
            runs.append(each.ended - each.started)
            if each.limit_seconds and np.isfinite(each.limit_seconds):
                shares.append(runs[-1] / each.limit_seconds)
    run = float(np.median(runs)) if runs else float(SECONDS_PER_HOUR)
    share = float(np.median(shares)) if shares else 0.0

    def usual(interval: JobInterval) -> float:
        limit = interval.limit_seconds
        return limit * share if share and limit and np.isfinite(limit) else run

    return usual


def _arrival(number: int, begin: float, stay: _Stay) -> Arrival:
    interval, limit = stay.interval, stay.interval.limit_seconds
    finite = limit is not None and np.isfinite(limit) and limit > 0
    run_seconds = max(1, round(stay.seconds))
    request = JobRequest(
        id=f"{interval.id}#{number}",
        gpus=stay.gpus,
        priority=1.0,
        limit_seconds=max(run_seconds, round(limit)) if finite and limit is not None else None,
        user=interval.user,
        name=interval.name,
        account=interval.account,
    )
    return Arrival(max(0, int(stay.submitted - begin)), request, run_seconds)


def _cluster(record: Record) -> Cluster:
    fleet = record.fleet
    out = np.zeros(len(fleet.nodes))
    node_of = np.repeat(np.arange(len(fleet.nodes)), [node.gpus for node in fleet.nodes])
    for gpu, spans in record.out.items():
        out[node_of[gpu]] += sum(end - begin for begin, end in spans)
    nodes = [
        Node(name=node.name, gpus=node.gpus)
        for node, seconds in zip(fleet.nodes, out.tolist(), strict=True)
        if seconds <= node.gpus * record.window.seconds / 2
    ]
    kept = nodes or [Node(name=node.name, gpus=node.gpus) for node in fleet.nodes]
    return Cluster(block_sizes="whole_nodes", nodes=tuple(kept))


def _demand(record: Record, begin: float) -> tuple[Ints, int, tuple[str, ...]]:
    """Return what services need in each step, what they hold without following it, and what had to be assumed."""
    edges = np.arange(begin, record.window.end + STEP_SECONDS, STEP_SECONDS)
    line = record.timeline
    owned = record.is_service[line.owner] if len(line.owner) else np.zeros(0, dtype=np.bool_)
    if not owned.any():
        return np.zeros(0, dtype=np.int64), 0, ()
    held = seconds_between(line.begin[owned], line.end[owned], edges) / STEP_SECONDS
    reserved = int(np.ceil(held.max() - 1e-9))
    if record.demand is None:
        assumed = ("the demand of services is not known: they are taken to need all that they held",)
        return np.ceil(held - 1e-9).astype(np.int64), reserved, assumed
    known = record.demand.known_seconds(edges)
    mean = record.demand.needed_seconds(edges) / np.where(known > 0, known, np.nan)
    needed = np.where(np.isnan(mean), held, mean)
    return np.ceil(needed - 1e-9).astype(np.int64), max(reserved, int(np.ceil(needed.max()))), ()


def _world(workload: Workload) -> World:
    demand = {SERVICES: workload.demand} if len(workload.demand) else {}
    service = ServiceRequest(SERVICES, SERVICE_PRIORITY, workload.largest_swap, start_seconds=REPLICA_START_SECONDS)
    return World(
        cluster=workload.cluster,
        arrivals=workload.arrivals,
        services=[service] if demand else [],
        demand=demand,
        step_seconds=STEP_SECONDS,
        job_start_seconds=JOB_START_SECONDS,
    )


def _planner(policy: str, workload: Workload, world: World) -> Planner:
    if policy == ALLOCATOR:
        return make_planner("fast", Setting(world, horizon=HorizonSettings(steps=STEPS_AHEAD)))
    load_planners()
    book = JobBook(by_arrival, LearntRuntime(), JOB_START_SECONDS)
    serving = PeakReservation({SERVICES: workload.reserved_gpus})
    return InOrder(policy, book, STRICT if policy == FIFO else EASY, serving)


def run_policy(policy: str, workload: Workload, progress: Callable[[float], None] | None = None) -> Outcome:
    """Return what one of `POLICIES` would have made of the workload, knowing only what was known at each moment."""
    world = _world(workload)
    planner = _planner(policy, workload, world)
    replayed = replay(world, planner, progress=progress, deadline_seconds=np.inf)
    return Outcome(measure(policy, replayed), tuple(series_of(replayed.record)))


def drawn_priorities(workload: Workload, seed: int = 0) -> list[float]:
    """Return a priority for every job, drawn evenly from `DEFAULT_PRIORITIES`: what if some work mattered more."""
    random = np.random.default_rng(seed)
    return [float(each) for each in random.choice(DEFAULT_PRIORITIES, size=len(workload.arrivals))]


def gpu_hours_of(workload: Workload) -> float:
    """Return the GPU-hours of work that the jobs bring."""
    return sum(arrival.job.gpus * arrival.run_seconds for arrival in workload.arrivals) / SECONDS_PER_HOUR
