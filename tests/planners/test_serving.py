"""Simple rules for services: how many GPUs, which ones, and never more swaps than the cap."""

from __future__ import annotations

import numpy as np

from loadfactor.control import ClusterState, Machine, Referee, ServiceRequest
from loadfactor.control.planners import PeakReservation, ReactiveScaling
from loadfactor.control.planners.serving import swaps_towards
from tests.planners.states import MIXED, cluster


def _state(max_swap: int = 5, max_gpus: int | None = None) -> ClusterState:
    return ClusterState(cluster(), [ServiceRequest("chat", 8.0, max_swap, max_gpus)], 600)


def test_the_peak_is_reached_within_the_swap_cap() -> None:
    state = _state()
    machine, rule = Machine(state), PeakReservation({"chat": 8})
    first = swaps_towards(rule, state)
    assert len(first.given) == 5
    assert not Referee(state).faults(first)
    machine.apply(first)
    assert not swaps_towards(rule, state).given
    state.now = 600
    assert len(swaps_towards(rule, state).given) == 3


def test_nodes_that_are_in_use_already_come_first() -> None:
    state = _state()
    state.lost[4] = True  # so that node 1 has the fewest free GPUs
    assert [swap.gpu for swap in swaps_towards(PeakReservation({"chat": 4}), state).given] == [7, 6, 5, 11]


def test_a_node_with_one_replica_is_freed_first() -> None:
    state = _state()
    service = state.services[0]
    for gpu in (0, 1, 2, 9):
        state.give_gpu(service, gpu)
    service.demand = 3
    assert [swap.gpu for swap in swaps_towards(ReactiveScaling(), state).taken] == [9]


def test_no_more_than_the_service_may_have() -> None:
    state = _state(max_gpus=2)
    state.services[0].demand = 4
    assert len(swaps_towards(ReactiveScaling(), state).given) == 2


def test_what_is_on_its_way_out_is_not_held() -> None:
    state = _state()
    service = state.services[0]
    state.give_gpu(service, 3)
    state.take_gpu(service, 3)
    service.demand = 1
    decision = swaps_towards(ReactiveScaling(), state)
    assert len(decision.given) == 1
    assert decision.given[0].gpu != 3
    assert np.flatnonzero(state.held_by(service)).tolist() == []


def test_only_gpus_that_meet_its_needs_are_given_to_a_service() -> None:
    request = ServiceRequest("chat", 8.0, 9, gpu_types=("L40",))
    state = ClusterState(cluster(kinds=MIXED), [request], 600)
    decision = swaps_towards(PeakReservation({"chat": 6}), state)
    assert [swap.gpu for swap in decision.given] == [11, 10, 9, 8]
    assert not Referee(state).faults(decision)
