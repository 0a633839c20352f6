"""Services make way for a block: replicas that are not needed right now move to GPUs where no waiting job fits.

GPUs that are free one here, one there, serve a service as well as a row of nodes does, and are of no use to a job that
wants that row. So where a job finds no block, some block whose GPUs are free or held by services may become one: the
services stop their replicas there and start as many elsewhere. Jobs never move (R5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from loadfactor.control.decision import Decision, Swap
from loadfactor.control.records import ServiceRecord
from loadfactor.control.state import ClusterState, owner_of_service
from loadfactor.policies.compiled import making_kernel

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
BlocksOf = Callable[[int], Ints]
"""The first GPUs of all blocks of a size."""
NOBODY = -1
NO_GPUS: Ints = np.empty(0, dtype=np.int64)


class MakingWay:
    """One decision about who makes way for whom; the claims of dearer jobs bind those that come later.

    `needed` (S,) are the ready replicas that each service keeps.
    """

    def __init__(self, state: ClusterState, blocks_of: BlocksOf, needed: Ints) -> None:
        self.state, self.blocks_of = state, blocks_of
        self.decision = Decision()
        self._free = state.usable()
        self._leaving: Mask = state.stopping & ~state.lost & ~state.drained
        self._movable, self._spare = movable_replicas(state, needed)
        self._claimed: Mask = np.zeros(len(self._free), dtype=np.bool_)

    def for_jobs(self, sizes: Iterable[int]) -> Decision:
        """Return the swaps that make blocks of the `sizes`, those of the dearest jobs first.

        A size for which nobody can make way is not tried again: there are only fewer GPUs by then.
        """
        in_vain = set[int]()
        for size in sizes:
            if size not in in_vain and not self._for_job(size):
                in_vain.add(size)
            if not self._spare.any():
                break
        return self.decision

    def _for_job(self, size: int) -> bool:
        """Claim a block that is free, or the one for which the fewest replicas must move; return whether there is."""
        closed = ~(self._free | self._leaving | (self._movable != NOBODY)) | self._claimed
        first, number = fewest_moves(closed, self._movable, self.blocks_of(size), size)
        if first == NOBODY:
            return False
        block = slice(first, first + size)
        leaving = np.flatnonzero(self._movable[block] != NOBODY) + first
        wanted = np.bincount(self._movable[leaving], minlength=len(self._spare))
        if (wanted > self._spare).any():
            return False
        targets = self._elsewhere(block) if number else NO_GPUS
        if len(targets) < number:
            return False
        self._claimed[block] = True
        self._spare -= wanted
        for gpu, target in zip(leaving.tolist(), targets.tolist(), strict=False):
            self._move(gpu, target)
        return True

    def _move(self, gpu: int, target: int) -> None:
        service = int(self._movable[gpu])
        self.decision.taken.append(Swap(service, gpu))
        self.decision.given.append(Swap(service, target))
        self._movable[gpu], self._free[target] = NOBODY, False

    def _elsewhere(self, block: slice) -> Ints:
        """Return the free GPUs outside `block` and all claims, those first where no larger block is broken."""
        free = self._free & ~self._claimed
        free[block] = False
        return in_holes_first(free, self.state.first_of_node)


def movable_replicas(state: ClusterState, needed: Ints) -> tuple[Ints, Ints]:
    """Return the service of each GPU (N,) whose replica may move, or -1, and how many may move of each service (S,).

    Those that are ready beyond what is `needed` (S,), within the swap cap of the step (R4).
    """
    owner: Ints = np.full(len(state.owner), NOBODY, dtype=np.int64)
    spare: Ints = np.zeros(len(state.services), dtype=np.int64)
    for service in state.services:
        most = min(len(service.replicas) - int(needed[service.row]), state.swaps_left(service) // 2)
        if most <= 0:
            continue
        ready = ready_replicas(service, state)
        number = min(most, len(ready) - int(needed[service.row]))
        if number > 0:
            owner[ready], spare[service.row] = service.row, number
    owner[state.lost | state.drained] = NOBODY
    return owner, spare


def ready_replicas(service: ServiceRecord, state: ClusterState) -> Ints:
    """Return the GPUs on which the service has a replica that serves, ascending."""
    return np.flatnonzero(state.serving & (state.owner == owner_of_service(service.row)))


@making_kernel
def fewest_moves(closed: Mask, movable: Ints, starts: Ints, size: int) -> tuple[int, int]:
    """Return the first GPU of the block that the fewest replicas must leave, the first of equals, and their number.

    `closed` (N,) marks GPUs that no block may have, `movable` (N,) is the service whose replica may leave, or `NOBODY`;
    `starts` are the first GPUs of the blocks. `NOBODY` and 0 where every block is closed.
    """
    shut, owned = np.zeros(len(closed) + 1, dtype=np.int64), np.zeros(len(closed) + 1, dtype=np.int64)
    for gpu in range(len(closed)):
        shut[gpu + 1] = shut[gpu] + closed[gpu]
        owned[gpu + 1] = owned[gpu] + (movable[gpu] != NOBODY)
    best, fewest = NOBODY, size + 1
    for first in starts:
        if shut[first + size] == shut[first] and owned[first + size] - owned[first] < fewest:
            best, fewest = first, owned[first + size] - owned[first]
    return best, 0 if best == NOBODY else fewest


def in_holes_first(free: Mask, first_of_node: Ints) -> Ints:
    """Return the free GPUs by the rank of their node, the highest-numbered of equals first."""
    gpus = np.flatnonzero(free)[::-1]
    node = np.searchsorted(first_of_node, gpus, side="right") - 1
    ordered: Ints = gpus[np.argsort(ranks_of_nodes(free, first_of_node)[node], kind="stable")]
    return ordered


@making_kernel
def ranks_of_nodes(free: Mask, first_of_node: Ints) -> Ints:
    """Return how much each node would be missed: the fewer free GPUs, the less, and wholly free nodes most.

    Of these, the shorter the row of such nodes, the less. Ranks are at most twice the number of GPUs.
    """
    nodes = len(first_of_node) - 1
    rank, row = np.zeros(nodes, dtype=np.int64), 0
    for node in range(nodes):
        for gpu in range(first_of_node[node], first_of_node[node + 1]):
            rank[node] += free[gpu]
        if rank[node] == first_of_node[node + 1] - first_of_node[node]:
            row += 1
            continue
        rank[node - row : node] = len(free) + row
        row = 0
    rank[nodes - row :] = len(free) + row
    return rank
