"""The window in a virtual world: what of the log is replayed, on which cluster, and what the comparison says."""

from __future__ import annotations

import math

import pytest

from loadfactor.audit.comparison import ALIKE, DRAWN, LOGGED, compare
from loadfactor.audit.findings.buying import find_buying
from loadfactor.audit.findings.ordering import find_ordering
from loadfactor.audit.services import ServiceRule
from loadfactor.audit.whatif import ALLOCATOR, BACKFILL, FIFO, POLICIES, gpu_hours_of, workload_of
from loadfactor.sources.facts import JobState
from tests.audit.facts import HOUR, fleet, held, record

_MEDIAN_SHARE = 0.4
"""Of late (6 of 20 hours) and done (2 of 4 hours)."""


def test_jobs_of_the_window_arrive_as_they_were_submitted() -> None:
    jobs = [
        held("running", 2, -3, 2),
        held("late", 1, 3, 9, submitted=1, limit_seconds=20 * HOUR, user="ann"),
        held("over", 4, -5, -1),
        held("waits", 2, None, None, submitted=5, state=JobState.PENDING, count=2, limit_seconds=10 * HOUR),
        held("done", 1, -6, -4, limit_seconds=4 * HOUR),
        held("gone", 2, None, 2, submitted=1, state=JobState.CANCELLED, count=3),
        held("large", 99, 1, 2),
    ]
    workload = workload_of(record(jobs, 6, fleet(4, 4)))
    arrived = [(each.at, each.job.id.partition("#")[0], each.run_seconds) for each in workload.arrivals]
    waits = (5 * HOUR, "waits", 10 * HOUR * _MEDIAN_SHARE)
    assert arrived == [(0, "running", 2 * HOUR), (HOUR, "late", 3 * HOUR), waits, waits]
    assert "2 jobs still waited" in workload.assumed[0]
    assert (workload.arrivals[1].job.limit_seconds, workload.arrivals[1].job.user) == (20 * HOUR, "ann")
    assert workload.left_out == {"cancelled while waiting": 3, "larger than the cluster": 1}
    assert gpu_hours_of(workload) == 2 * 2 + 3 + 2 * 2 * 10 * _MEDIAN_SHARE


def test_services_bring_demand_instead_of_jobs_and_their_reservation() -> None:
    jobs = [held("chat", 3, -9, None, partition="inference"), held("a", 1, 0, 1)]
    workload = workload_of(record(jobs, 2, fleet(4), rule=ServiceRule(partitions=("inference",))))
    assert [each.job.id for each in workload.arrivals] == ["a#0"]
    assert workload.reserved_gpus == 3
    assert set(workload.demand[:12].tolist()) == {3}
    assert "the demand of services is not known" in workload.assumed[0]


def test_a_grown_cluster_counts_its_new_nodes() -> None:
    workload = workload_of(record([held("a", 1, 0, 1)], 2, fleet(4, 4, 8, 4)))
    assert workload.cluster.gpu_count == 20
    grown = workload.grown(0.4)
    assert (len(grown.cluster.nodes), grown.cluster.gpu_count) == (6, 28)
    assert workload.cluster.gpu_count == 20


def test_nodes_that_were_out_most_of_the_time_are_no_part_of_it() -> None:
    down = fleet(4, 4, available=False)
    nodes = type(down)((fleet(4).nodes[0], down.nodes[1]), stated=True)
    assert workload_of(record([held("a", 1, 0, 1)], 4, nodes)).cluster.gpu_count == 4


def test_without_a_job_nothing_is_compared() -> None:
    empty = record([held("a", 1, None, 1, submitted=0, state=JobState.CANCELLED)], 2, fleet(4))
    assert compare(empty) is None
    assert find_ordering(None).verdict == find_buying(empty, None).verdict == "unknown"


@pytest.mark.parametrize("priority", [None, 1.0])
def test_what_an_order_costs_is_found(priority: float | None) -> None:
    """A day in which FIFO lets one wide job hold up everybody: overtaking is worth it, and more GPUs are, too."""
    jobs = [held("long", 2, 0, 12), held("wide", 4, 12, 13, submitted=0.5, priority=priority)]
    jobs += [held(f"small-{n}", 1, 13, 15, submitted=1, priority=priority and priority + n) for n in range(6)]
    jobs[0] = held("long", 2, 0, 12, priority=priority, limit_seconds=12 * HOUR)
    made = record(jobs, 15, fleet(4))
    told: list[tuple[str, float]] = []
    comparison = compare(made, lambda text, share: told.append((text, share)))
    assert comparison is not None
    assert list(comparison.by_assumption) == ([ALIKE, DRAWN] if priority is None else [LOGGED, ALIKE])
    measured = comparison.leading
    assert set(measured) == set(POLICIES)
    assert all(each.jobs.finished == len(jobs) for each in measured.values())
    assert measured[FIFO].wait_hours.mean > 2 * measured[BACKFILL].wait_hours.mean
    assert measured[ALLOCATOR].value >= measured[FIFO].value
    grown = comparison.by_growth[0.4][BACKFILL]
    assert grown.wait_hours.mean <= measured[BACKFILL].wait_hours.mean
    assert {row[0] for row in find_buying(made, comparison).evidence.rows} == {4, 8}
    ordering = find_ordering(comparison)
    assert ordering.value is not None
    assert math.isfinite(ordering.value)
    assert told[0][1] == 0.0
    assert max(share for _, share in told) <= 1.0
