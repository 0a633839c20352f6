"""Which blocks a job may take (R3, and the needs of R2): one function, in one place.

Every policy asks here. A later rule (a network fabric, MIG slices, shared cards) becomes other candidates here and not
a new case in each of them.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from loadfactor.model import Cluster, Job, Service, admissible_sizes, suits

Starts = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Need = tuple[tuple[str, ...] | None, float | None]


def need_of(workload: Job | Service) -> Need:
    """Return the type and memory needs of `workload` as a key: equal keys are met by the same nodes."""
    types = None if workload.gpu_types is None else tuple(sorted(workload.gpu_types))
    return types, workload.gpu_memory_gib


_KEPT = 16
_tables: OrderedDict[int, BlockTable] = OrderedDict()


def block_table(cluster: Cluster) -> BlockTable:
    """Return the table of `cluster`; the last few are kept, since plans are many and clusters seldom change.

    A table holds its cluster, so that the identity under which it is kept cannot pass to another one.
    """
    table = _tables.get(id(cluster))
    if table is None:
        table = BlockTable.of(cluster)
        _tables[id(cluster)] = table
        if len(_tables) > _KEPT:
            _tables.popitem(last=False)
    return table


@dataclass
class BlockTable:
    """The candidate blocks of a cluster, each by its first GPU; computed once for each size and need."""

    cluster: Cluster
    _offsets: npt.NDArray[np.int64]
    _suitable: dict[Need, Mask] = field(init=False, default_factory=dict)
    _starts: dict[tuple[Need, int], Starts] = field(init=False, default_factory=dict)
    _sizes: dict[tuple[Need, int, int], tuple[int, ...]] = field(init=False, default_factory=dict)

    catalogues: dict[frozenset[Need], Any] = field(init=False, default_factory=dict)
    """The catalogues of this cluster (see `loadfactor.policies.catalogue`), by the needs that they tell apart."""

    @classmethod
    def of(cls, cluster: Cluster) -> BlockTable:
        """Return the table of `cluster`, empty until it is asked."""
        return cls(cluster, np.array(cluster.node_offsets, dtype=np.int64))

    def suitable_nodes(self, workload: Job | Service) -> Mask:
        """Return one boolean a node: whether its GPUs meet the needs of `workload`."""
        need = need_of(workload)
        if need not in self._suitable:
            self._suitable[need] = np.array([suits(workload, node) for node in self.cluster.nodes])
        return self._suitable[need]

    def suitable_gpus(self, workload: Job | Service) -> Mask:
        """Return one boolean a GPU: whether it meets the needs of `workload`."""
        mask: Mask = np.repeat(self.suitable_nodes(workload), np.diff(self._offsets))
        return mask

    def starts(self, job: Job, size: int) -> Starts:
        """Return the first GPU of every block of `size` GPUs that `job` may take, ascending (int64).

        A block that is no larger than the node it starts in lies inside it; a larger one is a run of whole nodes.
        """
        key = (need_of(job), size)
        if key not in self._starts:
            self._starts[key] = self._compute_starts(self.suitable_nodes(job), size)
        return self._starts[key]

    def sizes(self, job: Job) -> tuple[int, ...]:
        """Return the sizes of which at least one block exists for `job`, ascending."""
        key = (need_of(job), job.gpus.min, job.gpus.max)
        if key not in self._sizes:
            admitted = admissible_sizes(self.cluster, job.gpus)
            self._sizes[key] = tuple(size for size in admitted if len(self.starts(job, size)))
        return self._sizes[key]

    def _compute_starts(self, suitable: Mask, size: int) -> Starts:
        inside = self._inside_nodes(suitable, size) if size & (size - 1) == 0 else np.empty(0, dtype=np.int64)
        return np.sort(np.concatenate([inside, self._whole_nodes(suitable, size)])).astype(np.int64)

    def _inside_nodes(self, suitable: Mask, size: int) -> npt.NDArray[np.int64]:
        first, gpus = self._offsets[:-1], np.diff(self._offsets)
        roomy = suitable & (gpus >= size)
        counts = gpus[roomy] - size + 1
        if not len(counts):
            return np.empty(0, dtype=np.int64)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        starts: npt.NDArray[np.int64] = np.repeat(first[roomy], counts) + within
        return starts

    def _whole_nodes(self, suitable: Mask, size: int) -> npt.NDArray[np.int64]:
        first, gpus = self._offsets[:-1], np.diff(self._offsets)
        behind = np.searchsorted(self._offsets, first + size)
        ends_at_node = (behind < len(self._offsets)) & (self._offsets[np.minimum(behind, len(gpus))] == first + size)
        unsuitable_before = np.concatenate([[0], np.cumsum(~suitable)])
        last = np.minimum(behind, len(gpus))
        all_suitable = unsuitable_before[last] == unsuitable_before[:-1]
        chosen: npt.NDArray[np.int64] = first[(gpus < size) & ends_at_node & all_suitable]
        return chosen
