"""What the exact model may choose for a job: a size, a start, and a kind of block, told apart by the pools it uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from loadfactor.model import Job, Problem
from loadfactor.policies.draft import decayed_steps
from loadfactor.policies.full.partition import Ints, Partition

Usage = tuple[tuple[int, int], ...]
"""(pool, GPUs) for every pool that a block uses."""


@dataclass(frozen=True)
class JobClass:
    """Jobs that differ in nothing but their names: the model counts them and does not tell them apart."""

    jobs: tuple[Job, ...]

    @property
    def example(self) -> Job:
        """One of the jobs."""
        return self.jobs[0]


@dataclass(frozen=True)
class Choice:
    """A job of class `job_class` starts at `start` on a block of `size` GPUs that uses the pools of `usage`."""

    job_class: int
    size: int
    start: int
    end: int
    """Exclusive, and at most T: what lies behind the horizon uses nothing and earns nothing."""
    usage: Usage
    blocks: tuple[int, ...]
    """The first GPUs of the blocks that are meant."""
    reward: float
    most: int
    """How many jobs of the class can make this choice."""


def job_classes(problem: Problem) -> list[JobClass]:
    """Return the waiting jobs that a plan can gain from, in classes of identical ones, in file order."""
    classes: dict[tuple[object, ...], list[Job]] = {}
    for job in problem.jobs:
        if job.running is None and job.priority > 0:
            key = (job.priority, job.submit, job.gpus, job.duration, job.work, job.gpu_types, job.gpu_memory_gib)
            classes.setdefault(key, []).append(job)
    return [JobClass(tuple(jobs)) for jobs in classes.values()]


def last_start(problem: Problem, duration: int) -> int:
    """Return the last step at which a job of `duration` steps may start (R5)."""
    return problem.horizon.steps - (duration if problem.horizon.finish_inside else 1)


def starts_of(problem: Problem, job: Job, size: int) -> range:
    """Return the steps at which `job` may start on `size` GPUs (R2, R5)."""
    return range(job.submit, last_start(problem, job.duration_at(size)) + 1)


class ChoiceMaker:
    """Lists the choices of a class of jobs at the resolution of a partition."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.problem = partition.problem
        steps = self.problem.horizon.steps
        closed = partition.closed.astype(np.int32)
        self._closed_before = np.pad(closed.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
        self._usages: dict[tuple[int, int], Usage] = {}
        self._decay = [decayed_steps(self.problem, 0, end) for end in range(steps + 1)]

    def all_of(self, index: int, jobs: JobClass) -> Iterator[Choice]:
        """Yield every choice that R2, R3 and R5 allow to the class."""
        for size in self.partition.table.sizes(jobs.example):
            for start in starts_of(self.problem, jobs.example, size):
                yield from self.at(index, jobs, size, start)

    def at(self, index: int, jobs: JobClass, size: int, start: int) -> Iterator[Choice]:
        """Yield the choices of the class with this size and start, one for each set of pools that a block can use."""
        job = jobs.example
        end = min(start + job.duration_at(size), self.problem.horizon.steps)
        blocks = self._open(self.partition.table.starts(job, size).astype(np.int64), size, start, end)
        reward = job.priority * size * (self._decay[end] - self._decay[start])
        for usage, meant in self._by_usage(blocks, size).items():
            most = min([len(jobs.jobs), len(meant), *self._room(usage, start, end)])
            if most > 0:
                yield Choice(index, size, start, end, usage, tuple(meant), reward, most)

    def _open(self, blocks: Ints, size: int, start: int, end: int) -> Ints:
        """Return the blocks of which no cell in [start, end) is closed."""
        before, first, behind = self._closed_before, blocks, blocks + size
        closed = before[behind, end] - before[first, end] - before[behind, start] + before[first, start]
        still_open: Ints = blocks[closed == 0]
        return still_open

    def _by_usage(self, blocks: Ints, size: int) -> dict[Usage, list[int]]:
        if self.partition.pools == 1:
            return {((0, size),): blocks.tolist()} if len(blocks) else {}
        groups: dict[Usage, list[int]] = {}
        for first in blocks.tolist():
            groups.setdefault(self._usage(first, size), []).append(first)
        return groups

    def _usage(self, first: int, size: int) -> Usage:
        if (first, size) not in self._usages:
            pools, counts = np.unique(self.partition.pool_of_gpu[first : first + size], return_counts=True)
            self._usages[first, size] = tuple(zip(pools.tolist(), counts.tolist(), strict=True))
        return self._usages[first, size]

    def _room(self, usage: Usage, start: int, end: int) -> Iterator[int]:
        for pool, count in usage:
            yield int(self.partition.capacity[pool, start:end].min()) // count
