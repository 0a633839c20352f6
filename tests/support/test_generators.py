"""The generators make cases worth testing: every feature, jobs that compete, services that move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from loadfactor.judge import judge
from loadfactor.model import Problem
from tests.support.generators import SMALL, TINY, Shape, random_problem
from tests.support.legal_plans import random_legal_plan

PROBLEMS = 200


def features(problem: Problem) -> Iterator[str]:
    """Yield the name of every feature that `problem` uses."""
    nodes, jobs, services = problem.cluster.nodes, problem.jobs, problem.services
    ask = sum(job.gpus.min * job.duration_at(job.gpus.min) for job in jobs)
    present = {
        "mixed nodes": len({(node.gpus, node.gpu_type) for node in nodes}) > 1,
        "typed nodes": any(node.gpu_type for node in nodes),
        "odd nodes": any(node.gpus & (node.gpus - 1) for node in nodes),
        "several nodes": len(nodes) > 1,
        "unavailable": bool(problem.cluster.unavailable),
        "running": any(job.running for job in jobs),
        "odd inherited": any(job.running and len(job.running.gpus) & (len(job.running.gpus) - 1) for job in jobs),
        "held": any(service.held for service in services),
        "moldable": any(job.gpus.min < job.gpus.max for job in jobs),
        "work": any(job.work for job in jobs),
        "needs": any(job.gpu_types or job.gpu_memory_gib for job in jobs),
        "needy service": any(service.gpu_types or service.gpu_memory_gib for service in services),
        "max_gpus": any(service.max_gpus is not None for service in services),
        "cap of 0": any(service.max_swap == 0 for service in services),
        "several services": len(services) > 1,
        "zero demand": any(not any(service.demand) for service in services),
        "whole nodes": problem.cluster.block_sizes == "whole_nodes",
        "open horizon": not problem.horizon.finish_inside,
        "no decay": problem.objective.decay == 1.0,
        "late submit": any(job.submit for job in jobs),
        "contention": ask > 0.7 * problem.cluster.gpu_count * problem.horizon.steps,
    }
    return (name for name, there in present.items() if there)


@pytest.mark.parametrize("shape", [TINY, SMALL], ids=["tiny", "small"])
def test_every_feature_is_common_enough(shape: Shape) -> None:
    seen = Counter(name for seed in range(PROBLEMS) for name in features(random_problem(seed, shape)))
    rare = {name: count for name, count in seen.items() if count < 0.02 * PROBLEMS}
    assert rare == {}
    assert len(seen) == 21
    assert seen["contention"] >= 0.4 * PROBLEMS


def test_random_plans_are_not_empty() -> None:
    seen: Counter[str] = Counter()
    for seed in range(PROBLEMS):
        problem = random_problem(seed, SMALL)
        metrics = judge(problem, plan := random_legal_plan(problem, Random(seed))).metrics
        seen["placed"] += len(plan.jobs) > 1
        seen["left out"] += bool(plan.unplaced)
        seen["swaps"] += metrics.churn > 0
        seen["shortfall"] += metrics.shortfall_gpu_steps > 0
    assert min(seen["placed"], seen["left out"], seen["swaps"], seen["shortfall"]) >= 0.5 * PROBLEMS, seen


def test_the_same_seed_makes_the_same_problem() -> None:
    assert random_problem(7) == random_problem(7)
    assert random_problem(7) != random_problem(8)
