"""The allocator at work: services along their forecast, no job left behind, exact turns, and what the options do."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from loadfactor.control.planners import ExactTurns, HorizonSettings, WorthSettings
from loadfactor.control.planners.allocator import Allocator
from loadfactor.model import Plan, Problem
from loadfactor.policies import Effort
from loadfactor.policies.fast import Fast
from loadfactor.policies.protocol import DEFAULT_EFFORT
from loadfactor.replay.contestants import CONTESTANTS, Knowledge, Setting, make_planner
from tests.planners.worlds import HOUR, lived, waits_hours, world

PERFECT = Knowledge("perfect", "perfect")
SMALL = HorizonSettings(steps=48, depth=40)


@pytest.mark.parametrize("name", sorted(set(CONTESTANTS) - {"fast+full"}))
def test_every_contestant_finishes_every_job(name: str) -> None:
    described = world()
    replayed = lived(described, make_planner(name, Setting(described, horizon=SMALL)))
    assert {job.outcome for job in replayed.state.jobs} == {"finished"}
    assert replayed.engine.alarms == []
    assert replayed.loop.illegal == replayed.loop.late == 0


def test_a_known_curve_is_met_where_a_reactive_rule_falls_short() -> None:
    described = world()
    known = lived(described, make_planner("fast", Setting(described, PERFECT, horizon=SMALL)))
    reactive = lived(described, make_planner("priority+reactive", Setting(described, PERFECT)))
    known_unmet = known.engine.meters["chat"].unmet / HOUR
    assert known_unmet <= 0.5  # what loading the first models takes
    assert reactive.engine.meters["chat"].unmet / HOUR > 2


def test_a_plan_knows_only_what_it_may() -> None:
    """Another future changes nothing that was decided before it began."""
    described = world()
    later = described.arrivals[40].at
    other = [
        arrival if arrival.at < later else replace(arrival, run_seconds=arrival.run_seconds * 3)
        for arrival in described.arrivals
    ]
    decided = [
        [
            (job.request.id, job.first_given_at)
            for job in lived(each, make_planner("fast", Setting(each, horizon=SMALL))).state.jobs
            if job.first_given_at < later
        ]
        for each in (described, replace(described, arrivals=other))
    ]
    assert len(decided[0]) > 20
    assert decided[0] == decided[1]


def test_exact_turns_come_as_often_as_they_should() -> None:
    described = world(jobs=12)
    exact = ExactTurns(minutes=120, policy=Fast())
    planner = make_planner("fast", Setting(described, PERFECT, horizon=SMALL))
    assert isinstance(planner, Allocator)
    planner.exact = exact
    replayed = lived(described, planner)
    hours = (replayed.engine.now - described.begin) / HOUR
    assert {job.outcome for job in replayed.state.jobs} == {"finished"}
    assert hours / 2 - 2 <= exact.turns <= hours / 2 + 1


@dataclass
class _Overlapping:
    """A policy that puts all jobs on the same GPUs."""

    name: str = "overlapping"

    def plan(self, problem: Problem, effort: Effort = DEFAULT_EFFORT) -> Plan:
        plan = Fast().plan(problem, effort)
        blocks = [placement.model_copy(update={"start": 0, "end": 1, "gpus": (0,)}) for placement in plan.jobs]
        return plan.model_copy(update={"jobs": tuple(blocks)})


def test_an_illegal_plan_of_an_exact_turn_never_acts() -> None:
    described = world(jobs=12)
    planner = make_planner("fast", Setting(described, PERFECT, horizon=SMALL))
    assert isinstance(planner, Allocator)
    planner.exact = ExactTurns(minutes=240, policy=_Overlapping())
    replayed = lived(described, planner)
    assert {job.outcome for job in replayed.state.jobs} == {"finished"}
    assert replayed.loop.illegal == len(replayed.engine.alarms) >= 2
    assert "IllegalPlanError" in replayed.engine.alarms[0].text


def _waits(worth: WorthSettings) -> list[dict[str, float]]:
    """Return the waits in three busy worlds."""
    worlds = [world(seed, jobs=90, nodes=3) for seed in range(3)]
    settings = [Setting(each, PERFECT, horizon=SMALL, worth=worth) for each in worlds]
    return [waits_hours(lived(each.world, make_planner("fast", each))) for each in settings]


def _longest(worth: WorthSettings) -> float:
    return sum(max(waits.values()) for waits in _waits(worth))


def test_ageing_shortens_the_longest_waits() -> None:
    assert _longest(WorthSettings(ageing_per_hour=1.0)) < 0.8 * _longest(WorthSettings())


def test_the_starvation_bound_shortens_the_longest_waits() -> None:
    assert _longest(WorthSettings(starvation_hours=4.0)) < 0.8 * _longest(WorthSettings())


def test_an_account_with_a_larger_share_waits_less() -> None:
    equal, larger = (_waits(WorthSettings(shares={"account-0": share})) for share in (1.0, 8.0))
    waited = [
        np.mean([waits[f"job-{number}"] for waits in each for number in range(0, 90, 3)]) for each in (equal, larger)
    ]
    assert waited[1] < 0.7 * waited[0]
