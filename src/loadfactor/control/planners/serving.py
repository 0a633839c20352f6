"""How many GPUs services hold in the manner of today's clusters, and which ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from loadfactor.control.changes import Change
from loadfactor.control.decision import Decision, Swap
from loadfactor.control.records import ServiceRecord
from loadfactor.control.state import ClusterState

Ints = npt.NDArray[np.int64]


class ServingRule(Protocol):
    """Says how many GPUs a service should hold now."""

    @property
    def name(self) -> str:
        """Return the name of the rule in tables."""
        ...  # pragma: no cover

    def notice(self, change: Change, state: ClusterState) -> None:
        """Take note of what an event changed."""
        ...  # pragma: no cover

    def target(self, service: ServiceRecord, state: ClusterState) -> int:
        """Return the number of GPUs that the service should hold at the state's moment."""
        ...  # pragma: no cover


class PeakReservation:
    """Every service holds its peak all the time, as where nobody dares to give it up."""

    name = "peak"

    def __init__(self, peaks: Mapping[str, int]) -> None:
        self.peaks = peaks

    def notice(self, change: Change, state: ClusterState) -> None:
        """Ignore what happens."""

    def target(self, service: ServiceRecord, state: ClusterState) -> int:
        """Return the peak."""
        return self.peaks[service.request.id]


class ReactiveScaling:
    """Every service holds what it needed in the last step: what an autoscaler on measured load does."""

    name = "reactive"

    def notice(self, change: Change, state: ClusterState) -> None:
        """Ignore what happens: the state has the demand last measured."""

    def target(self, service: ServiceRecord, state: ClusterState) -> int:
        """Return the demand of the last step."""
        return service.demand


def swaps_towards(rule: ServingRule, state: ClusterState) -> Decision:
    """Return the swaps that bring every service towards its target, the dearest service first.

    Within the swap cap of the step (R4) and `max_gpus`. GPUs come from the nodes with the fewest free ones, the
    highest-numbered first, so that whole nodes stay whole; they go from the nodes where the service has the fewest.
    """
    decision = Decision()
    free = state.usable()
    for service in sorted(state.services, key=lambda each: -each.request.priority):
        target = rule.target(service, state)
        if service.request.max_gpus is not None:
            target = min(target, service.request.max_gpus)
        missing = target - int(np.count_nonzero(state.held_by(service)))
        if missing > 0:
            suitable = free & state.block_sizes.gpus(state.block_sizes.need(service.request))
            for gpu in _nearest_full(suitable, state)[: min(missing, state.swaps_left(service))].tolist():
                decision.given.append(Swap(service.row, gpu))
                free[gpu] = False
        elif missing < 0:
            leaving = _loneliest(service, state)[: min(-missing, state.swaps_left(service))]
            decision.taken += [Swap(service.row, gpu) for gpu in leaving]
    return decision


def _nearest_full(free: npt.NDArray[np.bool_], state: ClusterState) -> Ints:
    """Return the free GPUs, those of the fullest nodes first, the highest-numbered of equals first."""
    offsets = state.first_of_node
    free_in_node = np.add.reduceat(free.astype(np.int64), offsets[:-1])
    gpus = np.flatnonzero(free)[::-1]
    node = np.searchsorted(offsets, gpus, side="right") - 1
    ordered: Ints = gpus[np.argsort(free_in_node[node], kind="stable")]
    return ordered


def _loneliest(service: ServiceRecord, state: ClusterState) -> list[int]:
    """Return the GPUs of the service's replicas, those of the nodes where it has the fewest first."""
    gpus = np.flatnonzero(state.held_by(service)).tolist()
    node_of = state.cluster.node_of
    count: dict[int, int] = {}
    for gpu in gpus:
        count[node_of(gpu)] = count.get(node_of(gpu), 0) + 1
    return sorted(gpus, key=lambda gpu: (count[node_of(gpu)], gpu))
