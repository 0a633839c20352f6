"""The what-if of interruptions: by hand on tiny worlds, and its invariants on drawn ones."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from loadfactor.control import JobRequest
from loadfactor.engines import Arrival, World
from loadfactor.errors import InputError
from loadfactor.replay.bound import BoundSettings, bound_batch_value
from loadfactor.replay.interruption import Consent, what_if
from loadfactor.replay.trough import Trough
from tests.replay.worlds import small_world, small_worlds

TROUGH = {"chat": (1.0, [2, 0, 0, 0])}
"""Two GPUs of two are needed in every fourth hour."""


START_ALL = Trough._start_all


def _watched(trough: Trough) -> None:
    START_ALL(trough)
    assert trough._free >= 0, "the services do not get what they need"
    assert 0 <= trough._blocked <= trough._free


def _total_demand(world: World) -> npt.NDArray[np.int64]:
    steps = math.prod(len(curve) for curve in world.demand.values())
    return sum((np.resize(curve, steps) for curve in world.demand.values()), np.zeros(1, dtype=np.int64))


def _with_limit(world: World, limit_seconds: int) -> World:
    def limited(arrival: Arrival) -> Arrival:
        job = JobRequest(arrival.job.id, arrival.job.gpus, limit_seconds=limit_seconds)
        return dataclasses.replace(arrival, job=job)

    return dataclasses.replace(world, arrivals=[limited(each) for each in world.arrivals])


def test_a_run_longer_than_the_trough_never_starts_without_consent() -> None:
    world = small_world(2, [(4, 1, 16, 1.0), (16, 1, 2, 1.0)], TROUGH)
    outcome = what_if(world, Consent(share=0.0))
    assert (outcome.unfinished, outcome.interruptions) == (1, 0)
    assert outcome.blocked_hours == pytest.approx(3.0)  # one GPU, in the three hours before the last arrival
    assert outcome.trough_hours == outcome.idle_hours == pytest.approx(6.0)


def test_it_runs_in_pieces_with_consent() -> None:
    world = small_world(2, [(4, 1, 16, 1.0), (16, 1, 2, 1.0)], TROUGH)
    outcome = what_if(world, Consent(share=1.0, restart_seconds=900, decay_per_hour=0.5))
    # three hours of work at once; at hour 4 it is interrupted; the restart takes until 5.25, the last hour until 6.25
    late = 0.5 ** (5.25 - 1 - 3)
    assert outcome.value == pytest.approx(3 + late + 0.5 * 0.5)
    assert (outcome.unfinished, outcome.interruptions) == (0, 1)
    assert outcome.lost_hours == pytest.approx(0.25)
    assert outcome.blocked_hours == 0.0


def test_nobody_is_started_who_would_only_pay_for_the_restart() -> None:
    world = small_world(2, [(4, 1, 16, 1.0)], TROUGH)
    assert what_if(world, Consent(share=1.0, restart_seconds=3 * 3600)).unfinished == 1
    assert what_if(world, Consent(share=1.0, restart_seconds=3 * 3600 - 1)).interruptions > 0


def test_a_limit_that_does_not_fit_blocks_a_run_that_would() -> None:
    world = small_world(2, [(4, 1, 4, 1.0)], TROUGH)
    stated = _with_limit(world, 4 * 3600)
    assert what_if(stated, Consent()).unfinished == 0
    assert what_if(stated, Consent(stated_limits=True)).unfinished == 1
    assert what_if(stated, Consent(share=1.0, stated_limits=True)).unfinished == 0
    with pytest.raises(InputError, match=r"arrivals\[job-0\].limit_seconds: the limit None is not known"):
        what_if(world, Consent(stated_limits=True))


def test_a_world_without_jobs_is_refused() -> None:
    with pytest.raises(InputError, match="the world has no job"):
        what_if(small_world(2, []), Consent())


@settings(max_examples=60, deadline=None)
@given(small_worlds(), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0, 60, 900]), st.integers(0, 3))
def test_services_get_what_they_need_and_work_is_done_once(
    world: World, share: float, restart_seconds: int, seed: int
) -> None:
    assume(any(each.job.gpus <= world.cluster.gpu_count - _total_demand(world).min() for each in world.arrivals))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trough, "_start_all", _watched)
        outcome = what_if(world, Consent(share, restart_seconds, seed, decay_per_hour=1.0))
    room = world.cluster.gpu_count - int(_total_demand(world).min())
    fitting = [each for each in world.arrivals if each.job.gpus <= room]
    work = sum(each.job.priority * each.job.gpus * each.run_seconds / 3600 for each in fitting)
    assert outcome.value <= work * (1 + 1e-9)
    if not outcome.unfinished:
        assert outcome.value == pytest.approx(work)
    if share == 0:
        assert outcome.interruptions == outcome.lost_hours == 0


@settings(max_examples=30, deadline=None)
@given(small_worlds())
def test_without_interruptions_the_value_stays_below_the_bound(world: World) -> None:
    assume(any(each.job.gpus <= world.cluster.gpu_count - _total_demand(world).min() for each in world.arrivals))
    settled = dataclasses.replace(world, end=None)
    bound = bound_batch_value(settled, BoundSettings(decay_per_hour=0.7, rounds=2, iterations=30))
    sizes = {1, 2, 4, world.cluster.gpu_count}
    if all(each.job.gpus in sizes for each in world.arrivals):
        assert what_if(settled, Consent(decay_per_hour=0.7)).value <= bound.value
