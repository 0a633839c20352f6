"""Random moments of a cluster at work, random legal decisions, and the moment as a small problem document."""

from __future__ import annotations

from random import Random

from loadfactor.control import ClusterState, Decision, JobRequest, JobStart, ServiceRequest, Swap
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
from loadfactor.model import Plan, Problem
from tests.support.cells import is_legal_block
from tests.support.control import Bench, cluster

SHAPES = (
    ((4, 4, 2, 1), "power_of_two"),
    ((2, 2, 2, 2), "whole_nodes"),
    ((3, 3, 8), "whole_nodes"),
    ((6, 6, 6), "whole_nodes"),
    ((6, 2, 4), "power_of_two"),
)
STEPS = 2


def random_bench(seed: int, moves: int = 25) -> Bench:
    """Return a bench in the middle of a random story."""
    rng = Random(f"bench {seed}")
    nodes, block_sizes = SHAPES[seed % len(SHAPES)]
    services = tuple(
        ServiceRequest(f"service-{row}", float(rng.randint(1, 9)), rng.randint(1, 4), rng.choice((None, 1, 3)))
        for row in range(rng.randint(0, 3))
    )
    bench = Bench(ClusterState(cluster(nodes, block_sizes), services, 600))
    for _ in range(moves):
        bench.tell(random_event(bench.state, rng))
        if rng.random() < 0.3:
            bench.apply(legal_decision(bench.state, rng))
    return bench


def random_event(state: ClusterState, rng: Random) -> Event:
    """Return something that may happen: true, old, doubled, or about nobody."""
    at = max(0, state.now + rng.randint(-100, 400))
    jobs = [each.request.id for each in state.jobs if each.phase is not JobPhase.OVER]
    job = rng.choice([*jobs, "stranger"])
    row = state.row_of_job.get(job)
    attempt = (1 if row is None else state.jobs[row].attempt) - (rng.random() < 0.1)
    replicas = [(s.request.id, r.gpu, r.attempt) for s in state.services for r in s.replicas.values()]
    replica = rng.choice([*replicas, ("stranger", 0, 1)])
    gpus = tuple(rng.sample(range(state.cluster.gpu_count), rng.randint(1, 2)))
    number, node = rng.randint(1, 30), rng.randrange(len(state.cluster.nodes))
    gpus_asked = rng.choice((1, 1, 2, 3, 4, 6, 9))
    makers: list[tuple[int, Event]] = [
        (10, JobSubmitted(at, JobRequest(f"job-{len(state.jobs) - (rng.random() < 0.1)}", gpus_asked))),
        (3, JobStarted(at, job, attempt)),
        (5, JobEnded(at, job, attempt, rng.choice(("finished", "failed", "cancelled")))),
        (2, JobLost(at, job, attempt)),
        (2, StartRefused(at, job, attempt, "the node did not answer")),
        (1, JobCancelled(at, job)),
        (1, PriorityChanged(at, job, float(rng.randint(1, 9)))),
        (2, DemandMeasured(at, {service.request.id: rng.randint(0, 4) for service in state.services})),
        (2, ReplicaReady(at, *replica)),
        (4, ReplicaStopped(at, *replica)),
        (1, GpusLost(at, gpus, number)),
        (4, GpusBack(at, gpus, number)),
        (1, NodeDrained(at, node)),
        (4, NodeResumed(at, node)),
        (1, TimerFired(at)),
    ]
    return rng.choices([event for _, event in makers], [weight for weight, _ in makers])[0]


# Decisions


def open_gpus(state: ClusterState) -> set[int]:
    """Return the GPUs that nobody holds and that are in use, from the records alone."""
    held = {gpu for job in state.jobs if job.phase in HOLDING for gpu in block_of(job)}
    held |= {gpu for service in state.services for gpu in service.replicas}
    return {gpu for gpu in range(len(state.lost)) if not state.lost[gpu] and not state.drained[gpu]} - held


def block_of(job: JobRecord) -> range:
    """Return the GPUs that a job holds."""
    return range(job.first_gpu, job.first_gpu + job.size)


def serving(service: ServiceRecord) -> list[int]:
    """Return the GPUs of replicas that are not on their way out, ascending."""
    return sorted(gpu for gpu, each in service.replicas.items() if each.phase is not ReplicaPhase.STOPPING)


