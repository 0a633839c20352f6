"""Contradictions between the parts of a problem that are each sound on their own, all of them at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from loadfactor.errors import Fault
from loadfactor.model import limits
from loadfactor.model.cluster import Cluster, beyond_cluster
from loadfactor.model.horizon import Horizon
from loadfactor.model.sizes import admissible_sizes, no_size_fault
from loadfactor.model.workload import Job, Running, Service, suits


@dataclass(frozen=True)
class Parts:
    """The sound parts of a problem; jobs and services by their position in the document."""

    horizon: Horizon | None
    cluster: Cluster | None
    jobs: Mapping[int, Job]
    services: Mapping[int, Service]
    ids: Mapping[str, str]
    """The id of every job and service by its path, also of those that are not sound."""

    @classmethod
    def of(cls, horizon: Horizon, cluster: Cluster, jobs: Sequence[Job], services: Sequence[Service]) -> Parts:
        """Return the parts of a problem that are all sound."""
        ids = {f"jobs[{index}]": job.id for index, job in enumerate(jobs)}
        ids |= {f"services[{index}]": service.id for index, service in enumerate(services)}
        return cls(horizon, cluster, dict(enumerate(jobs)), dict(enumerate(services)), ids)


def faults_between(parts: Parts) -> list[Fault]:
    """Return every contradiction between the parts, with paths from the root of the document."""
    faults = list(_duplicate_ids(parts))
    if parts.horizon is not None:
        faults += _against_horizon(parts, parts.horizon)
    if parts.cluster is not None:
        faults += _against_cluster(parts, parts.cluster)
        faults += _inherited(parts, parts.cluster)
    if parts.horizon is not None and parts.cluster is not None:
        faults += _size_of_grid(parts.horizon, parts.cluster)
    return faults


def _duplicate_ids(parts: Parts) -> Iterator[Fault]:
    first: dict[str, str] = {}
    for path, name in parts.ids.items():
        if name in first:
            yield Fault(f"{path}.id", f"{name!r} is the id of {first[name]} too", "give each an id of its own")
        first.setdefault(name, path)


def _against_horizon(parts: Parts, horizon: Horizon) -> Iterator[Fault]:
    for index, job in parts.jobs.items():
        if job.running and horizon.finish_inside and job.running.remaining > horizon.steps:
            fact = f"{job.running.remaining} steps do not end inside a horizon of {horizon.steps}"
            yield Fault(f"jobs[{index}].running.remaining", fact, "lengthen the horizon or set finish_inside: false")
    for index, service in parts.services.items():
        if len(service.demand) != horizon.steps:
            fact = f"{len(service.demand)} entries for {horizon.steps} steps"
            yield Fault(f"services[{index}].demand", fact, "give one number for every step")


def _against_cluster(parts: Parts, cluster: Cluster) -> Iterator[Fault]:
    for index, job in parts.jobs.items():
        if job.running is None:
            if not admissible_sizes(cluster, job.gpus):
                yield Fault(f"jobs[{index}].gpus", *no_size_fault(cluster, job.gpus))
        else:
            yield from _of_running(f"jobs[{index}]", job, job.running, cluster)
    for index, service in parts.services.items():
        yield from _of_held(f"services[{index}]", service, cluster)


def _of_running(path: str, job: Job, running: Running, cluster: Cluster) -> Iterator[Fault]:
    size = len(running.gpus)
    if not job.gpus.min <= size <= job.gpus.max:
        fact = f"{size} GPUs, and the job's range is {job.gpus.min} to {job.gpus.max}"
        yield Fault(f"{path}.running.gpus", fact, "correct the block or widen the range")
    if job.submit > 0:
        fact = f"submitted at step {job.submit} and running at step 0"
        yield Fault(f"{path}.submit", fact, "remove submit or running")
    yield from _gpus_exist_and_suit(f"{path}.running.gpus", job, running.gpus, cluster)


def _of_held(path: str, service: Service, cluster: Cluster) -> Iterator[Fault]:
    held = service.held or ()
    yield from _gpus_exist_and_suit(f"{path}.held", service, held, cluster)
    if service.max_gpus is not None and len(held) - service.max_gpus > service.max_swap:
        fact = (
            f"{len(held)} GPUs held, and max_swap {service.max_swap} cannot bring them to max_gpus {service.max_gpus}"
        )
        yield Fault(f"{path}.held", fact, "raise max_gpus or max_swap")


def _gpus_exist_and_suit(
    path: str, workload: Job | Service, gpus: tuple[int, ...], cluster: Cluster
) -> Iterator[Fault]:
    for gpu in gpus:
        if gpu >= cluster.gpu_count:
            yield Fault(path, *beyond_cluster(gpu, cluster.gpu_count))
            continue
        node = cluster.nodes[cluster.node_of(gpu)]
        if not suits(workload, node):
            fact = f"GPU {gpu} on {node.name} does not meet the needs of {workload.id!r} for type or memory"
            yield Fault(path, fact, "correct gpu_types, gpu_memory_gib or the GPUs")


def _inherited(parts: Parts, cluster: Cluster) -> Iterator[Fault]:
    """Running work and held GPUs must not overlap one another (R1) and must survive the unavailable GPUs."""
    closed = _closed(parts, cluster)
    owner: dict[int, str] = {}
    for index, job in parts.jobs.items():
        if job.running is not None:
            path = f"jobs[{index}].running.gpus"
            yield from _claims(path, job.id, job.running.gpus, owner)
            yield from _running_on_closed(path, job.id, job.running, closed)
    for index, service in parts.services.items():
        path = f"services[{index}].held"
        yield from _claims(path, service.id, service.held or (), owner)
        yield from _lost_faster_than_cap(path, service, closed)


def _closed(parts: Parts, cluster: Cluster) -> dict[int, list[tuple[int, int]]]:
    """Return the ranges of steps in which each GPU is unavailable, of those that begin inside the horizon."""
    steps = limits.MAX_STEPS if parts.horizon is None else parts.horizon.steps
    closed: dict[int, list[tuple[int, int]]] = {}
    for entry in cluster.unavailable:
        for gpu in entry.gpus if entry.from_step < steps else ():
            closed.setdefault(gpu, []).append((entry.from_step, entry.until_step))
    return closed


def _running_on_closed(
    path: str, name: str, running: Running, closed: Mapping[int, list[tuple[int, int]]]
) -> Iterator[Fault]:
    for gpu in running.gpus:
        for start, end in closed.get(gpu, ()):
            if start < running.remaining:
                fact = f"GPU {gpu} is unavailable in steps [{start}, {end}) while {name!r} runs on it"
                yield Fault(path, fact, "take the job out of running or correct unavailable")


def _lost_faster_than_cap(path: str, service: Service, closed: Mapping[int, list[tuple[int, int]]]) -> Iterator[Fault]:
    """A service can give back `max_swap` GPUs before step 0 and as many before every later step (R4)."""
    closings = sorted(min(closed[gpu])[0] for gpu in service.held or () if gpu in closed)
    for lost, step in enumerate(closings, start=1):
        if lost > service.max_swap * (step + 1):
            fact = f"{lost} held GPUs are unavailable by step {step}, sooner than max_swap {service.max_swap} allows"
            yield Fault(path, fact, "leave lost GPUs out of held or raise max_swap")
            return


def _claims(path: str, name: str, gpus: tuple[int, ...], owner: dict[int, str]) -> Iterator[Fault]:
    for gpu in gpus:
        if gpu in owner and owner[gpu] != name:
            yield Fault(path, f"GPU {gpu} is held by {owner[gpu]!r} too", "give every GPU to one of them")
        owner.setdefault(gpu, name)


def _size_of_grid(horizon: Horizon, cluster: Cluster) -> Iterator[Fault]:
    cells = horizon.steps * cluster.gpu_count
    if cells > limits.MAX_CELLS:
        fact = (
            f"{cluster.gpu_count} GPUs x {horizon.steps} steps are {cells} cells, and {limits.MAX_CELLS} are accepted"
        )
        yield Fault("horizon.steps", fact, "use fewer or longer steps")
