"""Why a job is where it is: statuses, blockers by rule, openings, and who could make way."""

from __future__ import annotations

import numpy as np
import pytest

from loadfactor.allocator import decide
from loadfactor.errors import InputError
from loadfactor.explain import Opening
from loadfactor.explain.holdings import ramp
from tests.explain import examples
from tests.explain.examples import explained, job, of_job, planned, problem, service


def test_a_job_in_time_needs_no_explanation() -> None:
    described = problem(4, 2, jobs=[job("only", 1.0, {"min": 1, "max": 2}, 2)])
    told = of_job(explained(described), "only")
    assert (told.status, told.blockers, told.changes) == ("on_time", (), ())
    assert told.summary == "runs on GPUs 0-1, steps [0, 2): as soon as it may, on its largest size"


def test_a_running_job_keeps_its_gpus() -> None:
    described = problem(4, 2, jobs=[job("old", 1.0, 1, 9, running={"gpus": [1], "remaining": 3})])
    told = of_job(explained(described), "old")
    assert told.status == "running"
    assert told.placement == Opening(0, 3, (1,))


def test_a_late_job_names_who_held_the_gpus() -> None:
    described = problem(6, 2, jobs=[job("first", 9.0, 2, 3), job("second", 1.0, 2, 3)])
    told = of_job(explained(described), "second")
    assert told.status == "later"
    assert [(item.rule, item.holder, item.gpus, item.from_step, item.until_step) for item in told.blockers] == [
        ("R1", "first", (0, 1), 0, 3)
    ]
    assert told.summary.endswith("3 steps after its submit at step 0. In the way: first (priority 9)")


def test_a_smaller_job_names_what_kept_it_small() -> None:
    described = problem(
        4,
        2,
        jobs=[
            job("old", 1.0, 1, 9, running={"gpus": [0], "remaining": 4}),
            job("moldable", 1.0, {"min": 1, "max": 2}, 4),
        ],
    )
    told = of_job(explained(described), "moldable")
    assert told.status == "smaller"
    assert [(item.rule, item.holder) for item in told.blockers] == [("R2", "old")]
    assert "on 1 GPU where it could use 2" in told.summary


def test_fragmentation_is_r3() -> None:
    described = examples.fragmented()
    told = of_job(explained(described), "pair")
    assert [item.rule for item in told.blockers] == ["R2", "R2", "R3"]
    assert told.blockers[2].gpus == (1, 3)
    assert told.blockers[2].message == "GPUs 1, 3 are free from step 0 for 2 steps, but no block of 2 is among them"


def test_an_idle_ramp_is_r4() -> None:
    told = of_job(explained(examples.ramp_in_the_way()), "small")
    (blocker,) = told.blockers
    assert (blocker.rule, blocker.holder, blocker.gpu_steps) == ("R4", "chat", 12)
    assert "of which 4 GPU-steps only because its swap cap" in blocker.message


def test_unavailable_gpus_are_r1() -> None:
    told = of_job(explained(examples.drained()), "steady")
    (blocker,) = told.blockers
    assert (blocker.rule, blocker.holder, blocker.message) == ("R1", None, "GPU 0 in steps [1, 2): unavailable")


def test_needs_that_nobody_meets_are_r2() -> None:
    described = problem(4, 2, jobs=[job("picky", 1.0, 1, 1, gpu_types=["H100", "B200"], gpu_memory_gib=80.0)])
    told = of_job(explained(described), "picky")
    assert told.summary == "is left out: no GPU of the cluster meets its needs (H100 or B200, 80 GiB)"
    assert told.blockers[0].rule == "R2"
    assert told.changes == ()
    assert told.refuted


def test_a_size_that_no_node_has_is_r3() -> None:
    described = problem(4, [2, 2, 2], jobs=[job("wide", 1.0, 8, 1)])
    told = of_job(explained(described), "wide")
    assert told.blockers[0].rule == "R3"
    assert told.summary == "is left out: no block of 8 GPUs exists on the 6 GPUs that meet its needs"


def test_a_job_too_long_for_the_horizon() -> None:
    described = problem(4, 1, jobs=[job("long", 1.0, 1, 3, submit=2)])
    told = of_job(explained(described), "long")
    assert (
        told.summary
        == "is left out: 3 steps from step 2, where it is submitted, end behind step 4, the end of the horizon"
    )
    assert examples.change(told, "later_end").after == 5


def test_the_clock_is_told_beside_the_step() -> None:
    horizon = {"start": "2026-12-01T00:00:00Z", "step_minutes": 30.0}
    described = problem(4, 1, horizon=horizon, jobs=[job("long", 1.0, 1, 3, submit=2)])
    told = of_job(explained(described), "long")
    assert "step 2 (Tue 1 Dec 01:00 UTC)" in told.summary


def test_a_place_that_the_policy_left_free_is_named() -> None:
    # fifo never overtakes: `tiny` could start at step 0 beside `first`, but waits for `wide`
    described = problem(6, 2, jobs=[job("first", 1.0, 1, 3), job("wide", 1.0, 2, 3), job("tiny", 1.0, 1, 3)])
    told = of_job(explained(described, decide(described, "fifo").plan), "tiny")
    assert told.status == "unplaced"
    assert told.opening == Opening(0, 3, (1,))
    again = examples.change(told, "plan_again")
    assert (again.proof, again.cost, again.gain) == ("constructed", 0.0, 3.0)
    assert told.changes[0] is again


def test_who_could_make_way_and_what_that_is_worth() -> None:
    described = problem(4, 2, jobs=[job("cheap", 1.0, 2, 4), job("dear", 9.0, 2, 3, submit=1)])
    told = of_job(explained(described, decide(described, "fifo").plan), "dear")
    assert told.making_way is not None
    assert told.making_way.displaced == ("cheap",)
    assert (told.making_way.value_lost, told.making_way.value_gained) == (8.0, 54.0)
    assert told.making_way.opening == Opening(1, 4, (0, 1))
    assert told.making_way.message.endswith("(worth it: the plan can be improved)")


def test_nobody_of_higher_priority_makes_way() -> None:
    assert of_job(explained(examples.outranked()), "low").making_way is None


def test_nobody_of_the_same_priority_makes_way() -> None:
    described = problem(4, 2, jobs=[job("first", 5.0, 2, 4), job("second", 5.0, 2, 4)])
    assert of_job(explained(described, decide(described, "fifo").plan), "second").making_way is None


@pytest.mark.parametrize("held", [[2, 1, 1, 2], [2, 2, 2, 2]])
def test_a_ramp_is_what_the_cap_demands_and_no_more(held: list[int]) -> None:
    described = problem(4, 2, services=[service("chat", [2, 0, 0, 2], max_swap=1)])
    assert ramp(described.services[0], np.array(held)).tolist() == [0, 1, 1, 0]


def test_an_illegal_plan_is_refused() -> None:
    described = examples.outranked()
    plan = planned(described)
    broken = plan.model_copy(update={"jobs": (), "unplaced": ()})
    with pytest.raises(InputError, match="explain a legal plan; `loadfactor check` lists every violation"):
        explained(described, broken)


def test_an_unknown_id_is_refused() -> None:
    with pytest.raises(InputError, match="'none' is neither a job nor a service of 'by hand'; choose from high, low"):
        explained(examples.outranked(), id_="none")


def test_one_job_alone() -> None:
    told = explained(examples.outranked(), id_="low")
    assert [item.id for item in told.jobs] == ["low"]
    assert told.services == ()
