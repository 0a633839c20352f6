"""A problem compiled to arrays: what the compiled kernels of `fast` read.

Names of columns are module constants, so that a kernel says `options[option, SIZE]`. m jobs (running ones are not among
them: they are part of the grid), O options (a job, a size and a pool of alike GPUs), S services, P pools, T steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np
import numpy.typing as npt

from loadfactor.model import Job, Problem, Service
from loadfactor.policies.blocks import Starts
from loadfactor.policies.catalogue import Catalogue, Option, catalogue_of
from loadfactor.policies.draft import decay_weights
from loadfactor.policies.occupancy import Bits, empty_grid, with_summary

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SUBMIT, FIRST_OPTION, LAST_OPTION = range(3)
"""Columns of `jobs`; options are half-open: [FIRST_OPTION, LAST_OPTION)."""
SIZE, DURATION, LAST_START, POOL, FIRST_BLOCK, LAST_BLOCK = range(6)
"""Columns of `options`; blocks are `starts[FIRST_BLOCK:LAST_BLOCK]`; POOL is -1 for blocks that span pools."""
MAX_SWAP, MAX_GPUS, HELD, FIRST_GPU, LAST_GPU = range(5)
"""Columns of `services`; HELD is the number of GPUs held before step 0, or -1 where the first step is free; the GPUs
that suit the service are `starts[FIRST_GPU:LAST_GPU]`, the highest first."""
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
    """Bits: unavailable GPUs and running jobs in the first N rows, then when nodes have room (see `with_summary`)."""
    node_of_gpu: Ints
    first_of_node: Ints
    """(nodes + 1,) the first GPU of every node, and N."""
    pool_of_gpu: Ints
    """(N,) the pool of every GPU: GPUs that meet the same needs of this problem."""
    free: Ints
    """(P, T) GPUs of every pool that `grid` leaves."""
    jobs: Ints
    options: Ints
    density: Floats
    """(m,) what a job earns on a GPU in a step: its priority, the order in which a search starts."""
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
    kept: Ints
    """(S, P, T) the GPUs of every pool that a service cannot have given back yet (see `kept_gpus`)."""
    held: Ints
    """(N,) the service that holds each GPU before step 0, or -1."""


def compile_problem(problem: Problem) -> Instance:
    """Return `problem` as arrays."""
    steps = problem.horizon.steps
    catalogue = catalogue_of(problem)
    waiting = [job for job in problem.jobs if job.running is None]
    jobs, options, reward = _options(waiting, steps, problem.horizon.finish_inside, catalogue)
    services = problem.services
    penalty, gpu_count = problem.objective.realtime_penalty, problem.cluster.gpu_count
    rows = _matrix([*chain.from_iterable(service_row(service, gpu_count, catalogue) for service in services)], 5)
    busy = empty_grid(problem)
    weight = _weight(steps, problem.objective.decay)
    price = np.array([penalty * service.priority for service in services], dtype=np.float64)
    return Instance(
        problem=problem,
        steps=steps,
        waiting=waiting,
        running=[job for job in problem.jobs if job.running is not None],
        grid=with_summary(busy, catalogue.first_of_node),
        node_of_gpu=catalogue.node_of_gpu,
        first_of_node=catalogue.first_of_node,
        pool_of_gpu=catalogue.pool_of_gpu,
        free=_free(busy, catalogue, steps),
        jobs=jobs,
        options=options,
        density=np.array([job.priority for job in waiting], dtype=np.float64),
        mean_worth=_mean_worth(options, reward, weight),
        reward=reward,
        starts=catalogue.starts,
        weight=weight,
        services=rows,
        demand=_matrix([*chain.from_iterable(service.demand for service in services)], steps),
        price=price,
        by_price=np.argsort(-price, kind="stable"),
        service_pools=_service_pools(services, rows, catalogue),
        kept=_kept(services, busy, catalogue, steps),
        held=_held(problem),
    )


def _matrix(cells: list[int], columns: int) -> Ints:
    return np.array(cells, dtype=np.int64).reshape(-1, columns)


@lru_cache(maxsize=8)
def _weight(steps: int, decay: float) -> Floats:
    return np.array(decay_weights(steps, decay))


def _mean_worth(options: Ints, reward: Floats, weight: Floats) -> float:
    if not len(options):
        return 1.0
    return float(reward @ weight[np.minimum(options[:, DURATION], len(weight) - 1)]) / len(reward) or 1.0


def _free(busy: Bits, catalogue: Catalogue, steps: int) -> Ints:
    """Return the (P, T) GPUs that `busy` leaves free."""
    free = np.repeat(catalogue.gpus_of_pool[:, None], steps, axis=1)
    if busy.any():
        rows = np.flatnonzero(busy.any(axis=1))
        np.subtract.at(free, catalogue.pool_of_gpu[rows], _cells(busy[rows], steps))
    return free


def _options(waiting: list[Job], steps: int, inside: bool, catalogue: Catalogue) -> tuple[Ints, Ints, Floats]:
    """Return the rows of `jobs`, `options` and `reward`."""
    jobs: list[int] = []
    options: list[Option] = []
    priorities: list[float] = []
    for job in waiting:
        first, submit = len(options), job.submit
        rows = options_of_job(job, steps, inside, catalogue)
        options += [row for row in rows if row[LAST_START] >= submit] if submit else rows
        last = len(options)
        priorities += [job.priority] * (last - first)
        jobs += min(submit, steps), first, last
    rows_of_options = _matrix([*chain.from_iterable(options)], 6)
    return _matrix(jobs, 3), rows_of_options, np.array(priorities, dtype=np.float64) * rows_of_options[:, SIZE]


def options_of_job(job: Job, steps: int, inside: bool, catalogue: Catalogue) -> list[Option]:
    """Return the rows of `options` for a job, whatever its submit; the catalogue keeps them for jobs of that shape."""
    gpus = job.gpus
    shape = (gpus.min, gpus.max, job.duration, job.work, job.gpu_types, job.gpu_memory_gib, steps, inside)
    rows = catalogue.options.get(shape)
    if rows is None:
        rows = []
        for size in catalogue.table.sizes(job):
            duration = job.duration_at(size)
            last = steps - (duration if inside else 1)
            rows += [(size, duration, last, *group) for group in catalogue.blocks(job, size)]
        catalogue.keep_options(shape, rows)
    return rows


def service_row(service: Service, gpu_count: int, catalogue: Catalogue) -> tuple[int, ...]:
    """Return the row of `services` for a service."""
    most = gpu_count if service.max_gpus is None else min(service.max_gpus, gpu_count)
    held = UNKNOWN if service.held is None else len(service.held)
    return service.max_swap, most, held, *catalogue.gpus(service)


def kept_gpus(service: Service, busy: Bits, catalogue: Catalogue, steps: int) -> Ints:
    """Return how many of its held GPUs the service cannot have given back yet, by pool and step (P, T).

    A service that holds h GPUs before step 0 holds at least h - cap·(t + 1) of them at step t, whatever it needs (R4),
    and none that `busy` has taken there.
    """
    held = np.array(service.held or (), dtype=np.int64)
    idle = np.zeros((catalogue.pools, steps), dtype=np.int64)
    np.add.at(idle, catalogue.pool_of_gpu[held], 1 - _cells(busy[held], steps))
    bound = np.maximum(0, len(held) - service.max_swap * np.arange(1, steps + 1))
    kept = np.empty_like(idle)
    for pool in range(catalogue.pools):
        kept[pool] = np.minimum(bound, idle[pool])
        bound -= kept[pool]
    return kept


def _cells(rows: Bits, steps: int) -> Ints:
    """Return the bits of some rows as numbers of shape (rows, T)."""
    return np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")[:, :steps].astype(np.int64)


def _service_pools(services: tuple[Service, ...], rows: Ints, catalogue: Catalogue) -> npt.NDArray[np.bool_]:
    if catalogue.pools == 1:
        return rows[:, FIRST_GPU : FIRST_GPU + 1] < rows[:, LAST_GPU : LAST_GPU + 1]
    _, example = np.unique(catalogue.pool_of_gpu, return_index=True)
    suits = np.empty((len(services), catalogue.pools), dtype=np.bool_)
    for row, service in enumerate(services):
        suits[row] = catalogue.table.suitable_gpus(service)[example]
    return suits


def _kept(services: tuple[Service, ...], busy: Bits, catalogue: Catalogue, steps: int) -> Ints:
    kept = np.zeros((len(services), catalogue.pools, steps), dtype=np.int64)
    for row, service in enumerate(services):
        if service.held:
            kept[row] = kept_gpus(service, busy, catalogue, steps)
    return kept


def _held(problem: Problem) -> Ints:
    held = np.full(problem.cluster.gpu_count, UNKNOWN, dtype=np.int64)
    for index, service in enumerate(problem.services):
        if service.held:
            held[list(service.held)] = index
    return held
