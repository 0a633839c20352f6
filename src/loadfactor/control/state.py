"""The facts about a cluster at work, and the one door through which they change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from loadfactor.control.blocks import BlockSizes, Mask
from loadfactor.control.records import (
    HOLDING,
    NEVER,
    NOWHERE,
    JobPhase,
    JobRecord,
    Replica,
    ReplicaPhase,
    ServiceRecord,
)
from loadfactor.control.requests import JobRequest, ServiceRequest
from loadfactor.errors import LoadfactorError
from loadfactor.model import Cluster

FREE = -1
Owners = npt.NDArray[np.int64]


class BrokenStateError(LoadfactorError):
    """An invariant of the control state does not hold; the message tells the story."""


def owner_of_service(service: int) -> int:
    """Return the number that marks GPUs of the service of a row: below `FREE`, where jobs' rows never are."""
    return -2 - service


class ClusterState:
    """Who holds which GPU, who waits, and what is out of use.

    `owner` (N,) is the row of the job that holds a GPU, `FREE`, or `owner_of_service`; `lost` (N,) marks GPUs that
    failed and `drained` (N,) those that go on with what they have and take nothing new. `serving` (N,) marks GPUs whose
    replica is ready and `stopping` (N,) those whose replica is on its way out. `told` and `drain_told` (N,) are the
    numbers of the newest event about the presence and about the drain of each GPU. `cancelled_unseen` are the ids of
    jobs that were taken back before they were submitted, `priorities_unseen` their priorities and those events' numbers
    where one was changed before. `first_of_node` (nodes + 1,) is the first GPU of every node, and N. `commands` counts
    what was wanted. `doubted_at` is the stamp of the last event, where it was dated too far ahead to be believed.
    """

    def __init__(self, cluster: Cluster, services: Iterable[ServiceRequest], step_seconds: int, now: int = 0) -> None:
        self.cluster = cluster
        self.block_sizes = BlockSizes(cluster)
        self.first_of_node: Owners = np.array(cluster.node_offsets, dtype=np.int64)
        self.step_seconds = step_seconds
        self.now = now
        self.jobs: list[JobRecord] = []
        self.row_of_job: dict[str, int] = {}
        self.cancelled_unseen: set[str] = set()
        self.services = [ServiceRecord(row, request) for row, request in enumerate(services)]
        self.row_of_service = {record.request.id: record.row for record in self.services}
        self.owner: Owners = np.full(cluster.gpu_count, FREE, dtype=np.int64)
        self.lost: Mask = np.zeros(cluster.gpu_count, dtype=np.bool_)
        self.drained: Mask = np.zeros(cluster.gpu_count, dtype=np.bool_)
        self.serving: Mask = np.zeros(cluster.gpu_count, dtype=np.bool_)
        self.stopping: Mask = np.zeros(cluster.gpu_count, dtype=np.bool_)
        self.told = np.zeros(cluster.gpu_count, dtype=np.int64)
        self.drain_told = np.zeros(cluster.gpu_count, dtype=np.int64)
        self.priorities_unseen: dict[str, tuple[float, int]] = {}
        self.commands = 0
        self.doubted_at = NEVER
        self.waiting = 0

    # Jobs

    def add(self, request: JobRequest, at: int) -> JobRecord:
        """Add a job that was submitted at `at`; it waits, or is too large for the cluster."""
        sizes = self.block_sizes.of(request)
        largest = sizes[-1] if sizes else request.gpus
        record = JobRecord(len(self.jobs), request, largest, at, request.priority, sizes=sizes)
        if not sizes:
            record.phase = JobPhase.TOO_LARGE
        else:
            self.waiting += 1
        self.jobs.append(record)
        self.row_of_job[request.id] = record.row
        return record

    def give_block(self, job: JobRecord, first_gpu: int, now: int, size: int | None = None) -> None:
        """Give a waiting job its block, the largest that it may get unless `size` is another: WAITING -> STARTING."""
        self._expect(job, JobPhase.WAITING)
        job.size = job.size if size is None else size
        self.owner[first_gpu : first_gpu + job.size] = job.row
        job.phase, job.first_gpu, job.given_at, job.started_at = JobPhase.STARTING, first_gpu, now, NEVER
        job.attempt += 1
        if job.first_given_at == NEVER:
            job.first_given_at = now
        self.waiting -= 1

    def run(self, job: JobRecord, at: int) -> None:
        """Note that a job runs: STARTING -> RUNNING."""
        self._expect(job, JobPhase.STARTING)
        job.phase, job.started_at = JobPhase.RUNNING, at

    def finish(self, job: JobRecord, at: int) -> None:
        """Note that a job is over: any phase but OVER -> OVER."""
        if job.phase in HOLDING:
            self._free_block(job)
        elif job.phase is JobPhase.WAITING:
            self.waiting -= 1
        job.phase, job.ended_at = JobPhase.OVER, at

    def put_back(self, job: JobRecord) -> None:
        """Let a job that lost its block, or never got it, wait again: STARTING or RUNNING -> WAITING."""
        if job.phase not in HOLDING:
            self._expect(job, JobPhase.RUNNING)
        self._free_block(job)
        job.phase, job.given_at, job.started_at = JobPhase.WAITING, NEVER, NEVER
        job.size = job.sizes[-1]
        self.waiting += 1

    def _free_block(self, job: JobRecord) -> None:
        self.owner[job.first_gpu : job.first_gpu + job.size] = FREE
        job.first_gpu = NOWHERE

    # Services

    def give_gpu(self, service: ServiceRecord, gpu: int) -> Replica:
        """Give a free GPU to a service: its replica is STARTING."""
        self.owner[gpu] = owner_of_service(service.row)
        service.attempts += 1
        replica = service.replicas[gpu] = Replica(gpu, service.attempts)
        return replica

    def serve(self, replica: Replica) -> None:
        """Note that a replica is ready."""
        replica.phase = ReplicaPhase.READY
        self.serving[replica.gpu] = True

    def take_gpu(self, service: ServiceRecord, gpu: int) -> Replica:
        """Let a replica stop; it holds its GPU until it is gone."""
        replica = service.replicas[gpu]
        replica.phase = ReplicaPhase.STOPPING
        self.serving[gpu], self.stopping[gpu] = False, True
        return replica

    def drop_replica(self, service: ServiceRecord, gpu: int) -> None:
        """Note that a replica is gone and its GPU free."""
        del service.replicas[gpu]
        self.owner[gpu] = FREE
        self.serving[gpu] = self.stopping[gpu] = False

    def count_swaps(self, service: ServiceRecord, swaps: int) -> None:
        """Add to the swaps of the present step (R4)."""
        step_at = self.step_began()
        if service.step_at != step_at:
            service.step_at, service.swaps = step_at, 0
        service.swaps += swaps

    def swaps_left(self, service: ServiceRecord) -> int:
        """Return how many GPUs may still be given or taken in the present step (R4)."""
        used = service.swaps if service.step_at == self.step_began() else 0
        return max(0, service.request.max_swap - used)

    def step_began(self) -> int:
        """Return the second at which the present step began; steps are counted from second 0."""
        return self.now - self.now % self.step_seconds

    def held_by(self, service: ServiceRecord) -> Mask:
        """Return (N,) the GPUs on which the service has a replica that serves or will serve."""
        mask: Mask = (self.owner == owner_of_service(service.row)) & ~self.stopping
        return mask

    # GPUs

    def usable(self) -> Mask:
        """Return (N,) which GPUs are free and take new work."""
        mask: Mask = (self.owner == FREE) & ~self.lost & ~self.drained
        return mask

    def gpus_of_node(self, node: int) -> slice:
        """Return the GPUs of a node."""
        offsets = self.cluster.node_offsets
        return slice(offsets[node], offsets[node + 1])

    # Checks and documents

    def check(self) -> None:
        """Recompute every index from the records; raise `BrokenStateError` where one disagrees."""
        owner = np.full(len(self.owner), FREE, dtype=np.int64)
        waiting = 0
        marks = {ReplicaPhase.READY: self.serving, ReplicaPhase.STOPPING: self.stopping}
        phases = {gpu: phase for phase, mark in marks.items() for gpu in np.flatnonzero(mark).tolist()}
        for job in self.jobs:
            waiting += job.phase is JobPhase.WAITING
            self._check_size(job)
            if (job.phase in HOLDING) != (job.first_gpu != NOWHERE):
                raise BrokenStateError(f"job {job.request.id!r} is {job.phase} with first GPU {job.first_gpu}")
            if job.phase in HOLDING:
                self._claim(owner, slice(job.first_gpu, job.first_gpu + job.size), job.row, f"job {job.request.id!r}")
        for service in self.services:
            holding = np.fromiter(service.replicas, dtype=np.int64, count=len(service.replicas))
            self._claim(owner, holding, owner_of_service(service.row), f"service {service.request.id!r}")
            for gpu, replica in service.replicas.items():
                if phases.pop(gpu, ReplicaPhase.STARTING) is not replica.phase:
                    raise BrokenStateError(
                        f"mark and replica of GPU {gpu} do not agree: the replica is {replica.phase}"
                    )
        if phases:
            raise BrokenStateError(f"GPUs {sorted(phases)} are marked as serving or stopping, and have no replica")
        if waiting != self.waiting:
            raise BrokenStateError(f"{waiting} jobs wait, and {self.waiting} are counted")
        wrong = np.flatnonzero(owner != self.owner)
        if len(wrong):
            gpu = int(wrong[0])
            raise BrokenStateError(f"GPU {gpu} is marked {self.owner[gpu]}, and the records say {owner[gpu]}")

    def to_document(self) -> dict[str, Any]:
        """Return all facts as plain values; `restore` makes the same state of them."""
        return {
            "now": self.now,
            "step_seconds": self.step_seconds,
            "doubted_at": self.doubted_at,
            "commands": self.commands,
            "cancelled_unseen": sorted(self.cancelled_unseen),
            "priorities_unseen": {name: list(each) for name, each in sorted(self.priorities_unseen.items())},
            "cluster": self.cluster.model_dump(mode="json", by_alias=True, exclude_defaults=True),
            "jobs": msgspec.to_builtins(self.jobs),
            "services": msgspec.to_builtins(self.services, str_keys=True),
            "lost": np.flatnonzero(self.lost).tolist(),
            "drained": np.flatnonzero(self.drained).tolist(),
            "told": self.told.tolist(),
            "drain_told": self.drain_told.tolist(),
        }

    @classmethod
    def restore(cls, document: dict[str, Any]) -> ClusterState:
        """Return the state that `to_document` described, its invariants checked."""
        state = cls(Cluster.model_validate(document["cluster"]), (), document["step_seconds"], document["now"])
        state.doubted_at = document["doubted_at"]
        state.commands = document["commands"]
        state.cancelled_unseen = set(document["cancelled_unseen"])
        state.priorities_unseen = {
            name: (float(worth), n) for name, (worth, n) in document["priorities_unseen"].items()
        }
        state.jobs = msgspec.convert(document["jobs"], list[JobRecord])
        state.row_of_job = {job.request.id: job.row for job in state.jobs}
        state.services = msgspec.convert(document["services"], list[ServiceRecord], strict=False)
        state.row_of_service = {service.request.id: service.row for service in state.services}
        state.lost[document["lost"]] = True
        state.drained[document["drained"]] = True
        state.told[:] = document["told"]
        state.drain_told[:] = document["drain_told"]
        for job in state.jobs:
            state.waiting += job.phase is JobPhase.WAITING
            if job.phase in HOLDING:
                state.owner[job.first_gpu : job.first_gpu + job.size] = job.row
        for service in state.services:
            state.owner[list(service.replicas)] = owner_of_service(service.row)
            for gpu, replica in service.replicas.items():
                state.serving[gpu] = replica.phase is ReplicaPhase.READY
                state.stopping[gpu] = replica.phase is ReplicaPhase.STOPPING
        state.check()
        return state

    @staticmethod
    def _check_size(job: JobRecord) -> None:
        allowed = job.sizes if job.phase in HOLDING else job.sizes[-1:]
        if job.phase in HOLDING | {JobPhase.WAITING} and job.size not in allowed:
            raise BrokenStateError(f"job {job.request.id!r} is {job.phase} with {job.size} GPUs of {job.sizes}")

    @staticmethod
    def _claim(owner: Owners, gpus: slice | Owners, mark: int, name: str) -> None:
        if (owner[gpus] != FREE).any():
            held = np.arange(len(owner))[gpus]
            others = held[owner[gpus] != FREE].tolist()
            raise BrokenStateError(
                f"{name} holds GPUs {held[0]} to {held[-1]}, of which others hold some: {', '.join(map(str, others))}"
            )
        owner[gpus] = mark

    @staticmethod
    def _expect(job: JobRecord, phase: JobPhase) -> None:
        if job.phase is not phase:
            raise BrokenStateError(f"job {job.request.id!r} is {job.phase} and should be {phase}")
