"""Small worlds and recipes that the tests build on, and a slow account of them, second by second."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from loadfactor.control import ClusterState, ControlLoop, JobRequest, ServiceRequest
from loadfactor.control.effects import Effect, StartJob, StartReplica, StopReplica
from loadfactor.control.events import (
    Event,
    GpusBack,
    GpusLost,
    JobEnded,
    JobLost,
    ReplicaReady,
    ReplicaStopped,
    StartRefused,
)
from loadfactor.control.planners import safe_planner
from loadfactor.engines import Arrival, FaultRates, SimulatedEngine, World
from loadfactor.model import Cluster, Node
from loadfactor.replay.contestants import Setting, make_planner
from loadfactor.replay.recipe import ReplayRecipe

GPUS = 12
JOBS = """id,at,ran,gpus,who,limit,worth
a,0,600,2,ada,900,4
b,60,300,4,bob,,2
c,90,1200,3,ada,1300,
d,4000,60,9,eve,,1
"""
DEMAND = "t_s,rate\n0,1\n600,3\n1200,0\n1800,2\n"


def tiny_world(seed: int, losses: float = 0.0) -> World:
    """Return three nodes of four GPUs, two services, and about twenty jobs within the first hour."""
    random = Random(seed)
    times = sorted(random.randrange(3600) for _ in range(20))
    arrivals = [
        Arrival(
            at,
            JobRequest(f"job-{number}", random.choice((1, 1, 2, 3, 4, 8)), priority=random.choice((1.0, 4.0))),
            random.randrange(1, 900),
        )
        for number, at in enumerate(times)
    ]
    curves = {name: np.array([random.randrange(4) for _ in range(7)]) for name in ("chat", "embed")}
    return World(
        cluster=Cluster(nodes=tuple(Node(name=f"node-{number}", gpus=4) for number in range(3))),
        arrivals=arrivals,
        services=[ServiceRequest("chat", 8.0, 4, start_seconds=100), ServiceRequest("embed", 2.0, 4, start_seconds=30)],
        demand=curves,
        step_seconds=300,
        job_start_seconds=20,
        end=20_000,
        faults=FaultRates(node_losses_per_hour=losses, repair_seconds=400),
        seed=seed,
    )


Story = list[tuple[int, Event | Effect]]


def story_of(world: World, policy: str) -> tuple[Story, int]:
    """Return everything that was told and done in a replay, with its second, and the second at which it ended."""
    engine = SimulatedEngine(world)
    state = ClusterState(engine.inventory(), world.services, world.step_seconds, world.begin)
    loop = ControlLoop(state, make_planner(policy, Setting(world)), safe_planner(), lambda: 0.0)
    story: Story = []
    while (event := engine.next_event()) is not None:
        story.append((engine.now, event))
        for effect in loop.step(event):
            story.append((engine.now, effect))
            engine.carry_out(effect)
    return story, engine.now


def slow_account(world: World, story: Story, until: int) -> Counter[str]:
    """Return GPU-seconds by use in [0, `until`), counted GPU by GPU and second by second from the story alone."""
    account: Counter[str] = Counter()
    asked = {arrival.job.id: arrival.job.gpus for arrival in world.arrivals}
    replicas: dict[int, tuple[str, str]] = {}
    jobs: dict[str, tuple[int, int, int]] = {}
    lost: set[int] = set()
    position = 0
    for second in range(until):
        while position < len(story) and story[position][0] <= second:
            _happen(story[position][1], second, replicas, jobs, lost)
            position += 1
        for name, (first, size, began) in jobs.items():
            working = second >= began + world.job_start_seconds
            account["jobs" if working else "job_starting"] += asked[name] if working else size
            account["padding"] += size - asked[name] if working else 0
            assert not set(range(first, first + size)) & (lost | set(replicas))
        for service in world.services:
            phases = Counter(phase for name, phase in replicas.values() if name == service.id)
            demand = world.demand_at(service.id, second)
            account["services"] += min(demand, phases["ready"])
            account["unmet"] += max(0, demand - phases["ready"])
            account["spare"] += max(0, phases["ready"] - demand)
            account["replica_starting"] += phases["starting"]
            account["replica_stopping"] += phases["stopping"]
        account["lost"] += len(lost)
        account["idle"] += GPUS - len(lost) - len(replicas) - sum(size for _, size, _ in jobs.values())
    return account


def _happen(
    what: Event | Effect,
    second: int,
    replicas: dict[int, tuple[str, str]],
    jobs: dict[str, tuple[int, int, int]],
    lost: set[int],
) -> None:
    match what:
        case StartJob():
            jobs[what.job_id] = (what.first_gpu, what.size, second)
        case JobEnded() | JobLost() | StartRefused():
            del jobs[what.job_id]
        case StartReplica():
            replicas[what.gpu] = (what.service_id, "starting")
        case ReplicaReady():
            replicas[what.gpu] = (what.service_id, "ready")
        case StopReplica():
            replicas[what.gpu] = (what.service_id, "stopping")
        case ReplicaStopped():
            replicas.pop(what.gpu, None)
        case GpusLost():
            lost |= set(what.gpus)
        case GpusBack():
            lost -= set(what.gpus)


def recipe_document(directory: Path, **changes: Any) -> dict[str, Any]:
    """Return the document of a small recipe whose logs are written to `directory`; `changes` lie over it."""
    (directory / "jobs.csv").write_text(JOBS, encoding="utf-8")
    (directory / "demand.csv").write_text(DEMAND, encoding="utf-8")
    columns = {"id": "id", "submit": "at", "duration": "ran", "gpus": "gpus", "user": "who", "limit": "limit"}
    return {
        "name": "small",
        "cluster": "2x8",
        "jobs": [{"file": "jobs.csv", "format": {"times": "seconds", "columns": columns | {"priority": "worth"}}}],
        "services": [
            {
                "id": "chat",
                "file": "demand.csv",
                "format": {"times": "seconds", "columns": {"time": "t_s", "rate": "rate"}},
            }
        ],
        "policies": ["fifo+peak", "priority+reactive"],
    } | changes


def small_recipe(directory: Path, **changes: Any) -> ReplayRecipe:
    """Return the small recipe."""
    return ReplayRecipe.from_document(recipe_document(directory, **changes), directory)
