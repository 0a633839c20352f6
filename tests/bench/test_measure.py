"""What is measured: the judge's values, gaps to the best bound, and every cheat caught."""

from __future__ import annotations

import time

import pytest

from loadfactor.bench.measure import Contestant, run_case
from loadfactor.bench.results import Row
from loadfactor.bench.timing import Timing, timed
from loadfactor.judge import judge
from loadfactor.policies import Effort, policy
from tests.bench.contestants import Boasting, Overlapping, case_of, tiny

FIFO = Contestant(policy("fifo"), repeats=3)


def rows_by_policy(*contestants: Contestant) -> dict[str, Row]:
    return {row.policy: row for row in run_case(case_of(*contestants), lambda _: None)}


def test_the_figures_are_the_judges() -> None:
    rows = rows_by_policy(FIFO, Contestant(policy("fast"), effort=Effort(iterations=500)))
    for name, row in rows.items():
        effort = Effort(iterations=500)
        assert row.metrics == judge(tiny(), policy(name).plan(tiny(), effort)).metrics
        assert row.fault is None
    assert rows["fifo"].gain == 0.0
    before, after = rows["fifo"].metrics.value, rows["fast"].metrics.value
    assert rows["fast"].gain == pytest.approx(after / before - 1)
    assert after > before


def test_gaps_are_measured_against_the_best_bound_of_all() -> None:
    loose, tight = Boasting(3.0, "loose"), Boasting(2.0, "tight")
    rows = rows_by_policy(FIFO, Contestant(loose), Contestant(tight))
    value = rows["fifo"].metrics.value
    assert rows["loose"].own_bound == pytest.approx(3 * value)
    assert [row.bound for row in rows.values()] == pytest.approx([2 * value] * 3)
    assert [row.gap for row in rows.values()] == pytest.approx([0.5] * 3)
    assert all(row.worst_gap == row.gap for row in rows.values())


def test_without_a_bound_no_gap_is_claimed() -> None:
    (row,) = run_case(case_of(FIFO), lambda _: None)
    assert (row.bound, row.gap, row.worst_gap) == (None, None, None)


def test_an_illegal_plan_is_a_fault_and_nobody_elses() -> None:
    rows = rows_by_policy(FIFO, Contestant(Overlapping()))
    assert rows["overlapping"].fault is not None
    assert rows["overlapping"].fault.startswith("ILLEGAL R1: ")
    assert rows["fifo"].fault is None


def test_a_bound_below_a_legal_value_of_another_is_a_fault() -> None:
    rows = rows_by_policy(FIFO, Contestant(Boasting(1.1)), Contestant(policy("fast"), effort=Effort(iterations=500)))
    assert rows["boasting"].fault is not None
    assert rows["boasting"].fault.startswith("WRONG BOUND ")
    assert rows["fast"].fault is None


def test_an_illegal_value_does_not_refute_a_bound() -> None:
    rows = rows_by_policy(Contestant(Boasting(1.0)), Contestant(Overlapping()))
    assert rows["overlapping"].metrics.value > rows["boasting"].metrics.value
    assert rows["boasting"].fault is None


def test_every_repeat_has_its_seed_and_warm_ups_do_not_count() -> None:
    seeds: list[int] = []
    timing, results = timed(lambda seed: seeds.append(seed) or seed, repeats=4, warm_ups=2)  # type: ignore[func-returns-value]
    assert seeds == [0, 1, 0, 1, 2, 3]
    assert (results, timing.repeats) == ([0, 1, 2, 3], 4)


def test_no_decision_begins_after_its_time() -> None:
    timing, results = timed(lambda _: time.sleep(0.02), repeats=50, warm_ups=0, within_seconds=0.03)
    assert timing.repeats == len(results) == 2


def test_a_timing_has_median_and_percentiles_in_milliseconds() -> None:
    assert Timing.of([0.001 * i for i in range(101)]) == Timing(50.0, 5.0, 95.0, 101)
