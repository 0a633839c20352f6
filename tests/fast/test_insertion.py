"""Insertion into the grid: the counts of free GPUs, and the starts skipped because they were searched in vain."""

from __future__ import annotations

import random

import numpy as np
import pytest

from loadfactor.bench.cases import dense_case
from loadfactor.model import Problem
from loadfactor.policies.fast.curves import NONE
from loadfactor.policies.fast.filling import count_free, insert_all
from loadfactor.policies.instance import Instance, Ints, compile_problem
from tests.support.generators import SMALL, random_problem

Placed = tuple[list[int], list[int]]


@pytest.mark.parametrize("steps", [1, 24, 64, 65, 130])
@pytest.mark.parametrize("gpus", [1, 7, 8, 33])
def test_free_gpus_are_counted_like_cells(steps: int, gpus: int) -> None:
    dice = np.random.default_rng(gpus * steps)
    cells = dice.random((gpus, steps)) < 0.4
    padded = np.zeros((gpus, -(-steps // 64) * 64), dtype=np.uint8)
    padded[:, :steps] = cells
    grid = np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
    pool_of_gpu = dice.integers(0, 3, gpus)
    free = np.full((3, steps), 99, dtype=np.int64)
    count_free(grid, pool_of_gpu, free)
    assert free.tolist() == [(~cells[pool_of_gpu == pool]).sum(axis=0).tolist() for pool in range(3)]


@pytest.mark.parametrize("seed", range(40))
def test_no_start_is_skipped_that_a_search_without_memory_finds(seed: int) -> None:
    _compare(random_problem(seed, SMALL), seed)


@pytest.mark.parametrize("jobs", [30, 60, 120])
def test_nor_where_many_jobs_of_the_same_shape_crowd(jobs: int) -> None:
    _compare(dense_case(jobs, 0), jobs)


def _compare(problem: Problem, seed: int) -> None:
    """Insert the jobs at once, and one call at a time, which remembers nothing from one job to the next."""
    instance = compile_problem(problem)
    order = list(range(len(instance.jobs)))
    random.Random(seed).shuffle(order)
    for length in range(1, len(order) + 1):
        together, alone = _insert(instance, [order[:length]]), _insert(instance, [[job] for job in order[:length]])
        assert together == alone


def _insert(instance: Instance, batches: list[list[int]]) -> Placed:
    """Return options and starts of the jobs after the batches."""
    i = instance
    grid = i.grid.copy()
    chosen, begin, where = (np.full(len(i.jobs), NONE, dtype=np.int64) for _ in range(3))
    free = np.empty_like(i.free)
    for batch in batches:
        count_free(grid, i.pool_of_gpu, free)
        order: Ints = np.array(batch, dtype=np.int64)
        insert_all(
            order, grid, i.node_of_gpu, i.first_of_node, i.pool_of_gpu, free, i.jobs, i.options, i.reward, i.starts,
            i.weight, chosen, begin, where,
        )  # fmt: skip
    return chosen.tolist(), begin.tolist()
