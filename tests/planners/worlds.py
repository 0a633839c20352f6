"""Small virtual worlds, for the tests of planners."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from loadfactor.control import JobRequest, Planner, ServiceRequest
from loadfactor.engines import Arrival, World
from loadfactor.model import Cluster, Node
from loadfactor.replay.run import Replayed, replay

HOUR = 3_600


def world(seed: int = 0, jobs: int = 60, nodes: int = 4) -> World:
    """Return two days of a cluster of nodes of 4 GPUs with one service that follows a day curve."""
    random = np.random.default_rng(seed)
    at = np.cumsum(random.exponential(1_500, jobs)).astype(int)
    sizes, runs = random.choice([1, 2, 4, 8], jobs), random.lognormal(8, 1, jobs).astype(int) + 1
    arrivals = [
        Arrival(
            int(second),
            JobRequest(
                f"job-{number}",
                int(sizes[number]),
                priority=float(random.choice([1, 2, 4, 8])),
                limit_seconds=int(runs[number] * random.uniform(1.2, 10)),
                account=f"account-{number % 3}",
            ),
            int(runs[number]),
        )
        for number, second in enumerate(at)
    ]
    curve = np.round(4 + 3 * np.sin(np.arange(144) / 144 * 2 * np.pi)).astype(np.int64)
    described = Cluster(nodes=tuple(Node(name=f"node-{each}", gpus=4) for each in range(nodes)))
    service = ServiceRequest("chat", 8.0, max_swap=3, start_seconds=300)
    return World(cluster=described, arrivals=arrivals, services=[service], demand={"chat": curve})


def without_services(described: World) -> World:
    """Return the world without its services."""
    return replace(described, services=(), demand={})


def lived(described: World, planner: Planner) -> Replayed:
    """Return the world after its replay; decisions take no time, so that none is late."""
    return replay(described, planner, clock=lambda: 0.0, checked_every=50)


def waits_hours(replayed: Replayed) -> dict[str, float]:
    """Return how long each job waited for its first block."""
    return {job.request.id: (job.first_given_at - job.submitted_at) / HOUR for job in replayed.state.jobs}
