"""Where a service falls short and why, and what mends it."""

from __future__ import annotations

from loadfactor.allocator import decide
from loadfactor.explain import BEFORE_THE_HORIZON
from tests.explain.examples import change, explained, job, kinds, of_service, planned, problem, service


def test_a_service_that_meets_its_demand() -> None:
    described = problem(3, 2, services=[service("chat", [1, 2, 1], max_swap=1)])
    told = of_service(explained(described), "chat")
    assert told.shortfalls == ()
    assert told.summary == "meets its whole demand of 4 GPU-steps"


def test_max_gpus_is_the_cause_and_raising_it_the_cure() -> None:
    described = problem(3, 4, services=[service("chat", [1, 3, 1], max_swap=4, max_gpus=2)])
    told = of_service(explained(described), "chat")
    (shortfall,) = told.shortfalls
    assert (shortfall.cause, shortfall.rule, shortfall.from_step, shortfall.until_step) == ("max_gpus", "R2", 1, 2)
    assert (shortfall.gpu_steps, shortfall.penalty) == (1, 72.0)
    raised = change(told, "max_gpus")
    assert (raised.before, raised.after, raised.cost, raised.gain) == (2.0, 3.0, 0.0, 72.0)


def test_the_swap_cap_names_the_step_at_which_growing_had_to_begin() -> None:
    # the running job leaves 1 of 4 GPUs until step 2; three more by step 3 needs a cap of 3
    described = problem(
        4,
        4,
        jobs=[job("old", 1.0, 3, 9, running={"gpus": [0, 1, 2], "remaining": 3})],
        services=[service("chat", [1, 1, 1, 4], max_swap=1)],
    )
    told = of_service(explained(described), "chat")
    (shortfall,) = told.shortfalls
    assert (shortfall.cause, shortfall.rule, shortfall.grow_from, shortfall.gpu_steps) == ("swap_cap", "R4", 1, 2)
    assert [item.holder for item in shortfall.blockers] == ["old"]
    assert (change(told, "max_swap").before, change(told, "max_swap").after) == (1.0, 3.0)


def test_a_service_that_held_too_little_before_the_horizon() -> None:
    described = problem(3, 4, services=[service("chat", [4, 4, 4], max_swap=1, held=[0])])
    told = of_service(explained(described), "chat")
    (shortfall,) = told.shortfalls
    assert shortfall.grow_from == BEFORE_THE_HORIZON
    assert "1 GPU held before step 0 and a swap cap of 1 reach no 4 by then (R4)" in shortfall.message


def test_gpus_that_are_not_to_be_had() -> None:
    unavailable = [{"gpus": [1], "from": 0, "until": 2}]
    described = problem(2, 2, cluster={"unavailable": unavailable}, services=[service("chat", [2, 2], max_swap=2)])
    told = of_service(explained(described), "chat")
    assert told.shortfalls[0].cause == "no_gpus"
    assert told.shortfalls[0].blockers[0].message == "GPU 1 in steps [0, 2): unavailable"
    assert kinds(told) == ["gpus_back"]


def test_a_plan_that_chose_the_job_says_what_either_is_worth() -> None:
    # 1 GPU, 2 steps: the job is worth 2 x 51, the service's shortfall 2 x 8 x 1
    described = problem(2, 1, jobs=[job("dear", 51.0, 1, 2)], services=[service("chat", [1, 1], 1, priority=1.0)])
    told = of_service(explained(described), "chat")
    (shortfall,) = told.shortfalls
    assert (shortfall.cause, shortfall.penalty) == ("chosen", 16.0)
    assert "is dear (priority 51), worth 102, so the plan serves the job" in shortfall.message
    raised = change(told, "priority")
    assert (raised.after, raised.cost, raised.displaced) == (6.38, 102.0, ("dear",))


def test_a_plan_that_left_gpus_free_is_told_so_and_mended_by_planning_again() -> None:
    described = problem(2, 2, services=[service("chat", [1, 1], max_swap=2)])
    plan = planned(described)
    idle = plan.services[0].model_copy(update={"gpus": ((), ())})
    told = of_service(explained(described, plan.model_copy(update={"services": (idle,)})), "chat")
    assert told.shortfalls[0].cause == "left_free"
    assert kinds(told) == ["plan_again"]
    assert told.changes[0].gain == 144.0


def test_fifo_never_serves_below_peak_where_it_can() -> None:
    described = problem(2, 4, services=[service("chat", [1, 3], max_swap=1)])
    assert of_service(explained(described, decide(described, "fifo").plan), "chat").shortfall_gpu_steps == 0
