"""Every metric of small plans, against numbers worked out by hand."""

from __future__ import annotations

import pytest

from loadfactor.judge import claimed_differences, judge
from loadfactor.model import Metrics
from tests.support.examples import (
    PLAN,
    PROBLEM,
    plan_with_chat,
    plan_with_job,
    problem_with_chat,
    problem_with_job,
    small_plan,
    small_problem,
)

# decay is 1/2. sweep: 3 · 4 · (1 + 1/2) = 18; train: 2 · 2 · (1/4 + 1/8) = 1.5; earlier: 1 · 2 · (1 + 1/2 + 1/4) = 3.5
REWARD = 23.0
# jobs hold 8 + 4 + 6 cells; chat meets 1, 1, 2, 3, 1, 0 of its demand; 8 · 6 cells less 2 unavailable ones
UTILIZATION = 26 / 46


def test_the_metrics_of_the_legal_plan() -> None:
    assert judge(small_problem(), small_plan()).metrics == Metrics(
        utilization=UTILIZATION,
        value=REWARD,
        batch_reward=REWARD,
        shortfall_penalty=0.0,
        shortfall_gpu_steps=0,
        jobs_finished=3,
        churn=4,
    )


def test_a_shortfall_costs_penalty_times_priority() -> None:
    metrics = judge(small_problem(), plan_with_chat(*[[5]] * 6)).metrics
    assert metrics.shortfall_gpu_steps == 3
    assert metrics.shortfall_penalty == 8 * 9 * 3
    assert metrics.value == REWARD - 216
    assert metrics.utilization == (18 + 5) / 46
    assert metrics.churn == 0


def test_churn_at_step_0_counts_where_held_is_given() -> None:
    start_with_two = plan_with_chat([5, 7], *[[5]] * 5)
    assert judge(problem_with_chat(held=None), start_with_two).metrics.churn == 1
    assert judge(problem_with_chat(held=[]), start_with_two).metrics.churn == 3
    assert judge(problem_with_chat(held=[5]), start_with_two).metrics.churn == 2


def test_overlapping_unavailable_ranges_count_once_and_end_with_the_horizon() -> None:
    entries = [
        {"gpus": [7], "from": 0, "until": 2},
        {"gpus": [3, 7], "from": 1, "until": 3},
        {"gpus": [7], "from": 5, "until": 99},
        {"gpus": [7], "from": 6, "until": 8},
    ]
    problem = small_problem(cluster={**PROBLEM["cluster"], "unavailable": entries})
    # GPU 7 in steps 0, 1, 2 and 5, GPU 3 in 1 and 2
    assert judge(problem, small_plan()).metrics.utilization == 26 / (48 - 6)


def test_a_job_past_an_open_horizon_counts_inside_only() -> None:
    open_ended = small_problem(horizon={"steps": 6, "finish_inside": False})
    metrics = judge(open_ended, plan_with_job("train", start=5, end=7)).metrics
    assert metrics.batch_reward == 18 + 2 * 2 / 32 + 3.5
    assert metrics.jobs_finished == 2
    assert metrics.utilization == (8 + 2 + 6 + 8) / 46


def test_a_cluster_that_is_never_available_is_not_utilized() -> None:
    entries = [{"gpus": list(range(8)), "from": 0, "until": 6}]
    problem = small_problem(cluster={**PROBLEM["cluster"], "unavailable": entries}, jobs=[], services=[])
    assert judge(problem, small_plan(jobs=[], services=[])).metrics.utilization == 0.0


def test_without_decay_a_gpu_step_is_worth_the_priority() -> None:
    problem = small_problem(objective={"decay": 1.0, "realtime_penalty": 5.0})
    metrics = judge(problem, plan_with_chat(*[[5]] * 6)).metrics
    assert metrics.batch_reward == 3 * 8 + 2 * 4 + 1 * 6
    assert metrics.shortfall_penalty == 5 * 9 * 3


@pytest.mark.parametrize(
    ("parts", "reward", "shortfall"),
    [
        ({"services": []}, REWARD, 8),
        ({"services": [{"id": "chat", "gpus": [[5], [5]]}]}, REWARD, 6),
        ({"services": [*PLAN["services"], {"id": "chat", "gpus": [[]] * 6}]}, REWARD, 0),
        ({"jobs": [*PLAN["jobs"], {"id": "train", "start": 0, "end": 2, "gpus": [0, 1]}]}, REWARD, 0),
        ({"jobs": [*PLAN["jobs"], {"id": "who", "start": 0, "end": 2, "gpus": [0, 1]}]}, REWARD, 0),
        ({"jobs": [{**PLAN["jobs"][0], "gpus": [0, 0, 1, 2, 3]}, *PLAN["jobs"][1:]]}, REWARD, 0),
        ({"jobs": [{**PLAN["jobs"][0], "start": 4, "end": 2}, *PLAN["jobs"][1:]]}, REWARD - 18, 0),
        ({"jobs": [{**PLAN["jobs"][0], "start": 900, "end": 1000}, *PLAN["jobs"][1:]]}, REWARD - 18, 0),
    ],
)
def test_what_an_illegal_plan_leaves_undefined_counts_nothing(
    parts: dict[str, object], reward: float, shortfall: int
) -> None:
    verdict = judge(small_problem(), small_plan(**parts))
    assert not verdict.legal
    assert (verdict.metrics.batch_reward, verdict.metrics.shortfall_gpu_steps) == (reward, shortfall)


def test_a_running_job_counts_what_remains() -> None:
    problem = problem_with_job("earlier", priority=7.0)
    assert judge(problem, small_plan()).metrics.batch_reward == 18 + 1.5 + 7 * 2 * 1.75


class TestClaims:
    """What a plan says of itself."""

    def test_true_claims_differ_in_nothing(self) -> None:
        metrics = judge(small_problem(), small_plan()).metrics
        claims = metrics.model_dump()
        assert claimed_differences(small_plan(metrics=claims, bound=REWARD, optimal=True), metrics) == []
        assert claimed_differences(small_plan(metrics=claims, bound=REWARD + 1, optimal=False), metrics) == []
        assert claimed_differences(small_plan(), metrics) == []

    @pytest.mark.parametrize("name", list(Metrics.model_fields))
    def test_every_metric_is_compared(self, name: str) -> None:
        metrics = judge(small_problem(), small_plan()).metrics
        claims = metrics.model_dump()
        claims[name] += 1
        (difference,) = claimed_differences(small_plan(metrics=claims), metrics)
        assert (difference.name, difference.claimed) == (name, claims[name])
        assert difference.computed == getattr(metrics, name)

    @pytest.mark.parametrize(
        ("claims", "message"),
        [
            ({"bound": 22.9}, "bound is claimed to be 22.9 and lies below the value 23; correct the bound"),
            (
                {"bound": 23.1, "optimal": True},
                "optimal is claimed, with the bound 23.1 and the value 23; claim it where the two are equal",
            ),
            (
                {"optimal": True},
                "optimal is claimed, with no bound and the value 23; claim it where the two are equal",
            ),
        ],
    )
    def test_proofs_are_compared(self, claims: dict[str, object], message: str) -> None:
        metrics = judge(small_problem(), small_plan()).metrics
        assert [str(difference) for difference in claimed_differences(small_plan(**claims), metrics)] == [message]
