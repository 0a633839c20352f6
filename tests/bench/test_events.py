"""Events on a standing plan: drawn as they should be, answered legally, and never above the bound."""

from __future__ import annotations

import pytest

from loadfactor.bench.cases import cluster_case
from loadfactor.bench.dice import Dice
from loadfactor.bench.events import EVENTS, answer_events, event_row
from loadfactor.bench.measure import Case, Contestant, run_case
from loadfactor.model import Problem
from loadfactor.policies import Effort, policy

REPEATS = 3


@pytest.fixture(scope="module")
def small() -> Problem:
    """A small relative of the cluster case."""
    return cluster_case(0, nodes=4, jobs=30, services=2)


@pytest.mark.parametrize("kind", EVENTS)
def test_events_are_answered_legally_and_below_the_bound(small: Problem, kind: str) -> None:
    plan = policy("fast").plan(small, Effort(iterations=200))
    answers = answer_events(small, plan, kind, REPEATS)
    row = event_row("small", kind, answers)
    assert row.fault is None
    assert row.bound is not None
    assert row.metrics.value <= row.bound
    assert row.timing.repeats == len(answers.verdicts) == REPEATS
    assert answers.problem != small


@pytest.mark.parametrize("kind", EVENTS)
def test_the_same_dice_draw_the_same_event(small: Problem, kind: str) -> None:
    assert EVENTS[kind](small, Dice(3)) == EVENTS[kind](small, Dice(3))


def test_a_case_with_events_has_a_row_for_each_kind(small: Problem) -> None:
    contestants = (Contestant(policy("fast"), "first", Effort(iterations=50)),)
    rows = run_case(Case("small", lambda: small, contestants, price_iterations=100, events=1), lambda _: None)
    assert [row.effort for row in rows] == ["first", *EVENTS]
    assert rows[0].gap is not None
    assert 0 < rows[0].gap < 1
