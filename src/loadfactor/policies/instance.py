"""A problem compiled to arrays: what the compiled kernels of `fast` read.

Names of columns are module constants, so that a kernel says `options[option, SIZE]`. m jobs (running ones are not among
them: they are part of the grid), O options (a job, a size and a pool of alike GPUs), S services, P pools, T steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from loadfactor.model import Job, Problem, Service
from loadfactor.policies.blocks import BlockTable, Need, Starts, block_table, need_of
from loadfactor.policies.occupancy import Bits, empty_grid

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SUBMIT, FIRST_OPTION, LAST_OPTION = range(3)
"""Columns of `jobs`; options are half-open: [FIRST_OPTION, LAST_OPTION)."""
SIZE, DURATION, LAST_START, POOL, FIRST_BLOCK, LAST_BLOCK = range(6)
"""Columns of `options`; blocks are `starts[FIRST_BLOCK:LAST_BLOCK]`; POOL is -1 for blocks that span pools."""
MAX_SWAP, MAX_GPUS, HELD, FIRST_GPU, LAST_GPU = range(5)
"""Columns of `services`; HELD is the number of GPUs held before step 0, or -1 where the first step is free; the GPUs that
suit the service are `starts[FIRST_GPU:LAST_GPU]`, the highest first."""
UNKNOWN = -1


@dataclass(frozen=True)
class Instance:
    """The arrays of one problem; none of them is ever written to."""

    problem: Problem
    steps: int
    waiting: list[Job]
    """The jobs that are not running, in file order."""
    running: list[Job]
    grid: Bits
    """(N, W) bits: unavailable GPUs and running jobs."""
    pool_of_gpu: Ints
    """(N,) the pool of every GPU: GPUs that meet the same needs of this problem."""
    free: Ints
    """(P, T) GPUs of every pool that `grid` leaves."""
    jobs: Ints
    options: Ints
    density: Floats
    """(m,) what the best option of every job earns on a GPU in a step, the order in which a search starts."""
    mean_worth: float
    """The mean worth of a job that starts at once, the unit of temperatures."""
    reward: Floats
    """(O,) priority times size: the worth of a step before decay."""
    starts: Starts
    weight: Floats
    """(T + 1,) Σ decay^k over k < t."""
    services: Ints
    demand: Ints
    """(S, T)"""
    price: Floats
    """(S,) what a GPU-step of unmet demand costs."""
    by_price: Ints
    """(S,) the services, the dearest first."""
    service_pools: npt.NDArray[np.bool_]
    """(S, P) whether GPUs of the pool suit the service."""
    held: Ints
    """(N,) the service that holds each GPU before step 0, or -1."""


def compile_problem(problem: Problem) -> Instance:
    """Return `problem` as arrays."""
    table = block_table(problem.cluster)
    steps = problem.horizon.steps
    waiting = [job for job in problem.jobs if job.running is None]
    grid = empty_grid(problem)
    pool_of_gpu = _pools(problem, table)
    catalogue = _BlockCatalogue(table, pool_of_gpu)
    jobs, options, reward = _options(problem, waiting, catalogue)
    services = [_service_row(service, problem.cluster.gpu_count, catalogue) for service in problem.services]
    pools = int(pool_of_gpu.max()) + 1
    weight = decay_weights(problem.objective.decay, steps)
    price = np.array([problem.objective.realtime_penalty * s.priority for s in problem.services], dtype=np.float64)
    return Instance(
        problem=problem,
        steps=steps,
        waiting=waiting,
        running=[job for job in problem.jobs if job.running is not None],
        grid=grid,
        pool_of_gpu=pool_of_gpu,
        free=_free(grid, pool_of_gpu, pools, steps),
        jobs=jobs,
        options=options,
        density=np.array([job.priority for job in waiting], dtype=np.float64),
        mean_worth=_mean_worth(options, reward, weight),
        reward=reward,
        starts=catalogue.starts(),
        weight=weight,
        services=np.array(services, dtype=np.int64).reshape(-1, 5),
        demand=np.array([s.demand for s in problem.services], dtype=np.int64).reshape(-1, steps),
        price=price,
        by_price=np.argsort(-price, kind="stable"),
        service_pools=_service_pools(problem, table, pool_of_gpu, pools),
        held=_held(problem),
    )


def decay_weights(decay: float, steps: int) -> Floats:
    """Return the (T + 1,) array of Σ decay^k over k < t."""
    weights = np.empty(steps + 1)
    weights[0] = 0.0
    np.cumsum(decay ** np.arange(steps), out=weights[1:])
    return weights


def _mean_worth(options: Ints, reward: Floats, weight: Floats) -> float:
    if not len(options):
        return 1.0
    return float((reward * weight[np.minimum(options[:, DURATION], len(weight) - 1)]).mean()) or 1.0


def _pools(problem: Problem, table: BlockTable) -> Ints:
    """Number the groups of GPUs that meet exactly the same needs."""
    needs: dict[Need, Job | Service] = {need_of(w): w for w in (*problem.jobs, *problem.services)}
    needs.pop((None, None), None)
    count = problem.cluster.gpu_count
    if not needs:
        return np.zeros(count, dtype=np.int64)
    signature = np.stack([table.suitable_gpus(workload) for workload in needs.values()], axis=1)
    _, pool = np.unique(signature, axis=0, return_inverse=True)
    return pool.reshape(-1).astype(np.int64)


def _free(grid: Bits, pool_of_gpu: Ints, pools: int, steps: int) -> Ints:
    """Return the (P, T) GPUs that `grid` leaves free."""
    sizes = np.bincount(pool_of_gpu, minlength=pools)
    free = np.repeat(sizes[:, None], steps, axis=1).astype(np.int64)
    rows = np.flatnonzero(grid.any(axis=1))
    if len(rows):
        bits = np.unpackbits(grid[rows].view(np.uint8), axis=1, bitorder="little")[:, :steps]
        np.subtract.at(free, pool_of_gpu[rows], bits.astype(np.int64))
    return free


def _options(problem: Problem, waiting: list[Job], catalogue: _BlockCatalogue) -> tuple[Ints, Ints, Floats]:
    steps, inside = problem.horizon.steps, problem.horizon.finish_inside
    jobs: list[tuple[int, int, int]] = []
    options: list[tuple[int, int, int, int, int, int]] = []
    reward: list[float] = []
    for job in waiting:
        first = len(options)
        for size in catalogue.table.sizes(job):
            duration = job.duration_at(size)
            last = steps - (duration if inside else 1)
            if last < job.submit:
                continue
            for pool, low, high in catalogue.of(job, size):
                options.append((size, duration, last, pool, low, high))
                reward.append(job.priority * size)
        jobs.append((min(job.submit, steps), first, len(options)))
    return (
        np.array(jobs, dtype=np.int64).reshape(-1, 3),
        np.array(options, dtype=np.int64).reshape(-1, 6),
        np.array(reward, dtype=np.float64),
    )


class _BlockCatalogue:
    """All candidate blocks in one array, those of one need, size and pool side by side."""

    def __init__(self, table: BlockTable, pool_of_gpu: Ints) -> None:
        self.table = table
        self._pool_of_gpu = pool_of_gpu
        self._pools = int(pool_of_gpu.max()) + 1
        self._known: dict[tuple[Need, int], list[tuple[int, int, int]]] = {}
        self._pieces: list[Starts] = []
        self._length = 0

    def of(self, job: Job, size: int) -> list[tuple[int, int, int]]:
        """Return (pool, low, high) of every group of candidate blocks of `size` GPUs for `job`."""
        key = (need_of(job), size)
        if key not in self._known:
            self._known[key] = [
                self._add(pool, piece) for pool, piece in self._groups(self.table.starts(job, size), size)
            ]
        return self._known[key]

    def gpus_of(self, service: Service) -> tuple[int, int]:
        """Return (low, high) of the GPUs that suit the service, the highest first."""
        key = (need_of(service), 0)
        if key not in self._known:
            self._known[key] = [self._add(0, np.flatnonzero(self.table.suitable_gpus(service))[::-1])]
        return self._known[key][0][1:]

    def starts(self) -> Starts:
        """Return the array that `low` and `high` point into."""
        return np.concatenate(self._pieces) if self._pieces else np.empty(0, dtype=np.int64)

    def _groups(self, starts: Starts, size: int) -> list[tuple[int, Starts]]:
        if self._pools == 1:
            return [(0, starts)]
        changes = np.concatenate([[0], np.cumsum(np.diff(self._pool_of_gpu) != 0)])
        pool = np.where(changes[starts] == changes[starts + size - 1], self._pool_of_gpu[starts], UNKNOWN)
        return [(int(number), starts[pool == number]) for number in np.unique(pool)[::-1]]

    def _add(self, pool: int, piece: Starts) -> tuple[int, int, int]:
        low = self._length
        self._pieces.append(piece)
        self._length += len(piece)
        return pool, low, self._length


def _service_row(service: Service, gpu_count: int, catalogue: _BlockCatalogue) -> tuple[int, int, int, int, int]:
    most = gpu_count if service.max_gpus is None else min(service.max_gpus, gpu_count)
    held = UNKNOWN if service.held is None else len(service.held)
    return service.max_swap, most, held, *catalogue.gpus_of(service)


def _service_pools(problem: Problem, table: BlockTable, pool_of_gpu: Ints, pools: int) -> npt.NDArray[np.bool_]:
    suits = np.ones((len(problem.services), pools), dtype=np.bool_)
    if pools > 1:
        _, example = np.unique(pool_of_gpu, return_index=True)
        for row, service in enumerate(problem.services):
            suits[row] = table.suitable_gpus(service)[example]
    elif problem.services:
        suits[:, 0] = [bool(table.suitable_gpus(service)[0]) for service in problem.services]
    return suits


def _held(problem: Problem) -> Ints:
    held = np.full(problem.cluster.gpu_count, UNKNOWN, dtype=np.int64)
    for index, service in enumerate(problem.services):
        if service.held:
            held[list(service.held)] = index
    return held
