"""Small worlds in which everything goes wrong, drawn with a seed, and their facts in plain numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    wild_stamp=0.02,
)
WILD_SECONDS = 100 * SECONDS_PER_DAY
BIG, SMALL = ("H100", 80.0), ("L40", 48.0)
UNKNOWN = (None, None)


@dataclass(frozen=True)
class Shape:
    """A cluster by GPUs, type and memory of every node; the largest job of any type, and of those that name one.

    The largest are those that find room wherever three replicas sit.
    """

    nodes: tuple[tuple[int, tuple[str | None, float | None]], ...]
    block_sizes: str
    largest: int
    largest_of_type: Mapping[str, int]


SHAPES = (
    Shape(((4, BIG),) * 4 + ((4, SMALL),) * 4 + ((2, UNKNOWN), (1, SMALL)), "power_of_two", 8, {"H100": 4, "L40": 4}),
    Shape(((2, BIG),) * 6 + ((2, SMALL),) * 6, "whole_nodes", 6, {"H100": 2, "L40": 2}),
    Shape(((2, BIG),) * 3 + ((8, SMALL), (4, SMALL)), "whole_nodes", 4, {"H100": 1, "L40": 2}),
)


def cluster_of(seed: int) -> Cluster:
    """Return the cluster of one of `SHAPES`, each in its turn."""
    shape = SHAPES[seed % len(SHAPES)]
    named = tuple(
        Node(name=f"node-{index}", gpus=gpus, gpu_type=kind, gpu_memory_gib=memory)
        for index, (gpus, (kind, memory)) in enumerate(shape.nodes)
    )
    return Cluster.model_validate({"block_sizes": shape.block_sizes, "nodes": named})


def fault_world(seed: int, faults: FaultRates = ALL_FAULTS) -> World:
    """Return a world of 40 jobs and two services on a small cluster, until all jobs are over or a week has passed."""
    rng = Random(f"world {seed}")
    cluster = cluster_of(seed)
    services = (
        ServiceRequest("chat", priority=8.0, max_swap=rng.randint(1, 4), start_seconds=rng.choice((0, 90, 700))),
        ServiceRequest(
            "search", 2.0, rng.randint(1, 3), 1, 30, rng.choice((None, ("H100", "A100"))), rng.choice((None, 40.0))
        ),
    )
    demand = {
        service.id: np.array([rng.choice((0, 1, 1, 2)) for _ in range(rng.randint(3, 30))]) for service in services
    }
    return World(
        cluster=cluster,
        arrivals=_arrivals(rng, SHAPES[seed % len(SHAPES)]),
        services=services,
        demand=demand,
        job_start_seconds=rng.choice((0, 1, 60)),
        replica_stop_seconds=rng.choice((0, 30)),
        end=7 * SECONDS_PER_DAY,
        faults=faults,
        seed=seed,
    )


def _arrivals(rng: Random, shape: Shape) -> list[Arrival]:
    at, arrivals = 0, []
    for number in range(JOBS):
        at += int(rng.expovariate(1 / 250))
        run_seconds = 1 + int(rng.expovariate(1 / 2_000))
        arrivals.append(Arrival(at, _job(f"job-{number}", run_seconds, rng, shape), run_seconds))
    return arrivals


def _job(name: str, run_seconds: int, rng: Random, shape: Shape) -> JobRequest:
    """Draw a job: a third of them need certain GPUs, and half of those that can use more are moldable."""
    kind = rng.choice((None, None, None, None, *shape.largest_of_type))
    largest = shape.largest if kind is None else shape.largest_of_type[kind]
    gpus = min(largest, 1 + int(rng.expovariate(0.4)))
    most = rng.randint(gpus, largest) if rng.random() < 0.5 else None
    work = gpus * run_seconds * rng.choice((1, 1, 3)) if most is not None and rng.random() < 0.7 else None
    limit = None if work is not None else rng.choice((None, run_seconds, 3 * run_seconds))
    by_type = kind is not None and rng.random() < 0.5
    return JobRequest(
        name,
        gpus,
        priority=float(rng.randint(1, 8)),
        limit_seconds=limit,
        user="ada",
        most_gpus=most,
        work_gpu_seconds=work,
        gpu_types=(kind,) if kind is not None and by_type else None,
        gpu_memory_gib=80.0 if kind == "H100" and not by_type else 40.0 if kind is not None and not by_type else None,
    )


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
        wild_seconds=WILD_SECONDS,
        most={each.job.id: each.job.most for each in world.arrivals},
        work={each.job.id: each.gpu_seconds for each in world.arrivals if each.job.work_gpu_seconds is not None},
        node_types=tuple(node.gpu_type for node in world.cluster.nodes),
        node_memory_gib=tuple(node.gpu_memory_gib for node in world.cluster.nodes),
        types={each.id: each.gpu_types for each in _everybody(world) if each.gpu_types is not None},
        memory_gib={each.id: each.gpu_memory_gib for each in _everybody(world) if each.gpu_memory_gib is not None},
        outages=tuple(Outage(loss.at, loss.back_at, loss.gpus) for loss in losses),
    )


def _everybody(world: World) -> list[JobRequest | ServiceRequest]:
    return [*(arrival.job for arrival in world.arrivals), *world.services]
