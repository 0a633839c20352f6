"""R2: every job respects its demand range; running work is inherited and held; services stay within their limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

import numpy as np

from loadfactor.judge.evidence import Block, Evidence, PlannedJob, PlannedService
from loadfactor.judge.verdict import Violation
from loadfactor.model import Cluster, Job, Node, Running, Service


def r2_demands_respected(evidence: Evidence) -> list[Violation]:
    """Return every breach of R2."""
    violations = [*_every_job_answered(evidence), *_every_service_answered(evidence)]
    needs = _Needs(evidence.problem.cluster)
    for planned in evidence.jobs:
        if planned.block.outside:
            violations += _outside(planned.block, evidence, job=planned.placement.id, step=planned.placement.start)
    for job, planned in evidence.known_jobs():
        if job.running is not None:
            violations += _running_held(job, job.running, planned)
        else:
            violations += _range_and_times(job, planned, evidence)
            violations += needs.unmet_by_job(job, planned) if _is_needy(job) else ()
    for allocation in evidence.services:
        for stretch in allocation.stretches:
            if stretch.block.outside:
                violations += _outside(stretch.block, evidence, service=allocation.allocation.id, step=stretch.start)
    for service, allocation in evidence.known_services():
        violations += _within_max_gpus(service, allocation)
        violations += needs.unmet_by_service(service, allocation) if _is_needy(service) else ()
    return violations


def _every_job_answered(evidence: Evidence) -> Iterator[Violation]:
    """Every job is either placed or unplaced, once; running work is placed."""
    placed = Counter(placement.id for placement in evidence.plan.jobs)
    unplaced = Counter(entry.id for entry in evidence.plan.unplaced)
    jobs = {job.id: job for job in evidence.problem.jobs}
    for id_ in {**placed, **unplaced}:
        if id_ not in jobs:
            yield _of_job(id_, f"the problem has no job {id_!r}; remove it from the plan")
        if placed[id_] > 1:
            yield _of_job(id_, f"job {id_!r} is placed {placed[id_]} times; place it once")
        if unplaced[id_] > 1:
            yield _of_job(id_, f"job {id_!r} is listed as unplaced {unplaced[id_]} times; list it once")
        if placed[id_] and unplaced[id_]:
            yield _of_job(id_, f"job {id_!r} is both placed and unplaced; keep one of the two")
    for job in jobs.values():
        if job.running is not None and not placed[job.id]:
            where = f"GPUs {_listed(job.running.gpus)} from step 0 to {job.running.remaining}"
            yield _of_job(job.id, f"running job {job.id!r} is not in the plan; keep it on {where}", step=0)
        elif not placed[job.id] and not unplaced[job.id]:
            yield _of_job(job.id, f"job {job.id!r} is neither placed nor unplaced; name it in one of the two")


def _every_service_answered(evidence: Evidence) -> Iterator[Violation]:
    """Every service has one entry, with one list of GPUs for every step."""
    entries = Counter(allocation.id for allocation in evidence.plan.services)
    services = {service.id for service in evidence.problem.services}
    for id_, count in entries.items():
        if id_ not in services:
            yield _of_service(id_, f"the problem has no service {id_!r}; remove it from the plan")
        if count > 1:
            yield _of_service(id_, f"service {id_!r} has {count} entries; give it one")
    for service in evidence.problem.services:
        if not entries[service.id]:
            message = f"service {service.id!r} is not in the plan; give it one list of GPUs for every step"
            yield _of_service(service.id, message)
    for allocation in evidence.plan.services:
        length = len(allocation.gpus)
        if length != evidence.steps and allocation.id in services:
            fact = f"service {allocation.id!r} has GPUs for {length} steps in a horizon of {evidence.steps}"
            step = min(length, evidence.steps)
            yield _of_service(allocation.id, f"{fact}; give one list for every step", step=step)


def _running_held(job: Job, running: Running, planned: PlannedJob) -> Iterator[Violation]:
    placement = planned.placement
    if placement.start != 0:
        message = f"running job {job.id!r} starts at step {placement.start}; it holds its GPUs from step 0"
        yield _of_job(job.id, message, step=placement.start)
    if placement.end != running.remaining:
        fact = f"running job {job.id!r} ends at step {placement.end} and has {running.remaining} steps left"
        yield _of_job(job.id, f"{fact}; end it at step {running.remaining}", step=placement.end)
    if planned.block.gpus != running.gpus:
        moved = next(iter(set(planned.block.gpus) ^ set(running.gpus)))
        fact = f"running job {job.id!r} is on GPUs {_listed(planned.block.gpus)}"
        message = f"{fact} and holds {_listed(running.gpus)}; leave it there"
        yield _of_job(job.id, message, gpu=moved, step=placement.start)


def _range_and_times(job: Job, planned: PlannedJob, evidence: Evidence) -> Iterator[Violation]:
    placement, size = planned.placement, planned.block.size
    if not job.gpus.min <= size <= job.gpus.max:
        fact = f"job {job.id!r} has {size} GPUs, and its range is {job.gpus.min} to {job.gpus.max}"
        yield _of_job(job.id, f"{fact}; give it a size in the range", gpu=planned.block.gpus[0], step=placement.start)
    duration = job.duration_at(size)
    if placement.end - placement.start != duration:
        fact = f"job {job.id!r} lasts {placement.end - placement.start} steps and takes {duration} on {size} GPUs"
        yield _of_job(job.id, f"{fact}; end it at step {placement.start + duration}", step=placement.start)
    if placement.start < job.submit:
        fact = f"job {job.id!r} starts at step {placement.start} and is submitted at step {job.submit}"
        yield _of_job(job.id, f"{fact}; start it later", step=placement.start)
    if placement.start >= evidence.steps and not evidence.problem.horizon.finish_inside:
        fact = f"job {job.id!r} starts at step {placement.start}, outside a horizon of {evidence.steps}"
        yield _of_job(job.id, f"{fact}; start it earlier or leave it out", step=placement.start)


def _within_max_gpus(service: Service, planned: PlannedService) -> Iterator[Violation]:
    for stretch in planned.stretches:
        if service.max_gpus is not None and stretch.block.size > service.max_gpus:
            fact = f"service {service.id!r} holds {stretch.block.size} GPUs in steps [{stretch.start}, {stretch.end})"
            message = f"{fact}, and its max_gpus is {service.max_gpus}; take some away"
            yield _of_service(service.id, message, step=stretch.start)


def _outside(
    block: Block, evidence: Evidence, *, step: int, job: str | None = None, service: str | None = None
) -> Iterator[Violation]:
    last = evidence.problem.cluster.gpu_count - 1
    for gpu in block.outside:
        message = f"{job or service!r} is given GPU {gpu}, which does not exist; GPU numbers run from 0 to {last}"
        yield Violation("R2", message, job=job, service=service, gpu=gpu, step=step)


class _Needs:
    """The GPUs that do not meet a need for type or memory, found once for every distinct need."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._gpus_of_node = [node.gpus for node in cluster.nodes]
        self._unfit = cache(self._find_unfit)

    def unmet_by_job(self, job: Job, planned: PlannedJob) -> Iterator[Violation]:
        step = planned.placement.start
        for gpu in self._unfit_in(job, planned.block):
            yield _of_job(job.id, self._message("job", job, gpu), gpu=gpu, step=step)

    def unmet_by_service(self, service: Service, planned: PlannedService) -> Iterator[Violation]:
        before: set[int] = set()
        for stretch in planned.stretches:
            unfit = self._unfit_in(service, stretch.block)
            for gpu in unfit:
                if gpu not in before:
                    yield _of_service(service.id, self._message("service", service, gpu), gpu=gpu, step=stretch.start)
            before = set(unfit)

    def _unfit_in(self, workload: Job | Service, block: Block) -> list[int]:
        unfit = self._unfit(workload.gpu_types, workload.gpu_memory_gib)
        if not np.count_nonzero(unfit[block.rows]):
            return []
        return [gpu for gpu in block.gpus if gpu < len(unfit) and unfit[gpu]]

    def _find_unfit(self, types: tuple[str, ...] | None, memory_gib: float | None) -> np.ndarray:
        return np.repeat([bool(_unmet(types, memory_gib, node)) for node in self._cluster.nodes], self._gpus_of_node)

    def _message(self, word: str, workload: Job | Service, gpu: int) -> str:
        node = self._cluster.nodes[self._cluster.node_of(gpu)]
        unmet = _unmet(workload.gpu_types, workload.gpu_memory_gib, node)
        return f"{word} {workload.id!r} is given GPU {gpu} on {node.name}, which {unmet}; move it to other GPUs"


def _is_needy(workload: Job | Service) -> bool:
    return workload.gpu_types is not None or workload.gpu_memory_gib is not None


def _unmet(types: tuple[str, ...] | None, memory_gib: float | None, node: Node) -> str:
    """Return what a GPU of `node` lacks, in words, or nothing where it meets the needs."""
    if types is not None and node.gpu_type not in types:
        return f"is {node.gpu_type or 'of no stated type'} and not {' or '.join(types)}"
    if memory_gib is not None and (node.gpu_memory_gib is None or node.gpu_memory_gib < memory_gib):
        has = "no stated memory" if node.gpu_memory_gib is None else f"{node.gpu_memory_gib:g} GiB of memory"
        return f"has {has} and not {memory_gib:g} GiB"
    return ""


def _listed(gpus: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, gpus[:8]))
    return f"{shown} and {len(gpus) - 8} more" if len(gpus) > 8 else shown


def _of_job(id_: str, message: str, gpu: int | None = None, step: int | None = None) -> Violation:
    return Violation("R2", message, job=id_, gpu=gpu, step=step)


def _of_service(id_: str, message: str, gpu: int | None = None, step: int | None = None) -> Violation:
    return Violation("R2", message, service=id_, gpu=gpu, step=step)
