"""Services make way: the fewest replicas move, none that is needed, and a job that found no block starts."""

from __future__ import annotations

import numpy as np
import pytest

from loadfactor.control import ClusterState, JobRequest, ServiceRequest
from loadfactor.control.changes import JobWaits
from loadfactor.control.decision import Decision, JobStart
from loadfactor.control.planners import Allocator, HorizonSettings, JobBook, ServiceCurves, by_priority
from loadfactor.control.planners.horizon import RollingHorizon
from loadfactor.control.planners.way import MakingWay, in_holes_first, movable_replicas, ranks_of_nodes
from loadfactor.control.referee import Referee
from loadfactor.foresight import PerfectForecast, UserLimit
from tests.planners.states import STEP_SECONDS, at_work, cluster, starts


def four_nodes(held: str, demand: int = 0, max_swap: int = 100) -> ClusterState:
    """Return a cluster of nodes of four GPUs: `.` free, `s` a ready replica, `n` a new one, `j` a job, `x` drained."""
    layout = held.replace(" ", "")
    chat = ServiceRequest("chat", 8.0, max_swap=max_swap, start_seconds=300)
    state = ClusterState(cluster(len(layout) // 4), [chat], STEP_SECONDS, 0)
    (service,) = state.services
    service.demand = demand
    for gpu, letter in enumerate(layout):
        if letter in "sn":
            replica = state.give_gpu(service, gpu)
            if letter == "s":
                state.serve(replica)
        elif letter == "j":
            state.give_block(state.add(JobRequest(f"job-{gpu}", 1), 0), gpu, 0)
        state.drained[gpu] = letter == "x"
    return state


def made(state: ClusterState, *sizes: int) -> tuple[list[int], list[int]]:
    """Return the GPUs that services lose and get so that jobs of these sizes find blocks."""
    needed = np.array([service.demand for service in state.services])
    decision = MakingWay(state, lambda size: np.array(starts(state.cluster, size)), needed).for_jobs(sizes)
    assert Referee(state).faults(decision) == []
    return sorted(swap.gpu for swap in decision.taken), sorted(swap.gpu for swap in decision.given)


@pytest.mark.parametrize(
    ("held", "sizes", "taken", "given"),
    [
        (".... ssss jjjj ....", [8], [4, 5, 6, 7], [12, 13, 14, 15]),
        ("...s sss. jjjj ....", [8], [3, 4, 5, 6], [12, 13, 14, 15]),
        ("..ss ..ss j... s...", [8], [2, 3, 6, 7], [11, 13, 14, 15]),
        ("..ss ..ss jjjj jj..", [8], [], []),  # only two could move
        (".... ...s jj.. jjjj", [8], [7], [11]),  # the hole beside a job, not a GPU of the block
        (".... .... ssss jjjj", [8], [], []),  # a block is free
        ("..js jj.. jjss jjjj", [4], [], []),  # jobs never move
        ("..sj j.s. jjss jjjj", [2, 2], [6], [7]),  # the second job's pair is made of a free GPU and a replica's
        (".... .... jjjj .... ssss jjjj ....", [8, 8], [16, 17, 18, 19], [24, 25, 26, 27]),
        ("ssss .j.j .j.j jjjj", [4], [0, 1, 2, 3], [4, 6, 8, 10]),
        ("ssss .j.j .x.j jjjj", [4], [0, 1, 2, 3], [4, 6, 8, 10]),
        ("ssxs .j.j .x.j jjjj", [4], [], []),
        ("nnss .j.j .j.j jjjj", [4], [], []),  # a replica that starts is on its way to be needed
    ],
)
def test_the_fewest_replicas_move_to_where_no_larger_block_breaks(
    held: str, sizes: list[int], taken: list[int], given: list[int]
) -> None:
    assert made(four_nodes(held), *sizes) == (taken, given)


def test_the_dearer_job_keeps_its_block_from_the_next() -> None:
    state = four_nodes(".... ssss jjjj .... ..jj")
    assert made(state, 8, 8) == made(state, 8)
    assert made(state, 8) == ([4, 5, 6, 7], [14, 15, 16, 17])


def test_what_is_needed_stays_and_the_swap_cap_holds() -> None:
    held = ".... ssss jjjj ...."
    assert made(four_nodes(held, demand=1), 8) == ([], [])
    assert made(four_nodes(held, max_swap=7), 8) == ([], [])
    assert len(made(four_nodes(held, max_swap=8), 8)[0]) == 4


def test_replicas_that_are_stopping_already_are_waited_for() -> None:
    state = four_nodes(".... ssss jjjj ....")
    for gpu in (4, 5, 6, 7):
        state.take_gpu(state.services[0], gpu)
    assert made(state, 8) == ([], [])


def test_rows_and_holes() -> None:
    free = np.array([letter == "." for letter in "....jj.j............jjjj....".replace(" ", "")])
    assert ranks_of_nodes(free, np.arange(0, 29, 4)).tolist() == [28 + 1, 1, 28 + 3, 28 + 3, 28 + 3, 0, 28 + 1]
    order = in_holes_first(free, np.arange(0, 29, 4)).tolist()
    assert order == [6, 27, 26, 25, 24, 3, 2, 1, 0, *range(19, 7, -1)]


@pytest.mark.parametrize("seed", range(60))
def test_moves_are_legal_and_leave_what_is_needed(seed: int) -> None:
    state, book = at_work(seed, services=2)
    for service in state.services:
        for replica in service.replicas.values():
            state.serve(replica)
    needed = np.full(2, seed % 2)
    _, spare = movable_replicas(state, needed)
    blocks_of = RollingHorizon(state, HorizonSettings(steps=12)).blocks_of
    sizes = [state.jobs[row].size for row in book.queue.rows.tolist()]
    decision = MakingWay(state, blocks_of, needed).for_jobs(sizes)
    assert Referee(state).faults(decision) == []
    for service in state.services:
        moved = sum(swap.service == service.row for swap in decision.taken)
        assert moved == sum(swap.service == service.row for swap in decision.given) <= spare[service.row]
    assert not decision.starts


def test_random_states_make_way_now_and_then() -> None:
    def decided(seed: int) -> Decision:
        state, book = at_work(seed, services=2)
        for service in state.services:
            for replica in service.replicas.values():
                state.serve(replica)
        sizes = [state.jobs[row].size for row in book.queue.rows.tolist()]
        needed = np.zeros(2, dtype=np.int64)
        return MakingWay(state, lambda size: np.array(starts(state.cluster, size)), needed).for_jobs(sizes)

    assert sum(bool(decided(seed).taken) for seed in range(60)) >= 6


def test_the_allocator_makes_way_and_the_job_starts_when_the_replicas_are_gone() -> None:
    state = four_nodes(".... ssss jjjj ....")
    book = JobBook(by_priority, UserLimit())
    wide = state.add(JobRequest("wide", 8, limit_seconds=3_600), 0)
    book.notice(JobWaits(wide), state)
    curves = ServiceCurves({"chat": PerfectForecast([0.0, STEP_SECONDS], [0.0, 4.0])}, 0.5, 0.5)
    planner = Allocator(book, curves, HorizonSettings(steps=12))
    assert not planner.decide(state, 0)  # the next step's four replicas are there
    way = planner.decide(state, 0)
    assert ({swap.gpu for swap in way.taken}, {swap.gpu for swap in way.given}) == ({4, 5, 6, 7}, {12, 13, 14, 15})
    (service,) = state.services
    for swap in way.taken:
        state.take_gpu(service, swap.gpu)
    for swap in way.given:
        state.give_gpu(service, swap.gpu)
    assert not planner.decide(state, 0)  # it is under way
    for swap in way.taken:
        state.drop_replica(service, swap.gpu)
    assert planner.decide(state, 0).starts == [JobStart(wide.row, 0, 8)]
