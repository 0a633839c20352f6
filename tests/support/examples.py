"""One small problem and a legal plan for it, to be changed in one place at a time: "the small one, but with …"."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from loadfactor.model import Plan, Problem

Document = dict[str, Any]

# Two nodes of 4 GPUs, 6 steps. GPU 7 is out for the first 2 steps.
PROBLEM: Document = {
    "name": "small",
    "horizon": {"steps": 6, "step_minutes": 60.0, "start": "2026-12-01T00:00:00Z", "finish_inside": True},
    "objective": {"realtime_penalty": 8.0, "decay": 0.5},
    "cluster": {
        "block_sizes": "power_of_two",
        "nodes": [
            {"name": "red", "gpus": 4, "gpu_type": "H100", "gpu_memory_gib": 80.0},
            {"name": "blue", "gpus": 4, "gpu_type": "A100", "gpu_memory_gib": 40.0},
        ],
        "unavailable": [{"gpus": [7], "from": 0, "until": 2}],
    },
    "jobs": [
        {"id": "train", "kind": "training", "priority": 2.0, "submit": 1, "gpus": 2, "duration": 2},
        {
            "id": "sweep",
            "kind": "batch_inference",
            "priority": 3.0,
            "submit": 0,
            "gpus": {"min": 1, "max": 4},
            "work": 7,
            "gpu_memory_gib": 80.0,
            "gpu_types": ["H100"],
        },
        {
            "id": "earlier",
            "kind": "quantization",
            "priority": 1.0,
            "submit": 0,
            "gpus": 2,
            "duration": 9,
            "running": {"gpus": [4, 6], "remaining": 3},
        },
    ],
    "services": [
        {"id": "chat", "priority": 9.0, "demand": [1, 1, 2, 3, 1, 0], "max_swap": 1, "max_gpus": 3, "held": [5]}
    ],
}
PLAN: Document = {
    "problem": "small",
    "policy": "by hand",
    "jobs": [
        {"id": "sweep", "start": 0, "end": 2, "gpus": [0, 1, 2, 3]},
        {"id": "train", "start": 2, "end": 4, "gpus": [0, 1]},
        {"id": "earlier", "start": 0, "end": 3, "gpus": [4, 6]},
    ],
    "unplaced": [],
    "services": [{"id": "chat", "gpus": [[5], [5], [5, 7], [4, 5, 7], [4, 5], [4]]}],
}


def problem_document(**parts: Any) -> Document:
    """Return the small problem with other parts."""
    return {**deepcopy(PROBLEM), **parts}


def small_problem(**parts: Any) -> Problem:
    """Return the small problem with other parts."""
    return Problem.from_document(problem_document(**parts))


def small_plan(**parts: Any) -> Plan:
    """Return the legal plan of the small problem with other parts."""
    return Plan.from_document({**deepcopy(PLAN), **parts})


def plan_with_job(id_: str, **changes: Any) -> Plan:
    """Return the legal plan with other fields for the placement of one job."""
    jobs = [{**job, **changes} if job["id"] == id_ else job for job in deepcopy(PLAN["jobs"])]
    return small_plan(jobs=jobs)


def plan_with_chat(*gpus: list[int]) -> Plan:
    """Return the legal plan with other GPUs for the service."""
    return small_plan(services=[{"id": "chat", "gpus": list(gpus)}])


def job_document(id_: str, **changes: Any) -> Document:
    """Return one job of the small problem with other fields; a field that is None is left out."""
    job = {**deepcopy(next(job for job in PROBLEM["jobs"] if job["id"] == id_)), **changes}
    return {name: value for name, value in job.items() if value is not None}


def problem_with_job(id_: str, **changes: Any) -> Problem:
    """Return the small problem with other fields for one job."""
    jobs = [job_document(job["id"], **(changes if job["id"] == id_ else {})) for job in PROBLEM["jobs"]]
    return small_problem(jobs=jobs)


def problem_with_chat(**changes: Any) -> Problem:
    """Return the small problem with other fields for the service; a field that is None is left out."""
    service = {**deepcopy(PROBLEM["services"][0]), **changes}
    return small_problem(services=[{name: value for name, value in service.items() if value is not None}])
