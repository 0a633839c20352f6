"""The layout of facts over the fleet: by GPU number, by node, by best effort, and what finds no place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadfactor.audit.timeline import Timeline, lay_out
from loadfactor.sources.facts import JobInterval, NodeGpus
from tests.audit.facts import BEGIN, HOUR, at, fleet, held, window


def pieces(line: Timeline) -> list[tuple[int, float, float, int]]:
    """Return the pieces in hours, by GPU and begin."""
    hours = zip(line.gpu, (line.begin - BEGIN) / HOUR, (line.end - BEGIN) / HOUR, line.owner, strict=True)
    return sorted((int(gpu), float(begin), float(end), int(owner)) for gpu, begin, end, owner in hours)


def test_an_interval_that_names_gpus_gets_these() -> None:
    job = held("a", 2, 1, 3, nodes=[NodeGpus("n1", 2, (1, 3))])
    line = lay_out([job], fleet(4, 4), window(4))
    assert pieces(line) == [(5, 1.0, 3.0, 0), (7, 1.0, 3.0, 0)]
    assert (line.by_index, line.by_node, line.by_packing) == (1, 0, 0)


def test_one_that_names_nodes_gets_their_lowest_free_gpus() -> None:
    jobs = [held("a", 1, 0, 2, nodes=["n1"]), held("b", 4, 1, 2, nodes=["n0", "n1"])]
    line = lay_out(jobs, fleet(4, 4), window(4))
    assert pieces(line) == [(0, 1.0, 2.0, 1), (1, 1.0, 2.0, 1), (4, 0.0, 2.0, 0), (5, 1.0, 2.0, 1), (6, 1.0, 2.0, 1)]
    assert line.by_node == 2


def test_one_that_names_nothing_gets_the_fullest_node_with_room() -> None:
    jobs = [held("a", 3, 0, 4, nodes=["n1"]), held("b", 1, 1, 2), held("c", 4, 1, 2), held("d", 2, 3, 4)]
    line = lay_out(jobs, fleet(4, 4), window(4))
    assert (7, 1.0, 2.0, 1) in pieces(line)
    assert {piece[0] for piece in pieces(line) if piece[3] == 2} == {0, 1, 2, 3}
    assert {piece[0] for piece in pieces(line) if piece[3] == 3} == {0, 1}
    assert line.by_packing == 3


def test_a_guess_moves_away_when_the_log_names_its_gpu() -> None:
    jobs = [held("a", 1, 0, 4, nodes=["n0"]), held("b", 1, 1, 3, nodes=[NodeGpus("n0", 1, (0,))])]
    line = lay_out(jobs, fleet(2), window(4))
    assert pieces(line) == [(0, 0.0, 1.0, 0), (0, 1.0, 3.0, 1), (1, 1.0, 4.0, 0)]
    assert line.crowded_seconds == 0


def test_two_on_one_named_gpu_are_counted_as_crowded() -> None:
    jobs = [held(name, 1, 0, 2, nodes=[NodeGpus("n0", 1, (0,))]) for name in "ab"]
    line = lay_out(jobs, fleet(2), window(4))
    assert pieces(line) == [(0, 0.0, 2.0, 0)]
    assert line.crowded_seconds == 2 * HOUR


def test_more_than_a_node_has_is_counted_as_crowded() -> None:
    line = lay_out([held("a", 5, 0, 2, nodes=["n0"])], fleet(4, 4), window(4))
    assert line.held_seconds == 8 * HOUR
    assert line.crowded_seconds == 2 * HOUR


def test_what_runs_on_a_node_nobody_stated_is_kept_aside() -> None:
    line = lay_out([held("a", 4, 0, 2, nodes=["n0", "n9"])], fleet(4), window(4))
    assert line.held_seconds == 4 * HOUR
    assert line.homeless_seconds == 4 * HOUR
    assert line.unknown_nodes == ("n9",)


def test_intervals_are_cut_at_the_windows_edges() -> None:
    jobs = [held("a", 1, -5, 1), held("b", 1, 3, None), held("c", 1, -3, -1), held("d", 1, 5, 6), held("e", 1, None, 2)]
    assert pieces(lay_out(jobs, fleet(4), window(4))) == [(0, 0.0, 1.0, 0), (0, 3.0, 4.0, 1)]


@st.composite
def many_intervals(draw: st.DrawFn) -> list[JobInterval]:
    """Return intervals over eight hours on nodes n0 and n1 of four GPUs, some with GPU numbers, some with no node."""
    jobs = []
    for number in range(draw(st.integers(1, 25))):
        begin = draw(st.integers(-2, 8))
        end = draw(st.none() | st.integers(begin, 10))
        node = draw(st.sampled_from(["n0", "n1"]))
        indices = tuple(draw(st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True)))
        nodes = draw(st.sampled_from([(), (node,), (NodeGpus(node, len(indices), indices),), ("n0", "n1")]))
        jobs.append(held(str(number), len(indices), begin, end, nodes=nodes))
    return jobs


@given(many_intervals())
def test_no_gpu_is_held_twice_and_every_second_is_accounted_for(jobs: list[JobInterval]) -> None:
    span = window(8)
    line = lay_out(jobs, fleet(4, 4), span)
    asked = sum(
        job.gpus * max(0.0, min(span.end, span.end if job.ended is None else job.ended) - max(at(0), job.started or 0))
        for job in jobs
    )
    assert line.held_seconds + line.crowded_seconds + line.homeless_seconds == pytest.approx(asked)
    for gpu in range(8):
        chosen = line.gpu == gpu
        order = np.argsort(line.begin[chosen])
        assert (line.end[chosen][order][:-1] <= line.begin[chosen][order][1:]).all()


@given(many_intervals())
def test_a_gpu_that_the_log_names_is_held_by_somebody(jobs: list[JobInterval]) -> None:
    line = lay_out(jobs, fleet(4, 4), window(8))
    moments = np.arange(0.5, 8) * HOUR + BEGIN
    for job in jobs:
        for share in job.node_gpus:
            for index in share.indices:
                gpu = 4 * int(share.node[1]) + index
                end = np.inf if job.ended is None else job.ended
                during = moments[(moments > (job.started or 0)) & (moments < end)]
                held_then = [((line.gpu == gpu) & (line.begin <= m) & (m < line.end)).any() for m in during]
                assert all(held_then)
