"""Problems made by hand, whose blockers and cheapest changes are known by construction. Decay is 1: sums are exact."""

from __future__ import annotations

from typing import Any

from loadfactor.allocator import decide
from loadfactor.explain import Change, Explanation, JobExplanation, ServiceExplanation, explain
from loadfactor.model import Plan, Problem
from loadfactor.policies import Effort

EFFORT = Effort(iterations=300, seed=0)


def problem(steps: int, gpus: int | list[int], **parts: Any) -> Problem:
    """Return a problem of `steps` steps on nodes of these sizes; `parts` override the rest."""
    sizes = [gpus] if isinstance(gpus, int) else gpus
    nodes = [{"name": f"node-{index}", "gpus": size} for index, size in enumerate(sizes)]
    horizon = {"steps": steps, **parts.pop("horizon", {})}
    cluster = {"nodes": nodes, **parts.pop("cluster", {})}
    base = {"name": "by hand", "horizon": horizon, "cluster": cluster, "objective": {"decay": 1.0}}
    return Problem.from_document({**base, **parts})


def job(id_: str, priority: float, gpus: Any, duration: int, **more: Any) -> dict[str, Any]:
    """Return the document of a job."""
    return {"id": id_, "kind": "training", "priority": priority, "gpus": gpus, "duration": duration, **more}


def service(id_: str, demand: list[int], max_swap: int, priority: float = 9.0, **more: Any) -> dict[str, Any]:
    """Return the document of a service."""
    return {"id": id_, "priority": priority, "demand": demand, "max_swap": max_swap, **more}


def planned(described: Problem, policy: str = "fast") -> Plan:
    """Return a policy's plan."""
    return decide(described, policy, EFFORT).plan


def explained(described: Problem, plan: Plan | None = None, id_: str | None = None) -> Explanation:
    """Return the explanation of `plan`, or of the plan of `fast`."""
    return explain(described, plan or planned(described), id_, policy_name="fast", effort=EFFORT)


def of_job(explanation: Explanation, id_: str) -> JobExplanation:
    """Return what is said of a job."""
    return next(item for item in explanation.jobs if item.id == id_)


def of_service(explanation: Explanation, id_: str) -> ServiceExplanation:
    """Return what is said of a service."""
    return next(item for item in explanation.services if item.id == id_)


def change(item: JobExplanation | ServiceExplanation, kind: str) -> Change:
    """Return the one change of that kind."""
    (found,) = (made for made in item.changes if made.kind == kind)
    return found


def kinds(item: JobExplanation | ServiceExplanation) -> list[str]:
    """Return the kinds of the changes, cheapest first."""
    return [made.kind for made in item.changes]


def ramp_in_the_way() -> Problem:
    """A service that may not swap holds 2 GPUs for its first and last step; `small` would fit in between.

    The four steps of `small` are worth as much as these two GPU-steps of demand at a priority of 36.004.
    """
    return problem(
        6,
        2,
        jobs=[job("small", 1.0, 1, 4)],
        services=[service("chat", [2, 1, 1, 1, 1, 2], max_swap=0, priority=9.001)],
    )


def outranked() -> Problem:
    """`low` wants all that `high` holds from start to end, at a lower priority."""
    return problem(6, 4, jobs=[job("high", 5.005, 4, 6), job("low", 3.0, 4, 6)])


def one_step_short() -> Problem:
    """`second` needs two steps behind the five of `first`, and there are six."""
    return problem(6, 1, jobs=[job("first", 9.0, 1, 5), job("second", 1.0, 1, 2)])


def drained() -> Problem:
    """The only GPU is unavailable in the middle step of three; `steady` needs all of them."""
    unavailable = [{"gpus": [0], "from": 1, "until": 2}]
    return problem(3, 1, cluster={"unavailable": unavailable}, jobs=[job("steady", 2.0, 1, 3)])


def fragmented() -> Problem:
    """Running jobs on GPUs 0 and 2 leave GPUs 1 and 3: two are free, but no block of two."""
    running = [job(f"old-{gpu}", 5.0, 1, 9, running={"gpus": [gpu], "remaining": 4}) for gpu in (0, 2)]
    return problem(4, 4, jobs=[*running, job("pair", 4.0, 2, 2)])
