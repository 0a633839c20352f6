"""Judges every decision before it acts, from the facts alone; it shares no code with the planners.

The judge of plan documents (`loadfactor.judge`) needs a horizon; a decision is about the present moment, and R1 to R5
say of it what the methods here check, by the same numbers.
"""

from __future__ import annotations

from collections import Counter

from loadfactor.control.decision import Decision
from loadfactor.control.records import JobPhase, ReplicaPhase
from loadfactor.control.state import FREE, ClusterState


class Referee:
    """Finds what is illegal in a decision."""

    def __init__(self, state: ClusterState) -> None:
        self.state = state

    def faults(self, decision: Decision) -> list[str]:
        """Return every breach as a sentence that begins with its rule; an empty list where all is legal."""
        unknown = self._unknown(decision)
        if unknown:
            return unknown
        return [
            *self._r1_one_owner_a_gpu(decision),
            *self._r2_sizes_and_phases(decision),
            *self._r3_blocks(decision),
            *self._r4_swaps(decision),
        ]

    def _unknown(self, decision: Decision) -> list[str]:
        jobs, services = len(self.state.jobs), len(self.state.services)
        strangers = [f"job {start.row}" for start in decision.starts if not 0 <= start.row < jobs]
        swaps = (*decision.given, *decision.taken)
        strangers += [f"service {swap.service}" for swap in swaps if not 0 <= swap.service < services]
        return [f"R2: there is no {stranger}" for stranger in strangers]

    def _r1_one_owner_a_gpu(self, decision: Decision) -> list[str]:
        state, faults = self.state, []
        wanted: Counter[int] = Counter(swap.gpu for swap in decision.given)
        for start in decision.starts:
            wanted.update(range(start.first_gpu, start.first_gpu + state.jobs[start.row].size))
        for gpu, times in wanted.items():
            if not 0 <= gpu < len(state.owner):
                faults.append(f"R1: GPU {gpu} does not exist")
            elif times > 1:
                faults.append(f"R1: GPU {gpu} is given out {times} times")
            elif state.owner[gpu] != FREE:
                faults.append(f"R1: GPU {gpu} is held already")
            elif state.lost[gpu] or state.drained[gpu]:
                faults.append(f"R1: GPU {gpu} is out of use")
        return faults

    def _r2_sizes_and_phases(self, decision: Decision) -> list[str]:
        state, faults = self.state, []
        for row, times in Counter(start.row for start in decision.starts).items():
            job = state.jobs[row]
            if times > 1 or job.phase is not JobPhase.WAITING:
                faults.append(f"R2: job {job.request.id!r} is started and is {job.phase}, {times} times at once")
            if job.size < job.request.gpus:
                faults.append(f"R2: job {job.request.id!r} gets {job.size} GPUs and asks for {job.request.gpus}")
        for service in state.services:
            given = sum(swap.service == service.row for swap in decision.given)
            taken = sum(swap.service == service.row for swap in decision.taken)
            most = service.request.max_gpus
            if most is not None and given and service.held() + given - taken > most:
                faults.append(f"R2: service {service.request.id!r} gets more than its {most} GPUs")
        for gpu, times in Counter(swap.gpu for swap in decision.taken).items():
            if times > 1:
                faults.append(f"R2: GPU {gpu} is taken away {times} times")
        for swap in decision.taken:
            replica = state.services[swap.service].replicas.get(swap.gpu)
            if replica is None or replica.phase is ReplicaPhase.STOPPING:
                faults.append(f"R2: GPU {swap.gpu} is taken from a service that has no replica there to stop")
        return faults

    def _r3_blocks(self, decision: Decision) -> list[str]:
        state, faults = self.state, []
        offsets = state.cluster.node_offsets
        for start in decision.starts:
            job = state.jobs[start.row]
            first, end = start.first_gpu, start.first_gpu + job.size
            if not 0 <= first <= end <= len(state.owner):
                continue  # R1 says that those GPUs do not exist
            inside = job.size <= state.cluster.nodes[state.cluster.node_of(first)].gpus
            if inside and job.size.bit_count() > 1:
                faults.append(f"R3: {job.size} GPUs inside a node are no power of two")
            elif inside and state.cluster.node_of(first) != state.cluster.node_of(end - 1):
                faults.append(f"R3: GPUs {first} to {end - 1} fit into a node and cross into the next")
            if not inside and not (first in offsets and end in offsets):
                faults.append(f"R3: GPUs {first} to {end - 1} are not made of whole nodes")
            if not inside and state.cluster.block_sizes == "power_of_two" and job.size.bit_count() > 1:
                faults.append(f"R3: {job.size} GPUs are no power of two")
        return faults

    def _r4_swaps(self, decision: Decision) -> list[str]:
        swaps = Counter(swap.service for swap in (*decision.given, *decision.taken))
        return [
            f"R4: service {self.state.services[row].request.id!r} would swap {count} GPUs more in this step, "
            f"and {self.state.swaps_left(self.state.services[row])} are left"
            for row, count in swaps.items()
            if count > self.state.swaps_left(self.state.services[row])
        ]
