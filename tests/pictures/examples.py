"""Problems and plans for the tests of the pictures: a small one made by hand, and legal-looking ones of any size."""

from __future__ import annotations

import random
from typing import Any

from loadfactor.model import Metrics, Placement, Plan, Problem, ServiceAllocation, Unplaced

SMALL: dict[str, Any] = {
    "name": "a small day",
    "horizon": {"steps": 24, "step_minutes": 60.0, "start": "2026-12-01T00:00:00Z"},
    "cluster": {
        "nodes": [{"name": "node-0", "gpus": 8}, {"name": "node-1", "gpus": 4}],
        "unavailable": [{"gpus": [10, 11], "from": 0, "until": 7}],
    },
    "jobs": [
        {"id": "pretrain", "kind": "training", "priority": 8.0, "gpus": 4, "duration": 10},
        {"id": "finetune", "kind": "training", "priority": 7.0, "submit": 3, "gpus": 2, "duration": 6},
        {"id": "nightly-sweep", "kind": "batch_inference", "priority": 3.0, "gpus": {"min": 1, "max": 4}, "work": 32},
        {"id": "int4", "kind": "quantization", "priority": 4.0, "gpus": 1, "duration": 3},
        {"id": "earlier", "kind": "training", "priority": 5.0, "gpus": 2, "duration": 9,
         "running": {"gpus": [8, 9], "remaining": 5}},
        {"id": "embed", "kind": "batch_inference", "priority": 2.0, "submit": 8, "gpus": 2, "duration": 9},
        {"id": "too-big", "kind": "training", "priority": 1.0, "gpus": 8, "duration": 20},
    ],
    "services": [
        {"id": "chat", "priority": 9.0, "max_swap": 1, "held": [7],
         "demand": [*[1] * 6, 2, 2, 3, 3, *[4] * 4, 3, 3, 3, 3, 2, 2, 2, 1, 1, 1]},
        {"id": "search", "priority": 6.0, "max_swap": 2, "demand": [*[1] * 11, *[2] * 5, *[1] * 8]},
    ],
}  # fmt: skip


def small_problem(**changes: Any) -> Problem:
    """Return the small problem with the named parts changed."""
    return Problem.from_document({**SMALL, **changes})


def small_plan() -> Plan:
    """Return a plan for the small problem, in which `chat` falls short at noon and `too-big` is left out."""
    chat = [[7]] * 6 + [[6, 7]] * 2 + [[5, 6, 7]] * 10 + [[6, 7]] * 3 + [[7]] * 3
    search = [[4]] * 11 + [[4, 10]] * 5 + [[4]] * 8
    return Plan(
        problem="a small day",
        policy="by hand",
        jobs=(
            Placement(id="pretrain", start=0, end=10, gpus=(0, 1, 2, 3)),
            Placement(id="finetune", start=12, end=18, gpus=(2, 3)),
            Placement(id="nightly-sweep", start=7, end=15, gpus=(8, 9)),
            Placement(id="int4", start=0, end=3, gpus=(5,)),
            Placement(id="earlier", start=0, end=5, gpus=(8, 9)),
            Placement(id="embed", start=10, end=19, gpus=(0, 1)),
        ),
        unplaced=(Unplaced(id="too-big", reason="needs a whole node for 20 steps"),),
        services=(
            ServiceAllocation(id="chat", gpus=tuple(map(tuple, chat))),
            ServiceAllocation(id="search", gpus=tuple(map(tuple, search))),
        ),
        metrics=Metrics(
            utilization=0.6, value=612.5, batch_reward=900.5, shortfall_penalty=288.0,
            shortfall_gpu_steps=4, jobs_finished=6, churn=8,
        ),
        bound=700.0,
    )  # fmt: skip


def made_up(
    nodes: int, jobs: int, services: int, steps: int, seed: int = 1, start: str | None = "2026-12-01T00:00:00Z"
) -> tuple[Problem, Plan]:
    """Return a problem on `nodes` nodes of 8 GPUs and a legal-looking plan for it: no two boxes overlap.

    The services hold the highest GPUs and follow their day curves late by a step; jobs fill rows of blocks below.
    """
    rng = random.Random(seed)
    gpu_count = 8 * nodes
    room = gpu_count // (3 * services) if services else 0
    service_documents, allocations = [], []
    for index in range(services):
        first = gpu_count - (index + 1) * room
        peak = 10 + rng.randrange(8)
        demand = [max(1, round(room * (1.1 - abs((t * 24 / steps) % 24 - peak) / 12))) for t in range(steps)]
        held = [min(room, demand[max(0, t - 1)]) for t in range(steps)]
        service_documents.append({"id": f"service-{index}", "priority": 9.0, "demand": demand, "max_swap": room})
        allocations.append(
            ServiceAllocation(id=f"service-{index}", gpus=tuple(tuple(range(first, first + count)) for count in held))
        )
    free_from = [0] * ((gpu_count - room * services) // 8 * 8)
    job_documents, placements, unplaced = [], [], []
    for index in range(jobs):
        kind = rng.choice(["training", "training", "batch_inference", "quantization"])
        size = rng.choice([1, 1, 2, 4, 8, 16, 32] if kind == "training" else [1, 2, 4])
        size = min(size, len(free_from) or 1)
        duration = rng.randint(max(1, steps // 12), max(2, steps // 3))
        submit = rng.randrange(max(1, steps // 2))
        name = f"{kind[:5]}-{index}"
        job_documents.append(
            {
                "id": name,
                "kind": kind,
                "priority": float(rng.randint(1, 9)),
                "submit": submit,
                "gpus": size,
                "duration": duration,
            }
        )
        starts = [
            (max(submit, *free_from[block : block + size], 0), block)
            for block in range(0, len(free_from) - size + 1, size)
        ]
        at, block = min(starts, default=(steps, 0))
        if at + duration > steps:
            unplaced.append(Unplaced(id=name, reason="no block is free for long enough"))
            continue
        free_from[block : block + size] = [at + duration] * size
        placements.append(Placement(id=name, start=at, end=at + duration, gpus=tuple(range(block, block + size))))
    horizon: dict[str, Any] = {"steps": steps, "step_minutes": 1440.0 / max(24, steps // 24 * 24)}
    if start:
        horizon["start"] = start
    problem = Problem.from_document(
        {
            "name": f"{gpu_count} GPUs",
            "horizon": horizon,
            "cluster": {"nodes": [{"name": f"node-{i}", "gpus": 8} for i in range(nodes)]},
            "jobs": job_documents,
            "services": service_documents,
        }
    )
    plan = Plan(
        problem=problem.name,
        policy="made up",
        jobs=tuple(placements),
        unplaced=tuple(unplaced),
        services=tuple(allocations),
    )
    return problem, plan
