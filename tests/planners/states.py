"""Small clusters at work, for the tests of planners."""

from __future__ import annotations

from random import Random

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from loadfactor.control import ClusterState, JobRequest, ServiceRequest
from loadfactor.control.changes import JobLeftQueue, JobWaits
from loadfactor.control.planners import JobBook, by_priority
from loadfactor.foresight import UserLimit
from loadfactor.model import Cluster, Node

STEP_SECONDS = 600


def cluster(nodes: int = 3, gpus: int = 4, kinds: tuple[tuple[str | None, float | None], ...] = ()) -> Cluster:
    """Return a cluster of nodes of so many GPUs that admits any number of whole nodes."""
    kinds = kinds or ((None, None),) * nodes
    named = tuple(
        Node(name=f"node-{each}", gpus=gpus, gpu_type=kind, gpu_memory_gib=memory)
        for each, (kind, memory) in enumerate(kinds)
    )
    return Cluster(block_sizes="whole_nodes", nodes=named)


MIXED = (("H100", 80.0), ("H100", 80.0), ("L40", 48.0))


def at_work(seed: int, services: int = 1, mixed: bool = False) -> tuple[ClusterState, JobBook]:
    """Return a cluster in the middle of things: jobs run and wait, services hold GPUs, one GPU may be lost.

    With `mixed` nodes differ, jobs and services need some of them, and jobs are moldable.
    """
    random = Random(seed)
    requests = [_service(each, random, mixed) for each in range(services)]
    state = ClusterState(
        cluster(kinds=MIXED if mixed else ()),
        requests,
        STEP_SECONDS,
        now=7 * STEP_SECONDS + random.randrange(STEP_SECONDS),
    )
    book = JobBook(by_priority, UserLimit())
    if random.random() < 0.3:
        state.lost[random.randrange(12)] = True
    for service in state.services:
        suitable = state.block_sizes.gpus(state.block_sizes.need(service.request))
        for gpu in random.sample(range(12), 2):
            if state.usable()[gpu] and suitable[gpu]:
                state.give_gpu(service, gpu)
    for number in range(10):
        size = random.choice([1, 1, 2, 3, 4, 8])
        limit = random.randint(1, 9_000)
        request = JobRequest(f"job-{number}", size, priority=random.randint(1, 8), limit_seconds=limit)
        job = state.add(_mixed(request, random) if mixed else request, state.now)
        if not job.sizes:
            continue
        book.notice(JobWaits(job), state)
        usable = state.usable() & state.block_sizes.gpus(state.block_sizes.need(job.request))
        fits = [first for first in starts(state.cluster, job.size) if usable[first : first + job.size].all()]
        if fits and random.random() < 0.5:
            state.give_block(job, random.choice(fits), state.now)
            book.notice(JobLeftQueue(job), state)
    state.now += random.randrange(STEP_SECONDS)
    state.check()
    return state, book


def _service(row: int, random: Random, mixed: bool) -> ServiceRequest:
    max_swap = random.randint(1, 4)
    kinds = random.choice((None, ("H100",), ("L40",))) if mixed else None
    return ServiceRequest(f"service-{row}", 8.0, max_swap=max_swap, gpu_types=kinds)


def _mixed(request: JobRequest, random: Random) -> JobRequest:
    most = min(12, request.gpus * random.choice((1, 2, 3, 4)))
    kind = random.choice((None, None, "H100", "L40"))
    return replace(
        request,
        most_gpus=most,
        work_gpu_seconds=random.choice((None, random.randint(1, 20_000))),
        gpu_types=None if kind is None else (kind,),
        gpu_memory_gib=random.choice((None, None, 48.0, 80.0)) if kind is None else None,
    )


def starts(described: Cluster, size: int) -> list[int]:
    """Return the first GPUs of all blocks of a size (R3), slowly."""
    offsets = described.node_offsets
    found = []
    for first in range(described.gpu_count - size + 1):
        last = first + size
        inside = described.node_of(first) == described.node_of(last - 1)
        if inside or (first in offsets and last in offsets):
            found.append(first)
    return found


def free_at(seed: int, gpus: int = 12) -> npt.NDArray[np.float64]:
    """Return random moments from which on GPUs are free: some nodes wholly now, some GPUs never."""
    random = np.random.default_rng(seed)
    moments = random.integers(1, 50, gpus).astype(np.float64)
    moments[random.random(gpus) < 0.4] = 0.0
    moments[random.random(gpus) < 0.1] = np.inf
    moments[np.repeat(random.random(gpus // 4) < 0.5, 4)] = 0.0
    return moments
