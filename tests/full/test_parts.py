"""The parts of `full`, each alone: positions near counts, counts job by job, nodes planned anew, cores of conflicts."""

from __future__ import annotations

import pytest

from loadfactor.judge import judge
from loadfactor.model import Problem
from loadfactor.policies import Effort
from loadfactor.policies.draft import Draft
from loadfactor.policies.fifo import Backfill
from loadfactor.policies.full import Full
from loadfactor.policies.full.choices import job_classes
from loadfactor.policies.full.decided import Decided
from loadfactor.policies.full.fitting import Fitter
from loadfactor.policies.full.model import GridModel
from loadfactor.policies.full.neighbourhoods import Neighbourhoods
from loadfactor.policies.full.outlines import outline_of
from loadfactor.policies.full.positions import Placer
from loadfactor.policies.full.recounting import Recounter
from loadfactor.policies.full.search import counts_model, draft_from
from loadfactor.policies.full.solver import Limits, solve
from tests.support.generators import SMALL, TINY, random_problem

SEEDS = range(30)
LIMITS = Limits(seconds=5.0, seed=0, workers=1)


def _start(problem: Problem) -> Draft:
    return draft_from(problem, Backfill().plan(problem))


def _counts(problem: Problem) -> tuple[GridModel, Decided, float]:
    """Return the model in counts, a solution of it and what that is worth; running jobs count in none of them."""
    counts = counts_model(problem, job_classes(problem))
    outcome = solve(counts.model, LIMITS)
    return counts, Decided.by_solver(counts, outcome.values), counts.scale.value(outcome.objective)


def _running(problem: Problem, draft: Draft) -> float:
    placed = {job.id: draft.placed[job.id] for job in problem.jobs if job.running}
    nothing = [[()] * problem.horizon.steps for _ in problem.services]
    return Draft(problem, placed, nothing).metrics.batch_reward


def test_nodes_planned_anew_leave_a_legal_plan_that_is_worth_more() -> None:
    improved = 0
    for seed in SEEDS:
        problem = random_problem(seed, SMALL)
        best = _start(problem)
        classes = job_classes(problem)
        placer = Placer(problem, classes, counts_model(problem, classes).scale)
        neighbourhoods = Neighbourhoods(placer, best.metrics.value, seed)
        for _ in range(3):
            found = neighbourhoods.improve(best, LIMITS)
            if found is not None:
                assert not judge(problem, found.plan("full", 0.0)).violations, seed
                assert found.metrics.value > best.metrics.value
                best, improved = found, improved + 1
    assert improved >= 15


def test_positions_near_counts_are_legal_and_worth_no_more() -> None:
    reached = 0
    for seed in SEEDS:
        problem = random_problem(seed, SMALL)
        counts, decided, worth = _counts(problem)
        worth += _running(problem, _start(problem))
        draft = Fitter(problem, seed).fit(counts, decided, worth, 0.05)
        if draft is not None:
            assert not judge(problem, draft.plan("full", 0.0)).violations, seed
            assert draft.metrics.value <= worth + 1e-5 * max(1.0, abs(worth))
            reached += draft.metrics.value >= worth - 1e-5 * max(1.0, abs(worth))
    assert reached >= 10


def test_counts_found_job_by_job_only_get_better_and_stay_below_the_optimum() -> None:
    improved = 0
    for seed in SEEDS:
        problem = random_problem(seed, SMALL)
        counts, _, optimum = _counts(problem)
        start = _start(problem)
        decided = Decided.by_draft(start, counts.partition, counts.classes)
        worth = before = start.metrics.value - _running(problem, start)
        recounter = Recounter(counts, seed)
        for _ in range(4):
            found = recounter.improve(decided, LIMITS)
            if found is not None and found[1] >= worth:
                decided, worth = found
        assert worth <= optimum + 1e-5 * max(1.0, abs(optimum))
        improved += worth > before + 1e-6
    assert improved >= 10


def test_a_core_names_what_cannot_be_together_and_nothing_else() -> None:
    """Three blocks of 2 do not fit into two nodes of 3 GPUs; the job at the next step has nothing to do with it."""
    nodes = [{"name": "a", "gpus": 3}, {"name": "b", "gpus": 3}]
    jobs = [{"id": f"job-{i}", "kind": "training", "priority": 1 + i, "gpus": 2, "duration": 1} for i in range(3)]
    later = {"id": "later", "kind": "training", "priority": 9, "gpus": 2, "duration": 1, "submit": 1}
    document = {"name": "core", "horizon": {"steps": 2}, "cluster": {"nodes": nodes}, "jobs": [*jobs, later]}
    problem = Problem.from_document(document)
    classes = job_classes(problem)
    placer = Placer(problem, classes, counts_model(problem, classes).scale)
    usage = ((0, 2),)
    together = Decided({(0, 2, 0, usage): 1, (1, 2, 0, usage): 1, (2, 2, 0, usage): 1, (3, 2, 1, usage): 1}, [], [])
    placed = placer.place(outline_of(together), LIMITS)
    assert placed.impossible
    assert placed.conflict is not None
    assert placed.conflict.demanded == {0, 1, 2}
    apart = Decided({(0, 2, 0, usage): 1, (1, 2, 0, usage): 1, (2, 2, 1, usage): 1, (3, 2, 1, usage): 1}, [], [])
    draft = placer.place(outline_of(apart), LIMITS).draft
    assert draft is not None
    assert not judge(problem, draft.plan("full", 0.0)).violations


@pytest.mark.parametrize("seed", [21218, 9221, 9035])
def test_seeds_that_once_were_cut_off_without_end(seed: int) -> None:
    assert Full(start_policy="backfill").plan(random_problem(seed, TINY), Effort(time_limit_seconds=20.0)).optimal
