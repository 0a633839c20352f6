"""All candidate blocks of a cluster in one array, grouped by pools of alike GPUs, for compiled code to point into."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from loadfactor.model import Job, Problem, Service
from loadfactor.policies.blocks import BlockTable, Need, Starts, block_table, need_of

SPANNING = -1
"""The pool of a block whose GPUs belong to several."""

Group = tuple[int, int, int]
"""(pool, low, high): the blocks of one size for one need that lie in one pool are `starts[low:high]`."""
Option = tuple[int, int, int, int, int, int]
"""A row of `options` of `loadfactor.policies.instance`."""
MOST_SHAPES = 10_000
"""Shapes of jobs whose options are kept before all are forgotten."""


class Catalogue:
    """The candidate blocks of a cluster for a set of needs. A pool is a set of GPUs that meet the same needs."""

    def __init__(self, table: BlockTable, workloads: Iterable[Job | Service]) -> None:
        self.table = table
        self.pool_of_gpu = _pools(table, workloads)
        self.gpus_of_pool = np.bincount(self.pool_of_gpu)
        self.pools = len(self.gpus_of_pool)
        self.first_of_node = np.array(table.cluster.node_offsets, dtype=np.int64)
        self.node_of_gpu = np.repeat(np.arange(len(table.cluster.nodes)), np.diff(self.first_of_node))
        self._changes = np.concatenate([[0], np.cumsum(np.diff(self.pool_of_gpu) != 0)])
        self._groups: dict[tuple[Need, int], list[Group]] = {}
        self._pieces: list[Starts] = []
        self._length = 0
        self._starts: Starts | None = None
        self.options: dict[tuple[object, ...], list[Option]] = {}

    def keep_options(self, shape: tuple[object, ...], rows: list[Option]) -> None:
        """Keep the options of a shape of job; nobody may change `rows` afterwards."""
        if len(self.options) >= MOST_SHAPES:
            self.options.clear()
        self.options[shape] = rows

    def blocks(self, job: Job, size: int) -> list[Group]:
        """Return the groups of blocks of `size` GPUs that `job` may take."""
        key = (need_of(job), size)
        if key not in self._groups:
            pieces = self._by_pool(self.table.starts(job, size), size)
            self._groups[key] = [self._add(pool, piece) for pool, piece in pieces]
        return self._groups[key]

    def block_groups(self) -> list[Group]:
        """Return the groups of all blocks that were asked for; the GPUs of services are none."""
        return [group for (_, size), groups in self._groups.items() if size for group in groups]

    def gpus(self, service: Service) -> tuple[int, int]:
        """Return (low, high) of the GPUs that suit the service, the highest first."""
        key = (need_of(service), 0)
        if key not in self._groups:
            suitable = np.flatnonzero(self.table.suitable_gpus(service))[::-1]
            self._groups[key] = [self._add(SPANNING, suitable)]
        _, low, high = self._groups[key][0]
        return low, high

    @property
    def starts(self) -> Starts:
        """The array that `low` and `high` point into; it grows at its end, so that they stay valid."""
        if self._starts is None or len(self._starts) < self._length:
            self._starts = np.concatenate([np.empty(0, dtype=np.int64), *self._pieces])
        return self._starts

    def _by_pool(self, starts: Starts, size: int) -> list[tuple[int, Starts]]:
        if self.pools == 1:
            return [(0, starts)]
        alike = self._changes[starts] == self._changes[starts + size - 1]
        pool = np.where(alike, self.pool_of_gpu[starts], SPANNING)
        return [(int(number), starts[pool == number]) for number in np.unique(pool)[::-1]]

    def _add(self, pool: int, piece: Starts) -> Group:
        low = self._length
        self._pieces.append(piece)
        self._length += len(piece)
        return pool, low, self._length


def catalogue_of(problem: Problem) -> Catalogue:
    """Return the catalogue of the problem's cluster and needs, kept with the cluster's table of blocks."""
    table = block_table(problem.cluster)
    everybody: tuple[Job | Service, ...] = (*problem.jobs, *problem.services)
    workloads = {
        need_of(workload): workload
        for workload in everybody
        if workload.gpu_types is not None or workload.gpu_memory_gib is not None
    }
    key = frozenset(workloads)
    if key not in table.catalogues:
        table.catalogues[key] = Catalogue(table, workloads.values())
    catalogue: Catalogue = table.catalogues[key]
    return catalogue


def _pools(table: BlockTable, workloads: Iterable[Job | Service]) -> npt.NDArray[np.int64]:
    """Number the groups of GPUs that meet exactly the same needs."""
    masks = [table.suitable_gpus(workload) for workload in workloads]
    if not masks:
        return np.zeros(table.cluster.gpu_count, dtype=np.int64)
    _, pool = np.unique(np.stack(masks, axis=1), axis=0, return_inverse=True)
    return pool.reshape(-1).astype(np.int64)
