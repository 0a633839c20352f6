"""What a plan document is refused for before any judge sees it."""

from __future__ import annotations

from typing import Any

import pytest

from loadfactor.model import Plan
from tests.model.faults import faults_of, plan_faults
from tests.support.examples import PLAN, small_plan

METRICS = {
    "utilization": 0.5,
    "value": 1.0,
    "batch_reward": 1.0,
    "shortfall_penalty": 0.0,
    "shortfall_gpu_steps": 0,
    "jobs_finished": 1,
    "churn": 0,
}
PLACEMENT = PLAN["jobs"][0]


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        ({"policy": ""}, "policy: is empty; give it at least 1 character"),
        ({"extra": 1}, "extra: is not a field of this document; remove it or correct its name"),
        ({"jobs": [{**PLACEMENT, "start": -1}]}, "jobs[0].start: is -1, and must be at least 0; raise it"),
        ({"jobs": [{**PLACEMENT, "end": 0}]}, "jobs[0].end: is 0, and must be at least 1; raise it"),
        ({"jobs": [{**PLACEMENT, "gpus": []}]}, "jobs[0].gpus: has 0 entries and needs at least 1; add some"),
        ({"jobs": [{**PLACEMENT, "gpus": [-1]}]}, "jobs[0].gpus[0]: is -1, and must be at least 0; raise it"),
        (
            {"unplaced": ["train"]},
            "unplaced[0]: must be a mapping of fields, not 'train'; write it as {field: value, ...}",
        ),
        (
            {"services": [{"id": "chat", "gpus": [5]}]},
            "services[0].gpus[0]: must be a list, not 5; write it as [..., ...]",
        ),
        ({"metrics": {**METRICS, "value": "1"}}, "metrics.value: must be a number, not '1'; write a plain number"),
        (
            {"metrics": {**METRICS, "value": float("nan")}},
            "metrics.value: must be a finite number, not nan; write a plain number",
        ),
        ({"metrics": {**METRICS, "churn": -1}}, "metrics.churn: is -1, and must be at least 0; raise it"),
        ({"bound": True}, "bound: must be a number, not True; write a plain number"),
        ({"optimal": 1}, "optimal: must be true or false, not 1; write true or false"),
        ({"solve_seconds": -0.1}, "solve_seconds: is -0.1, and must be at least 0; raise it"),
    ],
)
def test_a_wrong_field(parts: dict[str, Any], fault: str) -> None:
    assert plan_faults(**parts) == [fault]


def test_all_faults_at_once() -> None:
    assert len(plan_faults(problem=1, policy=2, jobs=3, bound="x")) == 4


@pytest.mark.parametrize("document", [None, 7, "plan", [], [PLAN]])
def test_a_document_that_is_no_mapping(document: object) -> None:
    (fault,) = faults_of(lambda: Plan.from_document(document))
    assert "must be a mapping of fields" in fault


def test_a_plan_as_a_document() -> None:
    plan = small_plan(metrics=METRICS, bound=2.0, optimal=False, solve_seconds=0.1)
    assert Plan.from_document(plan.to_document()) == plan
    empty = Plan(problem="p", policy="q").to_document()
    assert (empty["bound"], empty["optimal"]) == (None, None)


def test_the_longest_job_that_a_problem_accepts_has_a_placement() -> None:
    assert small_plan(jobs=[{**PLACEMENT, "start": 1_000_000, "end": 1_001_000_000}])
