"""R3: blocks are contiguous and sized to a power of two; R4: the swap cap; R5: a started job is never interrupted."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from loadfactor.judge.evidence import Evidence, PlannedJob, Swap
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
        Violation("R4", _swap_message(service, swap), service=service.id, gpu=swap.gpu, step=swap.step)
        for service, planned in evidence.known_services()
        for swap in planned.swaps
        if swap.given + swap.taken > service.max_swap
    ]


def _swap_message(service: Service, swap: Swap) -> str:
    since = f"between steps {swap.step - 1} and {swap.step}" if swap.step else "at step 0 against those held before"
    fact = f"service {service.id!r} is given {swap.given} GPUs and loses {swap.taken} {since}"
    return f"{fact}, and its max_swap is {service.max_swap}; spread the change over more steps"


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
