"""How finely the exact model looks at the cluster: GPUs in pools, counted and not told apart inside a pool.

The same model at three resolutions. With pools of *alike* GPUs (those that meet the same needs) it knows only how many
GPUs are in use, which relaxes the problem: fewer variables, and an optimum that no legal plan can exceed. With a pool a
node it relaxes less. With every GPU a pool of its own it is the problem itself: a block is the set of GPUs that it
uses, and a swap is a change of a count between 0 and 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from loadfactor.model import Job, Problem, Service
from loadfactor.policies.blocks import BlockTable, Need, block_table, need_of
from loadfactor.policies.draft import unavailable_cells

Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Partition:
    """The GPUs of a problem in pools."""

    problem: Problem
    pool_of_gpu: Ints
    """(N,) pools are numbered from 0 without gaps."""

    @classmethod
    def alike(cls, problem: Problem) -> Partition:
        """Return the pools of GPUs that meet exactly the same needs of this problem."""
        table = block_table(problem.cluster)
        workloads: list[Job | Service] = [*problem.jobs, *problem.services]
        needs: dict[Need, Job | Service] = {need_of(workload): workload for workload in workloads}
        signature = np.array([table.suitable_gpus(workload) for workload in needs.values()], dtype=np.bool_)
        signature = signature.reshape(len(needs), problem.cluster.gpu_count).T
        pool = np.unique(signature, axis=0, return_inverse=True)[1] if needs else np.zeros(len(signature))
        return cls(problem, np.asarray(pool, dtype=np.int64).reshape(-1))

    @classmethod
    def nodes(cls, problem: Problem) -> Partition:
        """Return the partition in which every node is a pool."""
        return cls(problem, np.repeat(np.arange(len(problem.cluster.nodes)), [n.gpus for n in problem.cluster.nodes]))

    @classmethod
    def single(cls, problem: Problem) -> Partition:
        """Return the partition in which every GPU is a pool of its own."""
        return cls(problem, np.arange(problem.cluster.gpu_count))

    @property
    def pools(self) -> int:
        """The number of pools, P."""
        return int(self.pool_of_gpu.max()) + 1

    @cached_property
    def table(self) -> BlockTable:
        """The candidate blocks of the cluster."""
        return block_table(self.problem.cluster)

    @cached_property
    def closed(self) -> Mask:
        """(N, T) cells that no plan can use: unavailable GPUs, and GPUs held by running jobs."""
        closed = unavailable_cells(self.problem)
        for job in self.problem.jobs:
            if job.running:
                closed[list(job.running.gpus), : job.running.remaining] = True
        return closed

    @cached_property
    def capacity(self) -> Ints:
        """(P, T) GPUs of every pool that a plan can use at every step."""
        capacity = np.zeros((self.pools, self.problem.horizon.steps), dtype=np.int64)
        np.add.at(capacity, self.pool_of_gpu, ~self.closed)
        return capacity

    def suits(self, service: Service) -> Mask:
        """Return one boolean a pool: whether its GPUs meet the needs of `service`."""
        suits = np.zeros(self.pools, dtype=np.bool_)
        suits[self.pool_of_gpu[self.table.suitable_gpus(service)]] = True
        return suits

    def held(self, service: Service) -> Ints | None:
        """Return the GPUs of every pool that `service` holds before step 0, or None where the first step is free."""
        if service.held is None:
            return None
        return np.bincount(self.pool_of_gpu[list(service.held)], minlength=self.pools)
