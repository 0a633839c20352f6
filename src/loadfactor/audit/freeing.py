"""Which GPUs are free at one moment of a layout, and which of them a job that names none would have got."""

from __future__ import annotations

from loadfactor.audit.fleet import Fleet


class FreeGpus:
    """The free GPUs of every node; nodes are kept by how many they have free, so that a fit is found at once.

    Invariant: `by_count[c]` holds exactly the nodes with c free GPUs.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._first: list[int] = fleet.first_gpu.tolist()
        self._sizes = [node.gpus for node in fleet.nodes]
        self._node_of = [node for node, size in enumerate(self._sizes) for _ in range(size)]
        self._free: list[bool] = [True] * fleet.gpus
        self._count = list(self._sizes)
        self._by_count: list[set[int]] = [set() for _ in range(max(self._sizes) + 1)]
        for node, size in enumerate(self._sizes):
            self._by_count[size].add(node)

    def is_free(self, gpu: int) -> bool:
        """Return whether `gpu` serves nobody."""
        return self._free[gpu]

    def take(self, gpu: int) -> None:
        """Mark `gpu`, which is free, as held."""
        self._set(gpu, free=False)

    def give(self, gpu: int) -> None:
        """Mark `gpu`, which is held, as free."""
        self._set(gpu, free=True)

    def _set(self, gpu: int, *, free: bool) -> None:
        node = self._node_of[gpu]
        self._free[gpu] = free
        self._by_count[self._count[node]].discard(node)
        self._count[node] += 1 if free else -1
        self._by_count[self._count[node]].add(node)

    def on_node(self, node: int, wanted: int) -> list[int]:
        """Return the lowest free GPUs of `node`, at most `wanted` of them."""
        if not self._count[node]:
            return []
        found = [gpu for gpu in range(self._first[node], self._first[node + 1]) if self._free[gpu]]
        return found[:wanted]

    def packed(self, wanted: int) -> list[int]:
        """Return `wanted` free GPUs (fewer where there are no more) on as few nodes as can be.

        The fullest node that has room takes all; where none has, the emptiest nodes are filled in turn and the rest
        goes where it fits best.
        """
        chosen: list[int] = []
        taken_nodes: set[int] = set()
        while len(chosen) < wanted:
            rest = wanted - len(chosen)
            node = self._best_fit(rest, taken_nodes)
            if node is None:
                break
            taken_nodes.add(node)
            chosen += self.on_node(node, rest)
        return chosen

    def _best_fit(self, wanted: int, passed: set[int]) -> int | None:
        counts = range(len(self._by_count))
        for count in [*counts[wanted:], *reversed(counts[1 : min(wanted, len(counts))])]:
            found: int | None = next((node for node in self._by_count[count] if node not in passed), None)
            if found is not None:
                return found
        return None
