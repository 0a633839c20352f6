"""Every rule of the audit on a record small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from loadfactor.audit.activity import Activity, held_activity
from loadfactor.audit.findings.blocks import find_blocks
from loadfactor.audit.findings.energy import Intensity, find_energy
from loadfactor.audit.findings.failures import find_failures, find_requeues
from loadfactor.audit.findings.fragmentation import find_fragmentation
from loadfactor.audit.findings.idle_jobs import find_idle_jobs
from loadfactor.audit.findings.limits import find_limits
from loadfactor.audit.findings.reservation import find_reservation
from loadfactor.audit.findings.spread import find_spread
from loadfactor.audit.findings.waits import find_waits
from loadfactor.audit.findings.wastes import find_wastes
from loadfactor.audit.fleet import stated_fleet
from loadfactor.audit.power import Power
from loadfactor.audit.services import Demand, ServiceRule
from loadfactor.sources.facts import JobInterval, JobState, NodeFact
from tests.audit.facts import HOUR, at, fleet, held, record

SERVICES = ServiceRule(partitions=("inference",))


def service(name: str, gpus: int, begin: float, end: float | None) -> JobInterval:
    """Return an interval of a service."""
    return held(name, gpus, begin, end, partition="inference")


def demand(*gpus: float) -> Demand:
    """Return a demand of so many GPUs in each hour."""
    begin = at(0) + HOUR * np.arange(len(gpus), dtype=np.float64)
    return Demand(begin, begin + HOUR, np.array(gpus, dtype=np.float64))


def test_a_fixed_reservation_above_the_threshold_is_flagged_with_what_was_needed() -> None:
    queue = held("b", 4, None, None, submitted=2, state=JobState.PENDING)
    found = find_reservation(
        record([service("chat", 4, 0, None), queue], 4, fleet(8), rule=SERVICES, demand=demand(4, 3, 2, 1))
    )
    assert (found.value, found.verdict) == (50.0, "flagged")
    assert found.figures["used_share"] == pytest.approx(10 / 16)
    assert found.figures["used_share_at_peak_queue"] == pytest.approx(3 / 8)
    assert found.recoverable_gpu_hours == pytest.approx(2 + 3)
    assert "they needed 62 % of it, and 38 % while the queue was longest" in found.sentence


def test_a_reservation_that_moves_is_not_fixed() -> None:
    found = find_reservation(record([service("a", 6, 0, 2), service("b", 2, 2, 4)], 4, fleet(8), rule=SERVICES))
    assert (found.value, found.verdict, found.figures["fixed"]) == (50.0, "fine", False)
    assert found.recoverable_gpu_hours is None


def test_without_services_the_reservation_is_unknown() -> None:
    assert find_reservation(record([held("a", 1, 0, 1)], 4, fleet(8))).verdict == "unknown"


def test_memory_in_pieces_smaller_than_the_smallest_batch_job_is_flagged() -> None:
    jobs = [held("a", 3, 0, 4, nodes=["n0"]), held("b", 2, 0, 4, nodes=["n1"])]
    found = find_fragmentation(record([*jobs, service("s", 1, 9, 10)], 4, fleet(4, 4), rule=SERVICES))
    assert found.value == pytest.approx(100 * 1 / 8)
    assert found.figures["share_percent_by_block_size"] == pytest.approx({1: 0.0, 2: 12.5, 3: 37.5})
    assert found.verdict == "fine"
    grown = find_fragmentation(record([*jobs[:1], held("b", 3, 0, 4, nodes=["n1"])], 4, fleet(4, 4)))
    assert (grown.value, grown.verdict) == (25.0, "flagged")


def test_memory_counts_not_gpus() -> None:
    nodes = stated_fleet(
        [NodeFact(name="n0", gpus=4, gpu_memory_gib=80), NodeFact(name="n1", gpus=4, gpu_memory_gib=16)]
    )
    found = find_fragmentation(record([held("a", 2, 0, 4, nodes=["n1"]), held("b", 4, 0, 4, nodes=["n0"])], 4, nodes))
    assert found.figures["share_percent_by_block_size"][4] == pytest.approx(100 * 2 * 16 / (4 * 80 + 4 * 16))


def test_the_wastes_add_up_to_what_is_installed() -> None:
    jobs = [service("chat", 2, 0, None), held("a", 2, 0, 4), held("b", 2, 3, 4, submitted=1)]
    activity = Activity(np.array([2, 3]), np.full(2, at(0)), np.full(2, at(4)), np.array([0.0, 0.5]))
    made = record(jobs, 4, fleet(8), rule=SERVICES, demand=demand(1, 1, 2, 2), activity=activity)
    found = find_wastes(made)
    lost = found.figures["lost_gpu_hours"]
    assert lost["order"] == 2 * 2
    assert lost["no_work"] == pytest.approx(32 - 8 - 8 - 2 - 4)
    assert lost["spare"] == pytest.approx(2)
    assert (lost["held_idle"], lost["inefficient"]) == (pytest.approx(4), pytest.approx(2))
    assert lost["unavailable"] == lost["limit"] == lost["shape"] == 0
    parts = held_activity(made.timeline, activity)
    assert parts.useful + parts.idle + parts.inefficient + parts.unknown == pytest.approx(18)
    assert found.value == pytest.approx(100 * sum(lost.values()) / 32)


def test_a_replica_that_waits_for_requests_is_counted_once() -> None:
    activity = Activity(np.array([0, 1]), np.full(2, at(0)), np.full(2, at(4)), np.array([0.5, 0.0]))
    known = record(
        [service("chat", 2, 0, None)], 4, fleet(2), rule=SERVICES, demand=demand(1, 1, 1, 1), activity=activity
    )
    assert find_wastes(known).value == pytest.approx(50.0)
    unknown = record([service("chat", 2, 0, None)], 4, fleet(2), rule=SERVICES, activity=activity)
    assert find_wastes(unknown).value == pytest.approx(75.0)


def test_limits_count_completed_jobs_alone() -> None:
    jobs = [
        held("a", 1, 0, 1, limit_seconds=2 * HOUR, user="ann"),
        held("b", 1, 0, 1, limit_seconds=4 * HOUR, user="bob"),
        held("c", 1, 0, 1, limit_seconds=8 * HOUR, user="bob"),
        held("d", 1, 0, 1, limit_seconds=float("inf")),
        held("e", 1, 0, 1, limit_seconds=90 * HOUR, state=JobState.FAILED),
    ]
    found = find_limits(record(jobs, 4, fleet(8)))
    assert (found.value, found.verdict) == (4.0, "flagged")
    assert found.evidence.rows == (("bob", 2, 6.0), ("ann", 1, 2.0))
    assert "1 more had no limit" in found.sentence


def test_sizes_that_fill_no_block_cost_their_padding() -> None:
    found = find_blocks(record([held("a", 3, 0, 2), held("b", 12, 0, 1), held("c", 8, 1, 2)], 4, fleet(8, 8, 8)))
    padding = 1 * 2 + 4 * 1
    assert found.value == pytest.approx(100 * padding / (6 + 12 + 8))
    assert found.evidence.rows == ((12, 1, 12.0, 4.0), (3, 1, 6.0, 2.0))


def test_a_gang_on_more_nodes_than_needed_is_spread() -> None:
    jobs = [held("a", 4, 0, 1, nodes=["n0", "n1"]), held("b", 8, 1, 2, nodes=["n0"]), held("c", 1, 0, 4, nodes=["n1"])]
    found = find_spread(record(jobs, 4, fleet(8, 8)))
    assert found.value == pytest.approx(100 * 4 / 12)
    assert found.evidence.rows[0][:5] == ("a", "not stated", 4, 2, 1)


def test_gpu_hours_that_ended_in_nothing() -> None:
    jobs = [
        held("a", 1, 0, 3),
        held("b", 1, 0, 1, state=JobState.FAILED),
        held("c", 1, 0, 1, state=JobState.TIMEOUT),
        held("d", 1, 0, 1, state=JobState.CANCELLED),
    ]
    found = find_failures(record(jobs, 4, fleet(8)))
    assert found.value == pytest.approx(100 * 2 / 6)
    assert found.verdict == "flagged"
    assert [row[:2] for row in found.evidence.rows] == [
        ("COMPLETED", 1), ("FAILED", 1), ("TIMEOUT", 1), ("CANCELLED", 1),
    ]  # fmt: skip


def test_a_job_that_starts_again_and_again_is_a_storm() -> None:
    jobs = [held("a", 2, hour, hour + 0.5, state=JobState.REQUEUED) for hour in range(4)]
    found = find_requeues(record([*jobs, held("b", 1, 0, 1)], 4, fleet(8)))
    assert (found.value, found.evidence.rows) == (1.0, (("a", "not stated", 4, 4.0),))
    assert find_requeues(record(jobs[:3], 4, fleet(8))).verdict == "fine"


def test_waits_are_told_by_size_and_count_who_still_waits() -> None:
    jobs = [held("a", 1, 2, 3, submitted=0), held("b", 8, None, None, submitted=-30, state=JobState.PENDING)]
    found = find_waits(record(jobs, 4, fleet(8)))
    assert (found.value, found.verdict) == (34.0, "flagged")
    assert found.figures["p95_hours_by_size"] == {"1": 2.0, "5-8": 34.0}


def test_every_waiting_task_of_an_array_waits() -> None:
    jobs = [held("a", 1, 0, 3), held("b", 1, None, None, submitted=0, state=JobState.PENDING, count=9)]
    (row,) = find_waits(record(jobs, 4, fleet(8))).evidence.rows
    assert row == ("1", 10, 4.0, 4.0, 4.0)


def test_gpus_that_a_job_never_used() -> None:
    activity = Activity(np.array([0, 1, 1]), at(0) + HOUR * np.array([0, 0, 1]), at(0) + HOUR * np.array([4, 1, 4]),
                        np.array([0.0, 0.0, 0.9]))  # fmt: skip
    found = find_idle_jobs(record([held("a", 2, 0, 4, user="ann")], 4, fleet(8), activity=activity))
    assert found.evidence.rows == (("a", "ann", 2, 1, 4.0),)
    assert found.value == pytest.approx(100 * 4 / 8)
    assert find_idle_jobs(record([held("a", 2, 0, 4)], 4, fleet(8))).verdict == "unknown"


def test_energy_of_free_idle_and_working_gpus() -> None:
    power = Power(np.array([0, 1, 2]), np.full(3, at(0)), np.full(3, at(2)), np.array([100.0, 50.0, 700.0]),
                  np.array([0.0, np.nan, 0.8]))  # fmt: skip
    jobs = [held("a", 1, 0, 2), held("b", 1, 0, 2, nodes=["n1"])]
    found = find_energy(record(jobs, 2, fleet(2, 1), power=power), Intensity(400.0, requests=1000.0))
    assert found.figures["kilowatt_hours_wasted"] == pytest.approx(0.2 + 0.1)
    assert found.value == pytest.approx(100 * 0.3 / 1.7)
    assert found.figures["kilowatt_hours_per_gpu_hour_of_work"] == pytest.approx(0.7)
    assert found.figures["kilograms_of_carbon_dioxide"] == pytest.approx(1.7 * 0.4)
    assert found.figures["joules_per_request"] is None, "no job counts as a service"


def test_what_requests_cost_is_what_services_drew_also_while_they_waited() -> None:
    power = Power(np.array([0, 1, 2]), np.full(3, at(0)), np.full(3, at(2)), np.array([100.0, 50.0, 700.0]),
                  np.array([0.0, np.nan, 0.8]))  # fmt: skip
    jobs = [held("chat", 2, 0, 2, nodes=["n0"], partition="inference"), held("b", 1, 0, 2, nodes=["n1"])]
    made = record(jobs, 2, fleet(2, 1), power=power, rule=SERVICES)
    found = find_energy(made, Intensity(requests=1000.0, tokens=50_000.0))
    assert found.figures["joules_per_request"] == pytest.approx(0.3 * 3.6e6 / 1000)
    assert found.figures["joules_per_token"] == pytest.approx(0.3 * 3.6e6 / 50_000)
    assert "services drew 1.08e+03 J for a request; services drew 21.6 J for a token." in found.sentence
    assert "drew 0.3 J" not in find_energy(made).sentence
