"""The rolling horizon's arrays are those of the problem document that says the same."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from loadfactor.control.planners import HorizonSettings, load_planners
from loadfactor.control.planners.exact import first_moment, problem_at
from loadfactor.control.planners.horizon import RollingHorizon
from loadfactor.control.planners.way import ranks_of_nodes
from loadfactor.control.referee import Referee
from loadfactor.judge import judge
from loadfactor.policies import Effort
from loadfactor.policies.fast import Fast
from loadfactor.policies.instance import (
    FIRST_GPU,
    FIRST_OPTION,
    LAST_GPU,
    LAST_OPTION,
    Instance,
    compile_problem,
)
from tests.planners.states import at_work

SETTINGS = HorizonSettings(steps=12, depth=100)


def _demand(seed: int, services: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, 5, (services, SETTINGS.steps))


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_the_instance_is_that_of_the_document(seed: int, mixed: bool) -> None:
    state, book = at_work(seed, services=1 + seed % 2, mixed=mixed)
    rows, columns = book.queue.rows.copy(), book.columns
    worth, free_at = columns.priority.of(rows), book.free_at(state)
    demand = _demand(seed, len(state.services))
    ours = RollingHorizon(state, SETTINGS).instance(state, rows, columns, worth, free_at, demand)
    problem = problem_at(state, rows, columns, worth, free_at, demand, SETTINGS)
    theirs = compile_problem(problem)
    for name in ("grid", "weight", "demand", "price", "held", "density"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    assert np.array_equal(ours.services[:, :3], theirs.services[:, :3])
    assert [_options(ours, job) for job in range(len(rows))] == [_options(theirs, job) for job in range(len(rows))]
    assert np.array_equal(ours.free.sum(axis=0), theirs.free.sum(axis=0))
    assert np.array_equal(ours.kept.sum(axis=1), theirs.kept.sum(axis=1))
    for row in range(len(ours.services)):
        assert _gpus(ours, row) == _gpus(theirs, row)
        assert _pools(ours, row) == _pools(theirs, row)


def _options(instance: Instance, job: int) -> list[tuple[int, int, int, list[int], float]]:
    """Return sizes, durations, last starts, blocks and worth of a job, by size."""
    by_size: dict[int, tuple[int, int, int, list[int], float]] = {}
    for option in range(instance.jobs[job, FIRST_OPTION], instance.jobs[job, LAST_OPTION]):
        size, duration, last, _, first_block, last_block = instance.options[option].tolist()
        blocks = by_size.get(size, (0, 0, 0, [], 0.0))[3] + instance.starts[first_block:last_block].tolist()
        by_size[size] = size, duration, last, sorted(blocks), float(instance.reward[option])
    return [by_size[size] for size in sorted(by_size)]


def _gpus(instance: Instance, row: int) -> list[int]:
    first, last = instance.services[row, FIRST_GPU], instance.services[row, LAST_GPU]
    gpus: list[int] = instance.starts[first:last].tolist()
    return gpus


def _pools(instance: Instance, row: int) -> list[int]:
    """Return the GPUs of all pools that suit a service."""
    gpus: list[int] = np.flatnonzero(instance.service_pools[row][instance.pool_of_gpu]).tolist()
    return gpus


def test_mixed_states_are_mixed() -> None:
    states = [at_work(seed, mixed=True) for seed in range(60)]
    jobs = [state.jobs[row] for state, book in states for row in book.queue.rows.tolist()]
    assert sum(len(job.sizes) > 1 for job in jobs) > 60
    assert sum(job.request.gpu_types is not None for job in jobs) > 60
    assert sum(state.block_sizes.needs > 2 for state, _ in states) > 30


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_the_first_moment_of_a_legal_plan_passes_the_referee(seed: int, mixed: bool) -> None:
    load_planners()
    state, book = at_work(seed, mixed=mixed)
    rows, free_at = book.queue.rows.copy(), book.free_at(state)
    worth = book.columns.priority.of(rows)
    problem = problem_at(state, rows, book.columns, worth, free_at, _demand(seed, 1), SETTINGS)
    plan = Fast().plan(problem, Effort(iterations=8))
    assert not judge(problem, plan).violations
    assert Referee(state).faults(first_moment(state, problem, plan)) == []


@pytest.mark.parametrize("seed", range(10))
def test_of_every_size_the_blocks_that_break_least_come_first(seed: int) -> None:
    state, book = at_work(seed)
    horizon = RollingHorizon(state, SETTINGS)
    rows = book.queue.rows
    instance = horizon.instance(state, rows, book.columns, np.ones(len(rows)), book.free_at(state), None)
    rank = ranks_of_nodes(state.usable(), state.first_of_node)
    for size in state.block_sizes.sizes:
        span = horizon.span_of(size)
        assert span is not None
        ordered = instance.starts[slice(*span)]
        assert sorted(ordered.tolist()) == horizon.blocks_of(size).tolist()
        keys = [(rank[state.cluster.node_of(first)], first) for first in ordered.tolist()]
        assert keys == sorted(keys)
