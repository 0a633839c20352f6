"""Finding GPUs for what was already there at step 0: running jobs, and the GPUs that services hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadfactor.model import Cluster, Node, Service, suits


@dataclass(frozen=True)
class Need:
    """A running job in need of `size` GPUs for `remaining` more steps."""

    id: str
    size: int
    remaining: int


class Floor:
    """The GPUs of a cluster at step 0, given out once each."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._taken: set[int] = set()
        never = 1 << 62
        self._free_until = [never] * cluster.gpu_count
        for entry in cluster.unavailable:
            for gpu in entry.gpus:
                self._free_until[gpu] = min(self._free_until[gpu], entry.from_step)

    def place_all(self, needs: Sequence[Need]) -> dict[str, tuple[int, ...]]:
        """Return GPUs for as many of `needs` as there is room for, large and long first; no GPU twice.

        A legal block (R3) is taken where one is free, in the fullest node that has it. Otherwise the job gets scattered
        GPUs, on as few nodes as it can: an inherited block is exempt from R3.
        """
        order = sorted(needs, key=lambda need: (-need.size, -need.remaining))  # stable: ties in file order
        placed = {need.id: self._place(need) for need in order}
        return {name: gpus for name, gpus in placed.items() if gpus}

    def hold(self, service: Service, count: int) -> tuple[int, ...]:
        """Return up to `count` of the highest-numbered free GPUs that suit `service`, and give them to it."""
        gpus = [
            gpu
            for node, start in _with_starts(self.cluster)
            if suits(service, node)
            for gpu in range(start, start + node.gpus)
            if self._is_free(gpu, 1)
        ]
        return self._give(gpus[len(gpus) - min(count, len(gpus)) :])

    def _place(self, need: Need) -> tuple[int, ...]:
        free = [self._free_of(node, need.remaining) for node in range(len(self.cluster.nodes))]
        if sum(map(len, free)) < need.size:
            return ()
        block = _inside_a_node(free, need.size) or _whole_nodes(self.cluster, free, need.size)
        return self._give(block or _scattered(free, need.size))

    def _free_of(self, node: int, remaining: int) -> list[int]:
        start, end = self.cluster.node_offsets[node : node + 2]
        return [gpu for gpu in range(start, end) if self._is_free(gpu, remaining)]

    def _is_free(self, gpu: int, remaining: int) -> bool:
        return gpu not in self._taken and self._free_until[gpu] >= remaining

    def _give(self, gpus: list[int]) -> tuple[int, ...]:
        self._taken.update(gpus)
        return tuple(sorted(gpus))


def has_block(cluster: Cluster, size: int) -> bool:
    """Return whether the empty cluster has a block of `size` GPUs: inside a node, or of whole nodes."""
    offsets = set(cluster.node_offsets)
    return any(node.gpus >= size or start + size in offsets for node, start in _with_starts(cluster))


def is_block(cluster: Cluster, gpus: tuple[int, ...]) -> bool:
    """Return whether `gpus` (ascending) are consecutive and lie inside a node or fill whole nodes."""
    if gpus[-1] - gpus[0] != len(gpus) - 1:
        return False
    inside = cluster.node_of(gpus[0]) == cluster.node_of(gpus[-1])
    return inside or {gpus[0], gpus[-1] + 1} <= set(cluster.node_offsets)


def _with_starts(cluster: Cluster) -> Iterator[tuple[Node, int]]:
    return zip(cluster.nodes, cluster.node_offsets, strict=False)


def _inside_a_node(free: list[list[int]], size: int) -> list[int]:
    runs = [(len(gpus), index, run) for index, gpus in enumerate(free) if (run := _consecutive(gpus, size))]
    return min(runs)[2] if runs else []


def _whole_nodes(cluster: Cluster, free: list[list[int]], size: int) -> list[int]:
    block: list[int] = []
    for node, gpus in zip(cluster.nodes, free, strict=True):
        block = [*block, *gpus] if len(gpus) == node.gpus else []
        while len(block) > size:  # drop nodes at the front until the run is short enough
            block = block[cluster.nodes[cluster.node_of(block[0])].gpus :]
        if len(block) == size:
            return block
    return []


def _consecutive(gpus: list[int], size: int) -> list[int]:
    """Return the first `size` consecutive numbers in the ascending list `gpus`, or none."""
    for first in range(len(gpus) - size + 1):
        if gpus[first + size - 1] - gpus[first] == size - 1:
            return gpus[first : first + size]
    return []


def _scattered(free: list[list[int]], size: int) -> list[int]:
    chosen: list[int] = []
    rest = sorted((gpus for gpus in free if gpus), key=len, reverse=True)
    while len(chosen) < size:
        missing = size - len(chosen)
        fitting = [gpus for gpus in rest if len(gpus) >= missing]
        node = fitting[-1] if fitting else rest[0]
        chosen += node[:missing]
        rest.remove(node)
    return chosen
