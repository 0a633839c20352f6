"""Conflicts among nodes, against brute force: what they name has no positions, and what they forbid is illegal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from loadfactor.model import Problem
from loadfactor.policies.draft import decayed_steps
from loadfactor.policies.full.arranging import neighbours
from loadfactor.policies.full.choices import job_classes
from loadfactor.policies.full.decided import Decided
from loadfactor.policies.full.outlines import forbid, outline_of
from loadfactor.policies.full.refuting import Demands, Refuter
from loadfactor.policies.full.search import counts_model
from loadfactor.policies.full.shrinking import Shrinker
from loadfactor.policies.full.solver import Limits, solve
from tests.support.brute_force import best_value
from tests.support.generators import Shape, random_problem

THREES = Shape(nodes=2, node_sizes=(3,), gpus=6, steps=5, jobs=5, services=1)
LIMITS = Limits(seconds=5.0, seed=0, workers=1, linearization=1, quick=True)
CUTS = 6
HARSH = {"realtime_penalty": 100.0}


def _conflicts(problem: Problem) -> Iterator[Demands]:
    """Yield conflicts of one optimum in counts after the other, each forbidden before the next is looked for.

    At the end the counts must still be worth what the best legal plan is.
    """
    classes = job_classes(problem)
    counts, refuter = counts_model(problem, classes), Refuter(problem, classes)
    for _ in range(CUTS if refuter.applies else 0):
        outcome = solve(counts.model, LIMITS)
        demands = Demands.of(problem, classes, outline_of(Decided.by_solver(counts, outcome.values)))
        conflict = Shrinker(refuter, demands, LIMITS).refute(5.0)
        if conflict is None:
            break
        yield conflict
        forbid(counts, conflict)
    outcome = solve(counts.model, LIMITS)
    inherited = sum(
        job.priority * len(job.running.gpus) * decayed_steps(problem, 0, min(job.running.remaining, _steps(problem)))
        for job in problem.jobs
        if job.running
    )
    best = best_value(problem)
    assert counts.scale.value(outcome.bound) + inherited >= best - 1e-6 * max(1.0, abs(best))


def _steps(problem: Problem) -> int:
    return problem.horizon.steps


def _alone(problem: Problem, conflict: Demands) -> tuple[Problem, float]:
    """Return the problem that asks only for what a conflict names, and its value where all of that is met."""
    document = problem.to_document()
    examples = [members.example.id for members in job_classes(problem)]
    given = {job["id"]: job for job in document["jobs"]}
    jobs = [job for job in document["jobs"] if job.get("running")]
    value = best_value(Problem.from_document({**document, "jobs": jobs, "services": []}))
    document["horizon"]["finish_inside"] = False
    for index, part in enumerate(conflict.parts):
        needs = {key: given[examples[part.job_class]].get(key) for key in ("gpu_types", "gpu_memory_gib")}
        fixed = {"gpus": part.size, "duration": part.end - part.start, "submit": part.start, "priority": 1}
        stated = {key: value for key, value in needs.items() if value is not None}
        for copy in range(part.jobs):
            jobs.append({"id": f"part-{index}-{copy}", "kind": "training", **fixed, **stated})
            value += part.size * decayed_steps(problem, part.start, part.end)
    for index, service in enumerate(document["services"]):
        service["demand"] = [conflict.needs.get((index, step), 0) for step in range(_steps(problem))]
        service["priority"] = 1
    return Problem.from_document({**document, "jobs": jobs, "objective": {**document["objective"], **HARSH}}), value


def test_what_a_conflict_names_cannot_be_met_and_no_optimum_is_forbidden() -> None:
    found = 0
    for seed in range(300):
        problem = random_problem(seed, THREES)
        if problem.objective.decay == 1.0:
            continue
        for conflict in _conflicts(problem):
            alone, value = _alone(problem, conflict)
            assert best_value(alone) < value - 1e-6, seed
            found += 1
    assert found >= 10


def test_nodes_of_every_block_become_neighbours() -> None:
    nodes = [[frozenset({0, 3})], [frozenset({3, 1}), frozenset({2})], [frozenset({4, 5})]]
    arranged = neighbours(nodes, [0, 0, 0, 0, 1, 1])
    assert arranged is not None
    for blocks, before in zip(arranged, nodes, strict=True):
        for block, old in zip(blocks, before, strict=True):
            assert all(later == earlier + 1 for earlier, later in pairwise(sorted(block)))
            assert len(block) == len(old)
    assert arranged[2] == [frozenset({4, 5})]
    assert arranged[0][0] & arranged[1][0]


def test_nodes_that_no_order_makes_neighbours_stay_unarranged() -> None:
    star = [[frozenset({0, other})] for other in (1, 2, 3)]
    assert neighbours(star, [0] * 4) is None
    assert neighbours([[frozenset({0, 2})]], [0, 1, 0]) is None
