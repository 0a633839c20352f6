"""The blocks that jobs may get: sizes that the cluster admits (R3) on nodes that meet a job's needs (R2)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from loadfactor.control.requests import JobRequest, ServiceRequest
from loadfactor.model import Cluster, suits

Mask = npt.NDArray[np.bool_]
Needs = tuple[tuple[str, ...] | None, float | None]
NO_NEED = 0


class BlockSizes:
    """The block sizes of a cluster, for everybody and for those who need certain GPUs.

    A *need* is a number that stands for the nodes that meet it: types and memories that the same nodes meet are the
    same need. `NO_NEED` is met by all. `sizes` are the sizes of all blocks that there are, ascending.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._nodes: list[Mask] = []
        self._gpus: list[Mask] = []
        self._sizes: list[tuple[int, ...]] = []
        self._examples: list[Needs] = []
        self._number_of_nodes: dict[bytes, int] = {}
        self._add((None, None), np.ones(len(cluster.nodes), dtype=np.bool_))
        self._numbers: dict[Needs, int] = {(None, None): NO_NEED}
        self._ranges: dict[tuple[int, int, int], tuple[int, ...]] = {}
        self.sizes = self._sizes[NO_NEED]

    def smallest(self, gpus: int) -> int | None:
        """Return the smallest admissible block for `gpus` GPUs, or None where the cluster has none so large."""
        index = bisect_left(self.sizes, gpus)
        return self.sizes[index] if index < len(self.sizes) else None

    def need(self, request: JobRequest | ServiceRequest) -> int:
        """Return the number of what the request needs."""
        needs = request.gpu_types, request.gpu_memory_gib
        number = self._numbers.get(needs)
        if number is None:
            nodes = np.array([suits(request, node) for node in self.cluster.nodes], dtype=np.bool_)
            number = self._number_of_nodes.get(nodes.tobytes())
            self._numbers[needs] = number = self._add(needs, nodes) if number is None else number
        return number

    @property
    def needs(self) -> int:
        """The number of different needs seen so far."""
        return len(self._nodes)

    def example(self, need: int) -> Needs:
        """Return types and memory that make up a need."""
        return self._examples[need]

    def nodes(self, need: int) -> Mask:
        """Return (nodes,) which nodes meet a need."""
        return self._nodes[need]

    def gpus(self, need: int) -> Mask:
        """Return (N,) which GPUs meet a need."""
        return self._gpus[need]

    def of_need(self, need: int) -> tuple[int, ...]:
        """Return the sizes of all blocks on GPUs that meet a need, ascending."""
        return self._sizes[need]

    def of(self, request: JobRequest) -> tuple[int, ...]:
        """Return the sizes of the blocks that a job may get, ascending; none where no block holds it.

        Those between the least and the most that it can use; where there is none, the smallest larger one, of which it
        leaves GPUs unused.
        """
        key = self.need(request), request.gpus, request.most
        if key not in self._ranges:
            sizes = self._sizes[key[0]]
            low, high = bisect_left(sizes, request.gpus), bisect_left(sizes, request.most + 1)
            self._ranges[key] = sizes[low : max(high, low + 1)]
        return self._ranges[key]

    def _add(self, needs: Needs, nodes: Mask) -> int:
        counts = [node.gpus for node in self.cluster.nodes]
        self._examples.append(needs)
        self._nodes.append(nodes)
        self._gpus.append(np.repeat(nodes, counts))
        self._sizes.append(tuple(sorted(self._sizes_on(nodes))))
        number = self._number_of_nodes[nodes.tobytes()] = len(self._nodes) - 1
        return number

    def _sizes_on(self, nodes: Mask) -> set[int]:
        """Return the sizes of blocks on some nodes: powers of two inside one, and what neighbours have together."""
        sizes: set[int] = set()
        for row in _rows_of(nodes, [node.gpus for node in self.cluster.nodes]):
            sizes |= {1 << power for power in range(max(row).bit_length())}
            firsts = range(1 if len(set(row)) == 1 else len(row))
            spans = {size for first in firsts for size in list(accumulate(row[first:]))[1:]}
            sizes |= {size for size in spans if self.cluster.block_sizes == "whole_nodes" or size.bit_count() == 1}
        return sizes


def _rows_of(nodes: Mask, counts: list[int]) -> Iterator[list[int]]:
    """Yield the GPUs of the nodes of every longest row of neighbours that are marked."""
    row: list[int] = []
    for marked, gpus in zip([*nodes.tolist(), False], [*counts, 0], strict=True):
        if marked:
            row.append(gpus)
        elif row:
            yield row
            row = []
