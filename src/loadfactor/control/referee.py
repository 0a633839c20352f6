"""Judges every decision before it acts, from the facts alone; it shares no code with the planners.

The judge of plan documents (`loadfactor.judge`) needs a horizon; a decision is about the present moment, and R1 to R5
say of it what the methods here check, by the same numbers.
"""

from __future__ import annotations

from collections import Counter

from loadfactor.control.decision import Decision, JobStart
from loadfactor.control.records import JobPhase, ReplicaPhase
from loadfactor.control.requests import JobRequest, ServiceRequest
from loadfactor.control.state import FREE, ClusterState


class Referee:
    """Finds what is illegal in a decision."""

    def __init__(self, state: ClusterState) -> None:
        self.state = state
        self._edges = frozenset(state.cluster.node_offsets)
        self._sizes: dict[tuple[int, tuple[str, ...] | None, float | None], bool] = {}

    def faults(self, decision: Decision) -> list[str]:
        """Return every breach as a sentence that begins with its rule; an empty list where all is legal."""
        unknown = self._unknown(decision)
        if unknown:
            return unknown
        return [
            *self._r1_one_owner_a_gpu(decision),
            *self._r2_sizes_and_phases(decision),
            *self._r2_needs(decision),
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
            wanted.update(start.block(state))
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
        faults += [fault for start in decision.starts if (fault := self._fault_of_size(start))]
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

    def _fault_of_size(self, start: JobStart) -> str:
        """Return what is wrong with a size: below the least, or above the most where the job can use a smaller one."""
        job = self.state.jobs[start.row].request
        size, most = len(start.block(self.state)), job.gpus if job.most_gpus is None else job.most_gpus
        if size < job.gpus:
            return f"R2: job {job.id!r} gets {size} GPUs and asks for {job.gpus}"
        if size > most and any(self._is_size(job, other) for other in range(job.gpus, size)):
            return f"R2: job {job.id!r} gets {size} GPUs, can use {most}, and smaller blocks exist"
        return ""

    def _is_size(self, job: JobRequest, size: int) -> bool:
        """Return whether the cluster has a block of the size on GPUs that the job can use; looked up once."""
        key = size, job.gpu_types, job.gpu_memory_gib
        if key not in self._sizes:
            begins = self.state.cluster.node_offsets[:-1]
            self._sizes[key] = any(
                not self._faults_of_block(first, size) and self._meets(job, range(first, first + size))
                for first in begins
                if first + size <= self.state.cluster.gpu_count
            )
        return self._sizes[key]

    def _r2_needs(self, decision: Decision) -> list[str]:
        state, faults = self.state, []
        for start in decision.starts:
            job = state.jobs[start.row].request
            if not self._meets(job, start.block(state)):
                faults.append(f"R2: job {job.id!r} gets GPUs that do not meet its needs")
        for swap in decision.given:
            service = state.services[swap.service].request
            if not self._meets(service, range(swap.gpu, swap.gpu + 1)):
                faults.append(f"R2: service {service.id!r} gets GPU {swap.gpu}, which does not meet its needs")
        return faults

    def _meets(self, request: JobRequest | ServiceRequest, gpus: range) -> bool:
        """Return whether all GPUs have a type and a memory that will do; those that do not exist are R1's."""
        if request.gpu_types is None and request.gpu_memory_gib is None:
            return True
        cluster = self.state.cluster
        nodes = {cluster.node_of(gpu) for gpu in gpus if 0 <= gpu < cluster.gpu_count}
        for node in (cluster.nodes[index] for index in nodes):
            if request.gpu_types is not None and node.gpu_type not in request.gpu_types:
                return False
            if request.gpu_memory_gib is not None and (node.gpu_memory_gib or 0.0) < request.gpu_memory_gib:
                return False
        return True

    def _r3_blocks(self, decision: Decision) -> list[str]:
        faults: list[str] = []
        for start in decision.starts:
            block = start.block(self.state)
            if 0 <= block.start <= block.stop <= len(self.state.owner):  # R1 says that other GPUs do not exist
                faults += self._faults_of_block(block.start, len(block))
        return faults

    def _faults_of_block(self, first: int, size: int) -> list[str]:
        cluster, faults, end = self.state.cluster, [], first + size
        inside = size <= cluster.nodes[cluster.node_of(first)].gpus
        if inside and size.bit_count() > 1:
            faults.append(f"R3: {size} GPUs inside a node are no power of two")
        elif inside and cluster.node_of(first) != cluster.node_of(end - 1):
            faults.append(f"R3: GPUs {first} to {end - 1} fit into a node and cross into the next")
        if not inside and not self._edges >= {first, end}:
            faults.append(f"R3: GPUs {first} to {end - 1} are not made of whole nodes")
        if not inside and cluster.block_sizes == "power_of_two" and size.bit_count() > 1:
            faults.append(f"R3: {size} GPUs are no power of two")
        return faults

    def _r4_swaps(self, decision: Decision) -> list[str]:
        swaps = Counter(swap.service for swap in (*decision.given, *decision.taken))
        return [
            f"R4: service {self.state.services[row].request.id!r} would swap {count} GPUs more in this step, "
            f"and {self.state.swaps_left(self.state.services[row])} are left"
            for row, count in swaps.items()
            if count > self.state.swaps_left(self.state.services[row])
        ]
