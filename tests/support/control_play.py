"""Random moments of a cluster at work, random legal decisions, and the moment as a small problem document."""

from __future__ import annotations

from random import Random

from loadfactor.control import ClusterState, Decision, JobRequest, JobStart, ServiceRequest, Swap
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
from loadfactor.control.records import HOLDING, JobPhase, JobRecord, ReplicaPhase, ServiceRecord
from loadfactor.model import Cluster, Plan, Problem
from tests.support.cells import is_legal_block
from tests.support.control import Bench, cluster

SHAPES = (
    ((4, 4, 2, 1), "power_of_two"),
    ((2, 2, 2, 2), "whole_nodes"),
    ((3, 3, 8), "whole_nodes"),
    ((6, 6, 6), "whole_nodes"),
    ((6, 2, 4), "power_of_two"),
)
KINDS = (("H100", 80.0), ("L40", 48.0), (None, None))
TYPES = (None, None, None, ("H100",), ("H100", "L40"))
MEMORIES = (None, None, None, 40.0, 60.0)
WILD_SECONDS = 10**8
STEPS = 2


def random_bench(seed: int, moves: int = 25) -> Bench:
    """Return a bench in the middle of a random story."""
    rng = Random(f"bench {seed}")
    nodes, block_sizes = SHAPES[seed % len(SHAPES)]
    services = tuple(_service(row, rng) for row in range(rng.randint(0, 3)))
    described = typed([*nodes], block_sizes, rng)
    bench = Bench(ClusterState(described, services, 600))
    for _ in range(moves):
        bench.tell(random_event(bench.state, rng))
        if rng.random() < 0.3:
            bench.apply(legal_decision(bench.state, rng))
    return bench


def typed(nodes: list[int], block_sizes: str, rng: Random) -> Cluster:
    """Return a cluster of nodes of mixed types; some do not say what they are."""
    plain = cluster(nodes, block_sizes)
    kinds = [rng.choice(KINDS) for _ in nodes]
    named = [
        node.model_copy(update={"gpu_type": kind, "gpu_memory_gib": memory})
        for node, (kind, memory) in zip(plain.nodes, kinds, strict=True)
    ]
    return Cluster.model_validate({"block_sizes": block_sizes, "nodes": named})


def _service(row: int, rng: Random) -> ServiceRequest:
    return ServiceRequest(
        f"service-{row}",
        float(rng.randint(1, 9)),
        rng.randint(1, 4),
        rng.choice((None, 1, 3)),
        gpu_types=rng.choice(TYPES),
        gpu_memory_gib=rng.choice(MEMORIES),
    )


def random_request(name: str, rng: Random) -> JobRequest:
    """Return a job of fixed size or moldable, for any GPU or for some."""
    gpus = rng.choice((1, 1, 2, 3, 4, 6, 9))
    most = gpus + rng.choice((0, 1, 3, 8)) if rng.random() < 0.4 else None
    work = rng.choice((None, 1, 5_000)) if most is not None else None
    return JobRequest(
        name,
        gpus,
        most_gpus=most,
        work_gpu_seconds=work,
        gpu_types=rng.choice(TYPES),
        gpu_memory_gib=rng.choice(MEMORIES),
    )


def _forecast(at: int, service: str, number: int, rng: Random) -> ForecastUpdated:
    steps = rng.randint(0, 3)
    curves = tuple(tuple(float(rng.randint(0, 4)) for _ in range(steps)) for _ in range(rng.choice((2, 2, 1))))
    return ForecastUpdated(at, service, number, at, 600, (0.5, rng.choice((0.9, 0.9, 0.4))), curves, at + 1_200)


