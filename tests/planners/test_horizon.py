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
from loadfactor.policies.instance import compile_problem
from tests.planners.states import at_work

SETTINGS = HorizonSettings(steps=12, depth=100)


def _demand(seed: int, services: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, 5, (services, SETTINGS.steps))


@pytest.mark.parametrize("seed", range(60))
def test_the_instance_is_that_of_the_document(seed: int) -> None:
    state, book = at_work(seed, services=1 + seed % 2)
    rows, columns = book.queue.rows.copy(), book.columns
    worth, free_at = columns.priority.of(rows), book.free_at(state)
    demand = _demand(seed, len(state.services))
    ours = RollingHorizon(state, SETTINGS).instance(state, rows, columns, worth, free_at, demand)
    problem = problem_at(state, rows, columns, worth, free_at, demand, SETTINGS)
    theirs = compile_problem(problem)
    for name in ("grid", "free", "jobs", "reward", "weight", "demand", "price", "held", "density", "kept"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    assert np.array_equal(ours.options[:, :4], theirs.options[:, :4])
    assert np.array_equal(ours.services[:, :3], theirs.services[:, :3])
    for option in range(len(ours.options)):
        mine = ours.starts[ours.options[option, 4] : ours.options[option, 5]]
        other = theirs.starts[theirs.options[option, 4] : theirs.options[option, 5]]
        assert sorted(mine.tolist()) == sorted(other.tolist())
    for row in range(len(ours.services)):
        assert ours.starts[ours.services[row, 3] : ours.services[row, 4]].tolist() == list(range(12))[::-1]


@pytest.mark.parametrize("seed", range(60))
def test_the_first_moment_of_a_legal_plan_passes_the_referee(seed: int) -> None:
    load_planners()
    state, book = at_work(seed)
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
        _, low, high = horizon._blocks[size]
        ordered = instance.starts[low:high]
        assert sorted(ordered.tolist()) == horizon.blocks_of(size).tolist()
        keys = [(rank[state.cluster.node_of(first)], first) for first in ordered.tolist()]
        assert keys == sorted(keys)
