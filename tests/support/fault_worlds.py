"""Small worlds in which everything goes wrong, drawn with a seed, and their facts in plain numbers."""

from __future__ import annotations

from random import Random

import numpy as np

from loadfactor.control import JobRequest, ServiceRequest
from loadfactor.engines import Arrival, FaultRates, World
from loadfactor.engines.checkers import Facts, Outage
from loadfactor.engines.faults import Faults
from loadfactor.model import Cluster, Node
from loadfactor.units import SECONDS_PER_DAY, SECONDS_PER_HOUR

JOBS = 40
ALL_FAULTS = FaultRates(
    node_losses_per_hour=1.0,
    repair_seconds=2 * SECONDS_PER_HOUR,
    late=0.3,
    delay_seconds=240,
    doubled=0.2,
    refused=0.1,
    clock_jump_seconds=900,
)
CLUSTERS = {
    "mixed nodes": ((4,) * 8 + (2, 1), "power_of_two", 8),
    "whole nodes": ((2,) * 12, "whole_nodes", 6),
    "mixed whole nodes": ((2, 2, 2, 8, 4), "whole_nodes", 4),
}
"""GPUs of every node, block sizes, and the largest job: one that finds room wherever three replicas sit."""


def cluster_of(seed: int) -> Cluster:
    """Return one of `CLUSTERS`, each in its turn."""
    nodes, block_sizes, _ = list(CLUSTERS.values())[seed % len(CLUSTERS)]
    named = tuple(Node(name=f"node-{index}", gpus=gpus) for index, gpus in enumerate(nodes))
    return Cluster.model_validate({"block_sizes": block_sizes, "nodes": named})


def fault_world(seed: int, faults: FaultRates = ALL_FAULTS) -> World:
    """Return a world of 40 jobs and two services on a small cluster, until all jobs are over or a week has passed."""
    rng = Random(f"world {seed}")
    cluster = cluster_of(seed)
    services = (
        ServiceRequest("chat", priority=8.0, max_swap=rng.randint(1, 4), start_seconds=rng.choice((0, 90, 700))),
        ServiceRequest("search", priority=2.0, max_swap=rng.randint(1, 3), max_gpus=1, start_seconds=30),
    )
    demand = {
        service.id: np.array([rng.choice((0, 1, 1, 2)) for _ in range(rng.randint(3, 30))]) for service in services
    }
    return World(
        cluster=cluster,
        arrivals=_arrivals(rng, list(CLUSTERS.values())[seed % len(CLUSTERS)][2]),
        services=services,
        demand=demand,
        job_start_seconds=rng.choice((0, 1, 60)),
        replica_stop_seconds=rng.choice((0, 30)),
        end=7 * SECONDS_PER_DAY,
        faults=faults,
        seed=seed,
    )


def _arrivals(rng: Random, largest: int) -> list[Arrival]:
    at, arrivals = 0, []
    for number in range(JOBS):
        at += int(rng.expovariate(1 / 250))
        gpus = min(largest, 1 + int(rng.expovariate(0.4)))
        run_seconds = 1 + int(rng.expovariate(1 / 2_000))
        limit = rng.choice((None, run_seconds, 3 * run_seconds))
        job = JobRequest(f"job-{number}", gpus, priority=float(rng.randint(1, 8)), limit_seconds=limit, user="ada")
        arrivals.append(Arrival(at, job, run_seconds))
    return arrivals


def facts_of(world: World) -> Facts:
    """Return the world in plain numbers, as the checkers read it."""
    last = world.end if world.end is not None else world.begin + 366 * SECONDS_PER_DAY
    losses = Faults(world.faults, world.seed).losses(world.cluster, world.begin, last)
    return Facts(
        node_gpus=tuple(node.gpus for node in world.cluster.nodes),
        whole_nodes=world.cluster.block_sizes == "whole_nodes",
        asked={arrival.job.id: arrival.job.gpus for arrival in world.arrivals},
        run_seconds={arrival.job.id: arrival.run_seconds for arrival in world.arrivals},
        job_start_seconds=world.job_start_seconds,
        replica_start_seconds={service.id: service.start_seconds for service in world.services},
        replica_stop_seconds=world.replica_stop_seconds,
        max_swap={service.id: service.max_swap for service in world.services},
        max_gpus={each.id: each.max_gpus for each in world.services if each.max_gpus is not None},
        demand={name: tuple(curve.tolist()) for name, curve in world.demand.items()},
        step_seconds=world.step_seconds,
        begin=world.begin,
        outages=tuple(Outage(loss.at, loss.back_at, loss.gpus) for loss in losses),
    )
