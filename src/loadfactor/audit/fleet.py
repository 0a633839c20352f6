"""The GPUs that an audit counts: the nodes as they were stated, or as the log shows them where nobody stated them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from loadfactor.errors import InputError
from loadfactor.sources.facts import JobInterval, NodeFact, NodeGpus

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
UNKNOWN_MEMORY_GIB = 1.0
"""The weight of a GPU whose memory nobody states: all such GPUs count alike."""


@dataclass(frozen=True)
class Fleet:
    """The nodes with GPUs, in their order; GPU g of node n has the number `first_gpu[n] + g`.

    `stated` is False where the nodes were gathered from the log, which knows only what was in use.
    """

    nodes: tuple[NodeFact, ...]
    stated: bool

    @cached_property
    def first_gpu(self) -> Ints:
        """The number of the first GPU of each node, and the number of all GPUs at the end."""
        return np.concatenate(([0], np.cumsum([node.gpus for node in self.nodes], dtype=np.int64)))

    @cached_property
    def number(self) -> dict[str, int]:
        """The position of each node by its name."""
        return {node.name: position for position, node in enumerate(self.nodes)}

    @property
    def gpus(self) -> int:
        """How many GPUs there are."""
        return int(self.first_gpu[-1])

    @cached_property
    def memory_gib(self) -> Floats:
        """The memory of a GPU of each node in GiB; alike for all where no node states it."""
        known = [node.gpu_memory_gib for node in self.nodes if node.gpu_memory_gib]
        usual = float(np.median(known)) if known else UNKNOWN_MEMORY_GIB
        return np.array([node.gpu_memory_gib or usual for node in self.nodes])


def stated_fleet(nodes: Iterable[NodeFact]) -> Fleet:
    """Return the fleet of the nodes that have GPUs; raise `InputError` where none has."""
    kept = tuple(node for node in nodes if node.gpus > 0)
    if not kept:
        raise InputError.of("nodes", "no node has a GPU", "give the nodes of the partition that has GPUs")
    return Fleet(kept, stated=True)


def gathered_fleet(intervals: Sequence[JobInterval]) -> Fleet:
    """Return the nodes that the log names, each with the most GPUs that jobs held on it at one moment of the log.

    Raises `InputError` where the log names none: nothing then says how many GPUs there are.
    """
    nodes = nodes_in_use(intervals)
    if not nodes:
        remedy = "say what there is, as in --nodes 16x8:H100-80GB, or give the scheduler's list of nodes"
        raise InputError.of("nodes", "the log names no node, so nothing says how many GPUs there are", remedy)
    return Fleet(nodes, stated=False)


def nodes_in_use(intervals: Sequence[JobInterval]) -> tuple[NodeFact, ...]:
    """Return the nodes that the log names, each with the most GPUs that jobs held on it at one moment."""
    changes: dict[str, list[tuple[float, int]]] = defaultdict(list)
    highest: dict[str, int] = defaultdict(int)
    for interval in intervals:
        if interval.started is None or not interval.gpus:
            continue
        for share in shares_of(interval):
            changes[share.node] += [(interval.started, share.gpus or 0)]
            changes[share.node] += [(inf if interval.ended is None else interval.ended, -(share.gpus or 0))]
            highest[share.node] = max([highest[share.node], *(index + 1 for index in share.indices)])
    counted = {name: max(highest[name], _most_at_once(of_node)) for name, of_node in changes.items()}
    return tuple(NodeFact(name=name, gpus=gpus) for name, gpus in sorted(counted.items()) if gpus)


def named_like(fleet: Fleet, in_use: Sequence[NodeFact]) -> Fleet:
    """Return `fleet`, whose nodes only have numbers for names, with the names that the log has for its nodes.

    The largest nodes take the names of those that held most; nodes that the log never names keep their numbers.
    """
    names = iter(sorted(in_use, key=lambda node: (-node.gpus, node.name)))
    largest = sorted(range(len(fleet.nodes)), key=lambda number: -fleet.nodes[number].gpus)
    renamed = dict(zip(largest, (node.name for node in names), strict=False))
    nodes = (
        replace(node, name=renamed.get(number, f"(unnamed {number + 1})")) for number, node in enumerate(fleet.nodes)
    )
    return Fleet(tuple(nodes), fleet.stated)


def _most_at_once(changes: list[tuple[float, int]]) -> int:
    held = most = 0
    for _, change in sorted(changes):
        held += change
        most = max(most, held)
    return most


def shares_of(interval: JobInterval) -> Iterator[NodeGpus]:
    """Yield what `interval` holds on each of its nodes, each with its number of GPUs.

    Where the log gives only the sum, it is dealt evenly, the first nodes taking what is left over.
    """
    shares = interval.node_gpus
    known = sum(share.gpus or len(share.indices) for share in shares)
    open_shares = sum(1 for share in shares if share.gpus is None and not share.indices)
    base, extra = divmod(max(0, interval.gpus - known), open_shares) if open_shares else (0, 0)
    for share in shares:
        if share.gpus is not None or share.indices:
            yield NodeGpus(share.node, max(share.gpus or 0, len(share.indices)), share.indices)
            continue
        gpus = base + (1 if extra > 0 else 0)
        extra -= 1
        if gpus:
            yield NodeGpus(share.node, gpus)