def random_event(state: ClusterState, rng: Random) -> Event:
    """Return something that may happen: true, old, doubled, or about nobody."""
    wild = WILD_SECONDS * rng.randint(1, 9) if rng.random() < 0.02 else 0
    at = max(0, state.now + rng.randint(-100, 400)) + wild
    jobs = [each.request.id for each in state.jobs if each.phase is not JobPhase.OVER]
    job = rng.choice([*jobs, "stranger"])
    row = state.row_of_job.get(job)
    attempt = (1 if row is None else state.jobs[row].attempt) - (rng.random() < 0.1)
    replicas = [(s.request.id, r.gpu, r.attempt) for s in state.services for r in s.replicas.values()]
    replica = rng.choice([*replicas, ("stranger", 0, 1)])
    gpus = tuple(rng.sample(range(state.cluster.gpu_count), rng.randint(1, 2)))
    number, node = rng.randint(1, 30), rng.randrange(len(state.cluster.nodes))
    service = rng.choice([*(each.request.id for each in state.services), "stranger"])
    makers: list[tuple[int, Event]] = [
        (10, JobSubmitted(at, random_request(f"job-{len(state.jobs) - (rng.random() < 0.1)}", rng))),
        (3, JobStarted(at, job, attempt)),
        (5, JobEnded(at, job, attempt, rng.choice(("finished", "failed", "cancelled")))),
        (2, JobLost(at, job, attempt)),
        (2, StartRefused(at, job, attempt, "the node did not answer")),
        (1, JobCancelled(at, job)),
        (1, PriorityChanged(at, rng.choice((job, "job-early")), float(rng.randint(1, 9)), number)),
        (2, DemandMeasured(at, {service.request.id: rng.randint(0, 4) for service in state.services}, number // 10)),
        (1, _forecast(at, service, number, rng)),
        (2, ReplicaReady(at, *replica)),
        (4, ReplicaStopped(at, *replica)),
        (1, GpusLost(at, gpus, number)),
        (4, GpusBack(at, gpus, number)),
        (1, GpusDrained(at, gpus, number)),
        (2, GpusResumed(at, gpus, number)),
        (1, NodeDrained(at, node, number)),
        (4, NodeResumed(at, node, number)),
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
        suited = sorted(gpu for gpu in free if suits_gpu(state, service.request, gpu))
        given = rng.sample(suited, max(0, min(left - len(gone), rng.choice((0, 1, 2)), room, len(suited))))
        decision.taken += [Swap(service.row, gpu) for gpu in gone]
        decision.given += [Swap(service.row, gpu) for gpu in given]
        free -= set(given)
    for job in state.jobs:
        blocks = [block for size in sizes_of(state, job) for block in blocks_for(state, free, job, size)]
        if job.phase is JobPhase.WAITING and blocks and rng.random() < 0.7:
            block = rng.choice(blocks)
            decision.starts.append(JobStart(job.row, block.start, len(block)))
            free -= set(block)
    return decision


def suits_gpu(state: ClusterState, request: JobRequest | ServiceRequest, gpu: int) -> bool:
    """Return whether a GPU has a type and memory that will do."""
    node = state.cluster.nodes[state.cluster.node_of(gpu)]
    types, memory = request.gpu_types, request.gpu_memory_gib
    fit = types is None or node.gpu_type in types
    return fit and (memory is None or (node.gpu_memory_gib is not None and node.gpu_memory_gib >= memory))


def sizes_of(state: ClusterState, job: JobRecord) -> list[int]:
    """Return the sizes that R2 and R3 allow a job, by looking at every size and place."""
    gpus, most, everywhere = job.request.gpus, job.request.most, set(range(len(state.owner)))
    sizes = [size for size in range(gpus, len(everywhere) + 1) if blocks_for(state, everywhere, job, size)]
    return [size for size in sizes if size <= most] or sizes[:1]


def blocks_for(state: ClusterState, free: set[int], job: JobRecord, size: int) -> list[range]:
    """Return the blocks of a size within `free` that meet a job's needs."""
    fit = {gpu for gpu in free if suits_gpu(state, job.request, gpu)}
    return [range(first, first + size) for first in sorted(fit) if fits(state, fit, first, size)]


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
    sizes = (None, None, 1, 2, 3, 4, 8)
    starts = [
        JobStart(rng.choice(rows), rng.choice(free), rng.choice(sizes)) for _ in range(rng.choice(few)) if state.jobs
    ]
    given = [Swap(rng.choice(services), rng.choice(free)) for _ in range(rng.choice(few)) if services]
    held = [(service.row, gpu) for service in state.services for gpu in service.replicas]
    taken = [Swap(*rng.choice(held)) for _ in range(rng.choice(few)) if held]
    return Decision(starts, given, taken)


# The moment as documents


def problem_of(state: ClusterState) -> Problem:
    """Return the moment as a problem of two steps, in which what runs goes on; too large jobs are left out."""
    entries = [entry for job in state.jobs if (entry := _job_entry(state, job))]
    held = {gpu for job in state.jobs if job.phase in HOLDING for gpu in block_of(job)}
    held |= {gpu for service in state.services for gpu in serving(service)}
    closed = [gpu for gpu in range(len(state.owner)) if gpu not in open_gpus(state) and gpu not in held]
    nodes = [node.model_dump(exclude_none=True) for node in state.cluster.nodes]
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


def _job_entry(state: ClusterState, job: JobRecord) -> dict[str, object] | None:
    if job.phase not in HOLDING and job.phase is not JobPhase.WAITING:
        return None
    sizes = sizes_of(state, job)
    entry = {"id": job.request.id, "kind": "training", "priority": 1.0, "duration": STEPS}
    most: dict[str, object] = {"gpus": {"min": job.request.gpus, "max": sizes[-1]}}
    running = {"running": {"gpus": list(block_of(job)), "remaining": STEPS}} if job.phase in HOLDING else {}
    return {**entry, **most, **running, **_needs(job.request)}


def _needs(request: JobRequest | ServiceRequest) -> dict[str, object]:
    needs = {"gpu_types": request.gpu_types, "gpu_memory_gib": request.gpu_memory_gib}
    return {name: need for name, need in needs.items() if need is not None}


def _service_entry(state: ClusterState, service: ServiceRecord) -> dict[str, object]:
    most = {} if service.request.max_gpus is None else {"max_gpus": service.request.max_gpus}
    return {
        "id": service.request.id,
        "priority": service.request.priority,
        "demand": [0] * STEPS,
        "max_swap": state.swaps_left(service),
        "held": serving(service),
        **most,
        **_needs(service.request),
    }


def plan_of(state: ClusterState, decision: Decision) -> Plan:
    """Return what the decision makes of the moment, as a plan for `problem_of`."""
    jobs = [(job.request.id, block_of(job)) for job in state.jobs if job.phase in HOLDING]
    for start in decision.starts:
        jobs.append((state.jobs[start.row].request.id, start.block(state)))
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
