"""Changed problems in which unavailable GPUs come back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadfactor.model import Problem, Unavailable

MOST_NODES = 4


def unavailable_among(problem: Problem, gpus: Sequence[int], start: int, end: int) -> tuple[int, ...]:
    """Return those of `gpus` that are unavailable at some step of [start, end), ascending."""
    entries = [entry for entry in problem.cluster.unavailable if entry.from_step < end and start < entry.until_step]
    return tuple(sorted({gpu for entry in entries for gpu in entry.gpus} & set(gpus)))


def gpus_back(problem: Problem, gpus: Sequence[int], start: int, end: int) -> Problem:
    """Return `problem` with `gpus` available in [start, end), and otherwise as before."""
    back = set(gpus)
    entries = tuple(piece for entry in problem.cluster.unavailable for piece in _without(entry, back, start, end))
    return problem.replace(cluster=problem.cluster.model_copy(update={"unavailable": entries}))


def nodes_back(problem: Problem) -> Iterator[tuple[str, Problem]]:
    """Yield the first few nodes with unavailable GPUs, by name, and the problem with each of them wholly back."""
    cluster = problem.cluster
    closed = sorted({cluster.node_of(gpu) for entry in cluster.unavailable for gpu in entry.gpus})
    for node in closed[:MOST_NODES]:
        gpus = range(cluster.node_offsets[node], cluster.node_offsets[node + 1])
        yield cluster.nodes[node].name, gpus_back(problem, gpus, 0, problem.horizon.steps)


def _without(entry: Unavailable, back: set[int], start: int, end: int) -> Iterator[Unavailable]:
    staying = tuple(gpu for gpu in entry.gpus if gpu not in back)
    returning = tuple(gpu for gpu in entry.gpus if gpu in back)
    if staying:
        yield entry.model_copy(update={"gpus": staying})
    if returning and entry.from_step < start:
        yield Unavailable(gpus=returning, from_step=entry.from_step, until_step=min(start, entry.until_step))
    if returning and end < entry.until_step:
        yield Unavailable(gpus=returning, from_step=max(end, entry.from_step), until_step=entry.until_step)
