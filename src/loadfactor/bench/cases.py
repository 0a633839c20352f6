"""The larger benchmark cases, made in code by seed: 64 GPUs with 30, 60 and 120 jobs, and a cluster of 10,240 GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from loadfactor.bench.dice import Dice, day_curve
from loadfactor.model import Cluster, GpuRange, Horizon, Job, Kind, Node, Problem, Service
from loadfactor.units import HOURS_PER_DAY, MINUTES_PER_HOUR

NODE_GPUS = 8
DENSE_SEEDS = range(5)
DENSE_JOBS = (30, 60, 120)
CLUSTER_NODES = 1_280
CLUSTER_JOBS = 2_000
CLUSTER_SERVICES = 20
CLUSTER_STEPS = 96
Weighted = tuple[tuple[int, float], ...]

KINDS: tuple[tuple[Kind, float], ...] = (("training", 0.4), ("batch_inference", 0.4), ("quantization", 0.2))


@dataclass(frozen=True)
class Mix:
    """How the jobs of a case are drawn; sizes with their weights, durations in steps, inclusive."""

    sizes: Weighted
    durations: dict[Kind, tuple[int, int]]
    latest_submit: int
    queued_share: float = 0.4
    moldable_share: float = 0.3


# Total work over the capacity that the services leave: about 0.8 with 30 jobs, 1.5 with 60, 1.8 with 120.
DENSE_MIXES = {
    30: Mix(
        ((1, 0.10), (2, 0.20), (4, 0.30), (8, 0.30), (16, 0.10)),
        {"training": (4, 12), "batch_inference": (2, 8), "quantization": (1, 6)},
        latest_submit=14,
    ),
    60: Mix(
        ((1, 0.15), (2, 0.20), (4, 0.30), (8, 0.25), (16, 0.10)),
        {"training": (4, 12), "batch_inference": (2, 8), "quantization": (1, 5)},
        latest_submit=14,
    ),
    120: Mix(
        ((1, 0.25), (2, 0.30), (4, 0.25), (8, 0.15), (16, 0.05)),
        {"training": (3, 10), "batch_inference": (2, 7), "quantization": (1, 4)},
        latest_submit=16,
    ),
}
# Most jobs are small and most GPU-hours are in the large ones, as in published traces of training clusters.
CLUSTER_MIX = Mix(
    (
        (1, 0.20),
        (2, 0.12),
        (4, 0.13),
        (8, 0.25),
        (16, 0.12),
        (32, 0.08),
        (64, 0.05),
        (128, 0.03),
        (256, 0.015),
        (512, 0.005),
    ),
    {"training": (12, 60), "batch_inference": (8, 40), "quantization": (4, 20)},
    latest_submit=72,
    queued_share=0.5,
)


def dense_case(jobs: int, seed: int) -> Problem:
    """Return a problem of 64 GPUs in 8 nodes over 24 hourly steps; with 60 and 120 jobs, more work than fits.

    `jobs` is a key of `DENSE_MIXES`: 30, 60 or 120.
    """
    dice = Dice(seed)
    services = (
        _service(dice, "chat-assistant", 9.0, (10, 14), 24),
        _service(dice, "code-assistant", 8.0, (5, 8), 24),
        _service(dice, "search-reranker", 7.0, (3, 5), 24),
    )
    return Problem(
        name=f"64-gpus-{jobs}-jobs-seed-{seed}",
        horizon=Horizon(steps=24, step_minutes=60.0),
        cluster=_cluster(8),
        jobs=_jobs(dice, DENSE_MIXES[jobs], jobs),
        services=services,
    )


def cluster_case(
    seed: int, nodes: int = CLUSTER_NODES, jobs: int = CLUSTER_JOBS, services: int = CLUSTER_SERVICES
) -> Problem:
    """Return a day of a large cluster in quarter-hour steps: total work about 1.3 times what the services leave."""
    dice = Dice(seed)
    peak = max(2, nodes * NODE_GPUS * 25 // 100 // max(services, 1))
    return Problem(
        name=f"{nodes * NODE_GPUS}-gpus-{jobs}-jobs-seed-{seed}",
        horizon=Horizon(steps=CLUSTER_STEPS, step_minutes=HOURS_PER_DAY * MINUTES_PER_HOUR / CLUSTER_STEPS),
        cluster=_cluster(nodes),
        jobs=_jobs(dice, _fitting(CLUSTER_MIX, nodes * NODE_GPUS // 4), jobs),
        services=tuple(
            _service(dice, f"service-{index}", float(dice.between((5, 9))), (peak // 2, peak * 3 // 2), CLUSTER_STEPS)
            for index in range(services)
        ),
    )


def work_over_capacity(problem: Problem) -> float:
    """Return the total work of the jobs over the cells that the services' demand leaves: above 1 not all can fit."""
    work = sum(job.gpus.max * job.duration_at(job.gpus.max) for job in problem.jobs)
    demand = sum(sum(service.demand) for service in problem.services)
    return work / (problem.cluster.gpu_count * problem.horizon.steps - demand)


def _cluster(nodes: int) -> Cluster:
    return Cluster(
        nodes=tuple(
            Node(name=f"node-{index}", gpus=NODE_GPUS, gpu_type="H100-80GB", gpu_memory_gib=80.0)
            for index in range(nodes)
        )
    )


def _fitting(mix: Mix, largest: int) -> Mix:
    sizes = tuple((size, weight) for size, weight in mix.sizes if size <= largest)
    return Mix(sizes, mix.durations, mix.latest_submit, mix.queued_share, mix.moldable_share)


def _jobs(dice: Dice, mix: Mix, count: int) -> tuple[Job, ...]:
    jobs = [_job(dice, mix, index) for index in range(count)]
    return tuple(sorted(jobs, key=lambda job: job.submit))


def _job(dice: Dice, mix: Mix, index: int) -> Job:
    kind = dice.weighted(KINDS)
    size, duration = dice.weighted(mix.sizes), dice.between(mix.durations[kind])
    priority = float(dice.between((1, 10)))
    submit = 0 if dice.chance(mix.queued_share) else dice.between((1, mix.latest_submit))
    moldable = size > 1 and dice.chance(mix.moldable_share)
    return Job(
        id=f"{kind.replace('_', '-')}-{index}",
        kind=kind,
        priority=priority,
        submit=submit,
        gpus=GpuRange(min=max(1, size // dice.choice((2, 4))) if moldable else size, max=size),
        duration=None if moldable else duration,
        work=size * duration if moldable else None,
    )


def _service(dice: Dice, name: str, priority: float, peaks: tuple[int, int], steps: int) -> Service:
    """Return a service with a day curve; its swap cap follows the steepest hour of such a curve, not less."""
    peak = dice.between(peaks)
    night = peak * dice.between((15, 35)) // 100
    demand = day_curve(night, peak, dice.between((10, 20)), dice.between((3, 5)), steps)
    steepest = max(abs(later - earlier) for earlier, later in pairwise(demand))
    return Service(id=name, priority=priority, demand=tuple(demand), max_swap=max(1, steepest - dice.between((0, 1))))
