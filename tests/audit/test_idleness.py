"""Why GPUs stood free: each cause worked out by hand, and the whole always adding up."""

from __future__ import annotations

import pytest
from hypothesis import given

from loadfactor.audit.idleness import CAUSES
from loadfactor.sources.facts import JobInterval, JobState, Outage
from tests.audit.facts import HOUR, at, fleet, held, record
from tests.audit.test_timeline import many_intervals


def causes(jobs: list[JobInterval], hours: float, *nodes: int, outages: tuple[Outage, ...] = ()) -> dict[str, float]:
    """Return the GPU-hours of every cause."""
    found = record(jobs, hours, fleet(*nodes), outages=outages).idleness
    return {cause: found.of(cause) / HOUR for cause in CAUSES if found.of(cause)}


def test_without_a_queue_there_was_no_work() -> None:
    assert causes([held("a", 3, 0, 2)], 4, 4) == {"no_work": 4 * 4 - 6}


def test_a_job_that_waits_and_would_fit_is_lost_to_order() -> None:
    assert causes([held("a", 2, 0, 4), held("b", 2, 3, 4, submitted=1)], 4, 4) == {"order": 2 * 2, "no_work": 2}


def test_a_job_that_waits_and_fits_nowhere_is_lost_to_shape() -> None:
    jobs = [held("a", 3, 0, 4, nodes=["n0"]), held("b", 3, 0, 4, nodes=["n1"]), held("c", 2, None, None)]
    jobs[2] = held("c", 2, None, None, submitted=1, state=JobState.PENDING)
    assert causes(jobs, 4, 4, 4) == {"shape": 2 * 3, "no_work": 2}


def test_a_larger_job_than_a_node_takes_whole_free_nodes() -> None:
    waiting = held("b", 8, None, None, submitted=0, state=JobState.PENDING)
    assert causes([held("a", 1, 0, 1, nodes=["n2"]), waiting], 2, 4, 4, 4) == {"order": 8 * 2, "no_work": 3 + 4}
    busy = [held("a", 1, 0, 2, nodes=["n2"]), held("c", 1, 0, 2, nodes=["n1"])]
    assert causes([*busy, waiting], 2, 4, 4, 4) == {"shape": 8 * 2, "no_work": 2 * 2}


def test_a_limit_of_an_account_is_told_apart() -> None:
    waiting = held("b", 2, None, None, submitted=0, state=JobState.PENDING, reason="AssocGrpGRES")
    assert causes([waiting], 2, 4) == {"limit": 4, "no_work": 4}


def test_a_job_waits_from_when_it_is_eligible() -> None:
    waiting = held("b", 2, 3, 4, submitted=0, eligible=at(2))
    assert causes([waiting], 4, 4) == {"order": 2, "no_work": 12}


def test_an_array_waits_with_all_its_tasks() -> None:
    waiting = held("b", 1, None, None, submitted=0, state=JobState.PENDING, count=3)
    assert causes([waiting], 2, 4) == {"order": 6, "no_work": 2}


def test_what_is_unavailable_is_no_room() -> None:
    waiting = held("b", 4, None, None, submitted=0, state=JobState.PENDING)
    outage = Outage(node="n0", began=at(1), ended=at(3), indices=(0,))
    assert causes([waiting], 4, 4, outages=(outage,)) == {"order": 8, "shape": 6, "unavailable": 2}


def test_a_node_that_is_down_has_been_so_since_the_scheduler_says_or_since_its_last_job() -> None:
    down = record([held("a", 4, 0, 1)], 4, fleet(4, available=False)).idleness
    assert down.of("unavailable") == 12 * HOUR
    since = record([held("a", 4, 0, 1)], 4, fleet(4, available=False, unavailable_since=at(3))).idleness
    assert since.of("unavailable") == 4 * HOUR


def test_free_memory_in_small_pieces_is_counted_for_every_size() -> None:
    jobs = [held("a", 3, 0, 4, nodes=["n0"]), held("b", 2, 0, 4, nodes=["n1"]), held("c", 8, 9, 10)]
    found = record(jobs, 4, fleet(4, 4)).idleness
    assert found.block_sizes == (2, 3, 8)
    assert (found.too_small / HOUR).tolist() == [1 * 4, 3 * 4, 3 * 4]
    assert found.memory == 8 * 4 * HOUR


@given(many_intervals())
def test_uses_add_up_to_the_fleet_in_every_hour(jobs: list[JobInterval]) -> None:
    found = record(jobs, 8, fleet(4, 4), outages=(Outage(node="n1", began=at(2.5), ended=at(6)),))
    assert sum(found.hours_by_use.values()) == pytest.approx(8.0)
