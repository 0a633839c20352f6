"""The cheapest change, known by construction, and that every change told was verified."""

from __future__ import annotations

from collections import Counter

import pytest

from loadfactor.explain import JobExplanation, ServiceExplanation, explain
from loadfactor.explain.job_changes import with_service
from loadfactor.explain.trials import Trials
from loadfactor.judge import judge
from loadfactor.policies import Effort
from tests.explain import examples
from tests.explain.examples import change, explained, job, kinds, of_job, planned, problem, service
from tests.support.generators import SMALL, random_problem


def test_blocked_only_by_the_swap_cap() -> None:
    told = of_job(explained(examples.ramp_in_the_way()), "small")
    assert kinds(told) == ["max_swap", "priority"]
    cap = change(told, "max_swap")
    assert (cap.subject, cap.before, cap.after, cap.cost, cap.gain) == ("chat", 0.0, 1.0, 0.0, 4.0)
    priority = change(told, "priority")
    assert priority.after == 36.01
    assert priority.cost == pytest.approx(2 * 8 * 9.001)


def test_blocked_only_by_priority() -> None:
    told = of_job(explained(examples.outranked()), "low")
    priority = change(told, "priority")
    assert (priority.before, priority.after, priority.displaced) == (3.0, 5.01, ("high",))
    assert priority.cost == pytest.approx(5.005 * 24)
    assert "raise its priority from 3 to 5.01 (5 does not do)" in priority.message
    assert "costs the others 120.12, leaves out high" in priority.message
    later = change(told, "later_end")
    assert (later.after, later.cost) == (12.0, 0.0)
    assert kinds(told) == ["later_end", "priority"]


def test_one_step_longer() -> None:
    told = of_job(explained(examples.one_step_short()), "second")
    later = told.changes[0]
    assert (later.kind, later.before, later.after, later.cost, later.proof) == (
        "later_end",
        6.0,
        7.0,
        0.0,
        "constructed",
    )
    assert "fewer were not all tried" not in later.message
    assert change(told, "open_end").cost == 0.0


def test_a_longer_horizon_in_which_others_move_is_planned() -> None:
    # behind the plan as it is `wide` needs two steps more; with `a` and `b` a step later, one is enough
    jobs = [job("a", 5.0, 1, 3, submit=1), job("b", 5.0, 1, 3, submit=1), job("wide", 1.0, 2, 2)]
    later = change(of_job(explained(problem(4, 2, jobs=jobs)), "wide"), "later_end")
    assert (later.after, later.proof, later.delayed, later.cost) == (5.0, "planned", ("a", "b"), 0.0)


def test_a_plan_that_is_legal_without_the_change_is_no_proof_of_it() -> None:
    described = problem(4, 2, jobs=[job("a", 1.0, 1, 2)], services=[service("chat", [1] * 4, max_swap=0)])
    plan = planned(described)
    trials = Trials(described, plan, "backfill", examples.EFFORT, "a")
    changed = with_service(described, described.services[0], max_swap=1)
    assert trials.planned(changed, lambda _: True) is None
    assert trials.by_luck() is not None
    assert trials.planned(changed, lambda _: True, may_be_legal_as_it_is=True) is not None


def test_gpus_back_from_unavailable_for_as_long_as_needed() -> None:
    told = of_job(explained(examples.drained()), "steady")
    back = change(told, "gpus_back")
    assert (back.subject, back.cost, back.proof) == ("GPU 0", 0.0, "constructed")
    assert back.message == "have GPU 0 back in steps [0, 3): it starts at step 0 on GPU 0; costs nobody anything"
    assert back.problem.cluster.unavailable == ()


def test_the_rest_of_an_outage_stays() -> None:
    unavailable = [{"gpus": [0, 1], "from": 0, "until": 6}]
    described = problem(6, 2, cluster={"unavailable": unavailable}, jobs=[job("late", 1.0, 1, 2, submit=3)])
    back = change(of_job(explained(described), "late"), "gpus_back")
    left = {(entry.gpus, entry.from_step, entry.until_step) for entry in back.problem.cluster.unavailable}
    assert left == {((1,), 0, 6), ((0,), 0, 3), ((0,), 5, 6)}


def test_fewer_gpus() -> None:
    described = problem(4, [2, 1], jobs=[job("wide", 1.0, 4, 2)])
    fewer = change(of_job(explained(described), "wide"), "fewer_gpus")
    assert (fewer.before, fewer.after, fewer.gain) == (4.0, 2.0, 4.0)


def test_a_longer_horizon_beyond_the_search_says_so() -> None:
    described = problem(20, 1, jobs=[job("first", 9.0, 1, 20), job("second", 1.0, 1, 15)])
    later = change(of_job(explained(described), "second"), "later_end")
    assert later.after == 35.0
    assert "(fewer were not all tried)" in later.message


def test_where_nothing_helps_nothing_is_claimed() -> None:
    # the service is worth more than any job can be
    dear = service("chat", [1, 1, 1], max_swap=1, priority=1e6)
    told = of_job(explained(problem(3, 1, jobs=[job("small", 1.0, 1, 1)], services=[dear])), "small")
    assert told.changes == ()
    assert told.refuted == (
        "a horizon longer by up to 8 steps",
        "finish_inside: false",
        "a higher swap cap of chat",
        "any priority up to 1,000,000",
    )


@pytest.mark.parametrize("policy", ["backfill", "fast"])
def test_every_change_told_is_legal_and_does_what_it_says(policy: str) -> None:
    found: Counter[str] = Counter()
    for seed in range(12):
        described = random_problem(seed, SMALL)
        plan = examples.planned(described, policy)
        told = explain(described, plan, policy_name=policy, effort=Effort(iterations=30))
        before = judge(described, plan).metrics.value
        items: list[JobExplanation | ServiceExplanation] = [*told.jobs, *told.services]
        for item in items:
            for made in item.changes:
                verdict = judge(made.problem, made.plan)
                assert verdict.legal, (seed, item.id, made.message)
                found[made.kind] += 1
                if item in told.jobs:
                    assert any(placed.id == item.id for placed in made.plan.jobs)
                if made.kind not in {"priority", "later_end"}:
                    assert verdict.metrics.value == pytest.approx(before - made.cost + made.gain)
                assert (made.problem == described) == (made.kind == "plan_again")
                # what is legal without the change owes nothing to it
                assert judge(described, made.plan).legal == (made.kind in {"plan_again", "priority"})
    assert found["later_end"] > 10
    assert found["fewer_gpus"] > 3
    assert sum(found.values()) > 40


def test_changes_come_cheapest_first() -> None:
    for seed in range(8):
        told = explained(random_problem(seed, SMALL), None)
        for item in told.jobs:
            costs = [round(made.cost, 6) for made in item.changes]
            assert costs == sorted(costs)