def legal_decision(state: ClusterState, rng: Random) -> Decision:
    """Return a random decision that the rules allow."""
    decision, free = Decision(), open_gpus(state)
    for service in state.services:
        left = state.swaps_left(service)
        gone = rng.sample(serving(service), min(left, rng.choice((0, 0, 1)), service.held()))
        most = service.request.max_gpus
        room = len(free) if most is None else most - service.held() + len(gone)
        given = rng.sample(sorted(free), max(0, min(left - len(gone), rng.choice((0, 1, 2)), room, len(free))))
        decision.taken += [Swap(service.row, gpu) for gpu in gone]
        decision.given += [Swap(service.row, gpu) for gpu in given]
        free -= set(given)
    for job in state.jobs:
        firsts = [first for first in range(len(state.owner)) if fits(state, free, first, job.size)]
        if job.phase is JobPhase.WAITING and firsts and rng.random() < 0.7:
            first = rng.choice(firsts)
            decision.starts.append(JobStart(job.row, first))
            free -= set(range(first, first + job.size))
    return decision


def fits(state: ClusterState, free: set[int], first: int, size: int) -> bool:
    """Return whether the block is one by R3 and all of it is in `free`."""
    return is_legal_block(state.cluster, first, size) and free >= set(range(first, first + size))


def any_decision(state: ClusterState, rng: Random) -> Decision:
    """Return a decision that may be legal or not."""
    gpu = len(state.owner)
    rows = [job.row for job in state.jobs if job.phase is JobPhase.WAITING] or [0]
    services = range(len(state.services))
    free = [*sorted(open_gpus(state)), rng.randrange(gpu)]
    few = (0, 0, 1, 1, 2)
    starts = [JobStart(rng.choice(rows), rng.choice(free)) for _ in range(rng.choice(few)) if state.jobs]
    given = [Swap(rng.choice(services), rng.choice(free)) for _ in range(rng.choice(few)) if services]
    held = [(service.row, gpu) for service in state.services for gpu in service.replicas]
    taken = [Swap(*rng.choice(held)) for _ in range(rng.choice(few)) if held]
    return Decision(starts, given, taken)


# The moment as documents


def problem_of(state: ClusterState) -> Problem:
    """Return the moment as a problem of two steps, in which what runs goes on; too large jobs are left out."""
    entries = [entry for job in state.jobs if (entry := _job_entry(job))]
    held = {gpu for job in state.jobs if job.phase in HOLDING for gpu in block_of(job)}
    held |= {gpu for service in state.services for gpu in serving(service)}
    closed = [gpu for gpu in range(len(state.owner)) if gpu not in open_gpus(state) and gpu not in held]
    nodes = [{"name": node.name, "gpus": node.gpus} for node in state.cluster.nodes]
    document = {
        "name": "moment",
        "horizon": {"steps": STEPS, "finish_inside": False},
        "cluster": {
            "block_sizes": state.cluster.block_sizes,
            "nodes": nodes,
            "unavailable": [{"gpus": closed, "from": 0, "until": STEPS}] if closed else [],
        },
        "jobs": entries,
        "services": [_service_entry(state, service) for service in state.services],
    }
    return Problem.model_validate(document)


def _job_entry(job: JobRecord) -> dict[str, object] | None:
    if job.phase not in HOLDING and job.phase is not JobPhase.WAITING:
        return None
    entry = {"id": job.request.id, "kind": "training", "priority": 1.0, "duration": STEPS}
    most: dict[str, object] = {"gpus": {"min": job.request.gpus, "max": job.size}}
    running = {"running": {"gpus": list(block_of(job)), "remaining": STEPS}} if job.phase in HOLDING else {}
    return {**entry, **most, **running}


def _service_entry(state: ClusterState, service: ServiceRecord) -> dict[str, object]:
    most = {} if service.request.max_gpus is None else {"max_gpus": service.request.max_gpus}
    return {
        "id": service.request.id,
        "priority": service.request.priority,
        "demand": [0] * STEPS,
        "max_swap": state.swaps_left(service),
        "held": serving(service),
        **most,
    }


def plan_of(state: ClusterState, decision: Decision) -> Plan:
    """Return what the decision makes of the moment, as a plan for `problem_of`."""
    jobs = [(job.request.id, block_of(job)) for job in state.jobs if job.phase in HOLDING]
    for start in decision.starts:
        job = state.jobs[start.row]
        jobs.append((job.request.id, range(start.first_gpu, start.first_gpu + job.size)))
    placed = {name for name, _ in jobs}
    waiting = [job.request.id for job in state.jobs if job.phase is JobPhase.WAITING and job.request.id not in placed]
    return Plan.model_validate(
        {
            "problem": "moment",
            "policy": "decision",
            "jobs": [{"id": name, "start": 0, "end": STEPS, "gpus": list(gpus)} for name, gpus in jobs],
            "unplaced": [{"id": name} for name in waiting],
            "services": [_held_after(service, decision) for service in state.services],
        }
    )


def _held_after(service: ServiceRecord, decision: Decision) -> dict[str, object]:
    gpus = [gpu for gpu in serving(service) if Swap(service.row, gpu) not in decision.taken]
    gpus += [swap.gpu for swap in decision.given if swap.service == service.row]
    return {"id": service.request.id, "gpus": [sorted(gpus)] * STEPS}
