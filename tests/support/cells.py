"""Blocks and cells from the letter of the rules, slowly and without the code under test."""

from __future__ import annotations

from collections.abc import Iterator

from loadfactor.model import Cluster, Job, Node, Placement, Plan, Problem, Service

Cell = tuple[int, int]
UNAVAILABLE = "(unavailable)"


def nodes_of_gpus(cluster: Cluster) -> list[Node]:
    """Return the node of every GPU, in cluster order."""
    return [node for node in cluster.nodes for _ in range(node.gpus)]


def meets_needs(workload: Job | Service, node: Node) -> bool:
    """Return whether `node` states a type and a memory that `workload` can use."""
    type_fits = workload.gpu_types is None or node.gpu_type in workload.gpu_types
    needed = workload.gpu_memory_gib
    return type_fits and (needed is None or (node.gpu_memory_gib or 0) >= needed)


def is_legal_block(cluster: Cluster, first: int, size: int) -> bool:
    """Return whether R3 allows the block of `size` consecutive GPUs from `first`."""
    power_of_two = bin(size).count("1") == 1
    node_starts = [sum(node.gpus for node in cluster.nodes[:index]) for index in range(len(cluster.nodes) + 1)]
    if not 0 <= first < node_starts[-1]:
        return False
    index = max(index for index, start in enumerate(node_starts) if start <= first)
    if size <= cluster.nodes[index].gpus:
        return power_of_two and first + size <= node_starts[index + 1]
    if cluster.block_sizes == "power_of_two" and not power_of_two:
        return False
    return first == node_starts[index] and first + size in node_starts


def legal_blocks(problem: Problem, job: Job, sizes: range | None = None, *, needs: bool = True) -> Iterator[range]:
    """Yield every block that R2 and R3 allow to `job`; `sizes` replaces its range, `needs` False ignores its needs."""
    nodes = nodes_of_gpus(problem.cluster)
    for size in range(job.gpus.min, job.gpus.max + 1) if sizes is None else sizes:
        for first in range(len(nodes) - size + 1):
            block = range(first, first + size)
            suitable = not needs or all(meets_needs(job, nodes[gpu]) for gpu in block)
            if suitable and is_legal_block(problem.cluster, first, size):
                yield block


def placements(problem: Problem, job: Job) -> Iterator[Placement]:
    """Yield every placement that R2, R3 and R5 allow to a job that is not running."""
    steps = problem.horizon.steps
    for block in legal_blocks(problem, job):
        duration = job.duration_at(len(block))
        last = steps - duration if problem.horizon.finish_inside else steps - 1
        for start in range(job.submit, last + 1):
            yield Placement(id=job.id, start=start, end=start + duration, gpus=tuple(block))


def inherited(problem: Problem) -> list[Placement]:
    """Return the placements of the running jobs, which no plan may change."""
    return [
        Placement(id=job.id, start=0, end=job.running.remaining, gpus=job.running.gpus)
        for job in problem.jobs
        if job.running is not None
    ]


def cells_of(placement: Placement, steps: int) -> set[Cell]:
    """Return the cells (GPU, step) of the horizon that `placement` fills."""
    return {(gpu, step) for gpu in placement.gpus for step in range(placement.start, min(placement.end, steps))}


def closed_cells(problem: Problem) -> set[Cell]:
    """Return the cells of the horizon that serve none."""
    return {
        (gpu, step)
        for entry in problem.cluster.unavailable
        for gpu in entry.gpus
        for step in range(entry.from_step, min(entry.until_step, problem.horizon.steps))
    }


def holders(problem: Problem, plan: Plan) -> dict[Cell, str]:
    """Return who holds every cell of a legal plan, the unavailable cells included."""
    steps = problem.horizon.steps
    held = dict.fromkeys(closed_cells(problem), UNAVAILABLE)
    for placement in plan.jobs:
        held |= dict.fromkeys(cells_of(placement, steps), placement.id)
    for allocation in plan.services:
        held |= {(gpu, step): allocation.id for step, gpus in enumerate(allocation.gpus) for gpu in gpus}
    return held
