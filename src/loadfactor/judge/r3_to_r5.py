"""R3: blocks are contiguous and sized to a power of two; R4: the swap cap; R5: a started job is never interrupted."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from loadfactor.judge.evidence import Evidence, PlannedJob, PlannedService
from loadfactor.judge.verdict import Violation
from loadfactor.model import Cluster, Service


def r3_contiguous_blocks(evidence: Evidence) -> list[Violation]:
    """Return every breach of R3.

    An inherited block is exempt, and a block that leaves the cluster already breaks R2.
    """
    cluster = evidence.problem.cluster
    return [
        Violation("R3", message, job=job.id, gpu=planned.block.gpus[0], step=planned.placement.start)
        for job, planned in evidence.known_jobs()
        if job.running is None and not planned.block.outside
        for message in _faults_of_block(planned, cluster)
    ]


def _faults_of_block(planned: PlannedJob, cluster: Cluster) -> Iterator[str]:
    """A block that starts in a node of g GPUs lies inside it if it has at most g, and is whole nodes otherwise."""
    gpus, offsets = planned.block.gpus, cluster.node_offsets
    first, end, size = gpus[0], gpus[-1] + 1, len(gpus)
    name = f"the block of job {planned.placement.id!r}"
    if end - first != size:
        gap = next(gpu for gpu, expected in zip(gpus, range(first, end), strict=False) if gpu != expected)
        yield f"{name} is not contiguous: it has GPU {gap} and not GPU {gap - 1}; use consecutive GPUs"
        return
    index = cluster.node_of(first)
    node, boundary = cluster.nodes[index], offsets[index + 1]
    inside = size <= node.gpus
    if inside and end > boundary:
        yield f"{name} ({size} GPUs from GPU {first}) crosses from {node.name} into the next node; keep it in one node"
    if not inside and not (first == offsets[index] and offsets[bisect_left(offsets, end)] == end):
        yield f"{name} ({size} GPUs from GPU {first}) is larger than {node.name} and not whole nodes; use whole nodes"
    if size & (size - 1) and (inside or cluster.block_sizes == "power_of_two"):
        below = 1 << size.bit_length() - 1
        yield f"{name} has {size} GPUs, which is no power of two; use {below} or {2 * below}"


def r4_swap_cap(evidence: Evidence) -> list[Violation]:
    """Return every breach of R4."""
    return [
        Violation("R4", _swap_message(service, given, taken, step), service=service.id, gpu=gpu, step=step)
        for service, planned in evidence.known_services()
        for step, given, taken, gpu in swaps(service, planned)
        if given + taken > service.max_swap
    ]


def _swap_message(service: Service, given: int, taken: int, step: int) -> str:
    since = f"between steps {step - 1} and {step}" if step else "at step 0 against those held before"
    fact = f"service {service.id!r} is given {given} GPUs and loses {taken} {since}"
    return f"{fact}, and its max_swap is {service.max_swap}; spread the change over more steps"


def swaps(service: Service, planned: PlannedService) -> Iterator[tuple[int, int, int, int]]:
    """Yield (step, GPUs given, GPUs taken away, one of these GPUs) wherever the GPUs of a service change.

    Step 0 is compared with `held` where that is given, and with nothing otherwise.
    """
    before = None if service.held is None else set(service.held)
    for stretch in planned.stretches:
        now = set(stretch.block.gpus)
        if before is not None and now != before:
            given, taken = now - before, before - now
            yield stretch.start, len(given), len(taken), min(given or taken)
        before = now


def r5_never_interrupted(evidence: Evidence) -> list[Violation]:
    """Return every breach of R5.

    A placement names one block for all its steps, so that only the end of the horizon can interrupt a job.
    """
    if not evidence.problem.horizon.finish_inside:
        return []
    return [
        Violation("R5", _late_message(planned, evidence.steps), job=job.id, step=evidence.steps)
        for job, planned in evidence.known_jobs()
        if planned.placement.end > evidence.steps
    ]


def _late_message(planned: PlannedJob, steps: int) -> str:
    fact = f"job {planned.placement.id!r} ends at step {planned.placement.end}, after a horizon of {steps} steps"
    return f"{fact} that every job must finish inside; start it earlier or leave it out"
