"""The bounds of a replay: never below the slow truth, never below a contestant, and tight where nothing binds."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadfactor.control.records import NEVER
from loadfactor.engines import Use, World
from loadfactor.errors import InputError
from loadfactor.replay.bound import (
    Bound,
    BoundSettings,
    bound_batch_value,
    bound_objective,
    bound_utilization,
)
from loadfactor.replay.contestants import CONTESTANTS, Setting, make_planner
from loadfactor.replay.purchases import LENGTHS, buy
from loadfactor.replay.run import Replayed, replay
from tests.replay.worlds import best_objectives, small_world, small_worlds

STEEP = BoundSettings(penalty=3.0, decay_per_hour=0.7, rounds=2, iterations=40)
"""A decay that matters within hours."""
EPSILON = 1e-9
Floats = npt.NDArray[np.float64]


@settings(max_examples=25, deadline=None)
@given(small_worlds())
def test_no_schedule_of_a_small_world_exceeds_the_bounds(world: World) -> None:
    best, best_met = best_objectives(world, STEEP.penalty, STEEP.decay_per_hour)
    assert best <= bound_objective(world, STEEP).value
    assert best_met <= bound_batch_value(world, STEEP).value


@pytest.mark.parametrize("iterations", [0, 1, 7])
def test_it_is_a_bound_however_little_time_it_gets(iterations: int) -> None:
    world = small_world(2, [(0, 2, 5, 4.0), (1, 1, 3, 2.0), (2, 1, 9, 1.0)], {"chat": (2.0, [2, 0, 1])}, 1)
    effort = dataclasses.replace(STEEP, rounds=1, iterations=iterations)
    best, _ = best_objectives(world, STEEP.penalty, STEEP.decay_per_hour)
    assert best <= bound_objective(world, effort).value


def test_it_is_tight_where_capacity_never_binds() -> None:
    world = small_world(4, [(0, 1, 5, 4.0), (3, 2, 7, 2.0), (9, 1, 2, 1.0)], {"chat": (2.0, [0, 1])})
    worth = (5 * 4.0 + 2 * 7 * 2.0 + 2 * 1.0) / 4
    assert bound_objective(world).value == pytest.approx(worth, rel=1e-6)
    assert bound_batch_value(world).value == pytest.approx(worth, rel=1e-6)


def test_it_is_tight_where_a_queue_of_equal_jobs_drains() -> None:
    world = small_world(4, [(0, 1, 4, 1.0)] * 40)
    best = sum(4 * 0.7**hour for hour in range(10))
    bound = bound_objective(world, dataclasses.replace(STEEP, rounds=1, iterations=400)).value
    assert best <= bound <= 1.1 * best


def test_demand_that_does_not_fit_costs_its_penalty() -> None:
    world = small_world(2, [(0, 2, 16, 1.0)], {"chat": (5.0, [2, 3, 2, 2])})
    # with the whole cluster for services, and a GPU-hour missed every four hours, the job's eight GPU-hours pay little
    best, _ = best_objectives(world, STEEP.penalty, STEEP.decay_per_hour)
    bound = bound_objective(world, dataclasses.replace(STEEP, iterations=200)).value
    assert best <= bound < 0.1 * 8


def test_demand_that_never_fits_costs_no_more_than_its_penalty() -> None:
    world = small_world(2, [(0, 1, 16, 0.01)], {"chat": (5.0, [3])})
    best, _ = best_objectives(world, STEEP.penalty, STEEP.decay_per_hour)
    bound = bound_objective(world, dataclasses.replace(STEEP, iterations=300)).value
    # one GPU-hour in each of four hours; that the job takes another from the service is relaxed: it may wait
    assert bound == pytest.approx(-3.0 * 5.0 * 4, rel=1e-3)
    assert best <= bound


def test_a_padded_block_pays_for_all_its_gpus() -> None:
    exact = small_world(4, [(0, 4, 8, 1.0), (0, 4, 8, 1.0)])
    padded = small_world(4, [(0, 3, 8, 1.0), (0, 3, 8, 1.0)])
    assert bound_objective(padded, STEEP).value == pytest.approx(0.75 * bound_objective(exact, STEEP).value, rel=1e-3)


def test_a_price_step_must_be_a_multiple_of_the_step() -> None:
    with pytest.raises(InputError, match="price_seconds: 5000 is no multiple of the world's step of 3600 seconds"):
        bound_objective(small_world(1, [(0, 1, 1, 1.0)]), BoundSettings(price_seconds=5_000))


def test_a_world_without_jobs_or_services_is_worth_nothing() -> None:
    assert bound_objective(small_world(1, [])).value == 0.0
    assert bound_batch_value(small_world(1, [])).value == 0.0


def test_the_same_world_has_the_same_bound() -> None:
    world = small_world(2, [(0, 2, 5, 4.0), (1, 1, 3, 2.0)] * 4, {"chat": (2.0, [2, 0, 1])}, 1)
    first, second = bound_objective(world, STEEP), bound_objective(world, STEEP)
    assert isinstance(first, Bound)
    assert first.value == second.value
    assert (first.price == second.price).all()


def _bought(price: Floats, begin: float, length: float, rate: float, last: float) -> tuple[float, float]:
    """Return profit and start of one job of two GPUs that is worth 9."""
    submitted, held, block, worth = (np.array([each]) for each in (begin, length, 2.0, 9.0))
    starts = np.array([-1.0])
    profit, _ = buy(price, rate, last, LENGTHS, submitted, held, block, worth, starts, np.zeros(len(price) + 1))
    return profit, float(starts[0])


def test_an_end_on_the_grid_may_be_better_than_a_start_on_it() -> None:
    price = np.array([9.0, 1.0, 0.0, 5.0, 5.0, 5.0, 5.0])
    assert _bought(price, 0.0, 1.5, 0.0, 4.0) == pytest.approx((9 - 2 * 0.5, 1.5))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.002, 0.01, 0.1]), st.booleans())
def test_no_start_profits_more_than_the_one_that_is_found(seed: int, rate: float, ends: bool) -> None:
    random = np.random.default_rng(seed)
    level = random.choice([0.0, 0.05, 0.2, 1.0, 5.0])
    price = np.repeat(random.choice([level, 2 * level, 4 * level], 60), random.integers(1, 8, 60)) + level / 2
    begin, length = random.uniform(0, 150), np.exp(random.uniform(-2, 5))
    last = begin + random.uniform(0, 200) if ends else np.inf
    paid = np.concatenate(([0.0], np.cumsum(price)))
    profit, start = _bought(price, begin, length, rate, last)

    def gain(start: Floats) -> Floats:
        grid = np.arange(len(paid))
        cost = np.interp(start + length, grid, paid) - np.interp(start, grid, paid)
        return np.asarray(9.0 * np.exp(-rate * (start - begin)) - 2.0 * cost)

    tried = gain(np.linspace(begin, min(last, begin + 500), 5_000))
    assert max(0.0, tried.max()) <= profit + EPSILON
    assert profit == pytest.approx(max(0.0, float(gain(np.array([start]))[0])), abs=1e-9)
    assert begin <= start <= last


CROWDED = small_world(
    4,
    [(quarter // 2, 1 + quarter % 4, 1 + 5 * quarter % 11, float(1 + quarter % 3)) for quarter in range(40)],
    {"chat": (2.0, [1, 2, 2, 1, 0, 0]), "code": (1.0, [0, 0, 1, 1])},
    end_quarters=240,
)


def _objective(replayed: Replayed, world: World) -> tuple[float, float, float]:
    run = {each.job.id: each.run_seconds for each in world.arrivals}
    value = sum(
        job.priority * job.request.gpus * run[job.request.id] / 3600
        * STEEP.decay_per_hour ** ((job.first_given_at - job.submitted_at) / 3600)
        for job in replayed.state.jobs
        if job.first_given_at != NEVER
    )  # fmt: skip
    cost = served = 0.0
    for service in world.services:
        meter = replayed.engine.meters[service.id]
        meter.turn(replayed.engine.now)
        cost += STEEP.penalty * service.priority * meter.unmet / 3600
        served += meter.met
    return value - cost, value, served


@pytest.mark.parametrize("name", sorted(CONTESTANTS))
def test_every_contestant_stays_below(name: str) -> None:
    replayed = replay(CROWDED, make_planner(name, Setting(CROWDED)))
    objective, value, served = _objective(replayed, CROWDED)
    bound = bound_objective(CROWDED, STEEP).value
    assert objective <= bound
    assert value <= bound_objective(dataclasses.replace(CROWDED, services=(), demand={}), STEEP).value
    now = replayed.engine.now
    working = replayed.engine.ledger.seconds(now)[Use.JOB_WORKING]
    assert (working + served) / (4 * now) <= bound_utilization(CROWDED, now).useful


def test_utilization_is_bounded_by_what_has_come_and_by_what_is_there() -> None:
    world = small_world(4, [(0, 2, 4, 1.0), (8, 4, 40, 1.0)], {"chat": (1.0, [1])})
    bound = bound_utilization(world, 16 * 900)
    # two GPUs for an hour, then nothing for one hour, then all that the service leaves
    assert bound.jobs == pytest.approx((2 * 4 + 3 * 8) / 64)
    assert bound.useful == pytest.approx((3 * 4 + 1 * 4 + 4 * 8) / 64)


def test_utilization_of_an_empty_world() -> None:
    assert bound_utilization(small_world(4, []), 3600).useful == 0.0
    with pytest.raises(InputError, match="until: 0 is not after the beginning of the world, 0"):
        bound_utilization(small_world(4, []), 0)
