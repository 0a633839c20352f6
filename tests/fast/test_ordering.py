"""Descent over the order of placing: what it leaves behind is the plan of the order that it leaves behind."""

from __future__ import annotations

import numpy as np
import pytest

from loadfactor.bench.cases import dense_case
from loadfactor.model import Problem
from loadfactor.policies.fast.curves import NONE
from loadfactor.policies.fast.filling import complete
from loadfactor.policies.fast.ordering import reorder
from loadfactor.policies.instance import Instance, Ints, compile_problem
from loadfactor.policies.occupancy import Bits
from tests.support.generators import SMALL, random_problem


def _decode(i: Instance, order: Ints) -> tuple[float, Bits, Ints, Ints, Ints]:
    grid = i.grid.copy()
    chosen, begin, where = (np.full(len(i.jobs), NONE, dtype=np.int64) for _ in range(3))
    reward = complete(
        order, grid, i.node_of_gpu, i.first_of_node, i.pool_of_gpu, np.empty_like(i.free), i.jobs, i.options, i.reward,
        i.starts, i.weight, chosen, begin, where,
    )  # fmt: skip
    return reward, grid, chosen, begin, where


def _check(problem: Problem, seed: int) -> None:
    i = compile_problem(problem)
    if not len(i.options):
        return
    order = np.arange(len(i.jobs))
    before, grid, chosen, begin, where = _decode(i, order)
    random = np.array([seed + 1], dtype=np.uint64)
    gain = reorder(
        60, order, grid, i.node_of_gpu, i.first_of_node, i.pool_of_gpu, np.empty_like(i.free), i.jobs, i.options,
        i.reward, i.starts, i.weight, random, chosen, begin, where,
    )  # fmt: skip
    assert sorted(order) == list(range(len(i.jobs)))
    after, *arrays = _decode(i, order)
    assert gain >= -1e-6
    assert after == pytest.approx(before + gain)
    for found, expected in zip((grid, chosen, begin, where), arrays, strict=True):
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("seed", range(60))
def test_the_plan_is_that_of_the_order(seed: int) -> None:
    _check(random_problem(seed, SMALL), seed)


@pytest.mark.parametrize("jobs", [30, 60, 120])
def test_also_where_many_jobs_crowd(jobs: int) -> None:
    _check(dense_case(jobs, 1), jobs)
