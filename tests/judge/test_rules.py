"""Every rule on the small problem: which violation, of whom, where, when, and in what words."""

from __future__ import annotations

import json

import pytest

from loadfactor.judge import Violation, judge
from loadfactor.model import Plan, Problem
from tests.support.examples import (
    PLAN,
    plan_with_chat,
    plan_with_job,
    problem_with_chat,
    problem_with_job,
    small_plan,
    small_problem,
)


def found(plan: Plan, problem: Problem | None = None) -> list[Violation]:
    """Return what the judge finds against `plan`."""
    return list(judge(problem or small_problem(), plan).violations)


def the_one(plan: Plan, problem: Problem | None = None) -> Violation:
    """Return the only violation of `plan`."""
    violations = found(plan, problem)
    assert len(violations) == 1, violations
    return violations[0]


def test_a_legal_plan_has_no_violations() -> None:
    verdict = judge(small_problem(), small_plan())
    assert verdict.violations == ()
    assert verdict.legal


def test_r1_a_gpu_serves_one_at_a_time() -> None:
    train = {"id": "train", "start": 1, "end": 3, "gpus": [0, 1]}
    assert found(small_plan(jobs=[PLAN["jobs"][0], train, PLAN["jobs"][2]])) == [
        Violation(
            "R1", f"GPU {gpu} serves 'sweep' and 'train' in steps [1, 2); move one of them", "train", None, gpu, 1
        )
        for gpu in (0, 1)
    ]


def test_r1_an_unavailable_gpu_serves_none() -> None:
    assert the_one(plan_with_chat([7], [7], [7], [7], [7], [7]), problem_with_chat(held=None)) == Violation(
        "R1", "'chat' holds GPU 7 in steps [0, 2), and it is unavailable; move 'chat' off it", None, "chat", 7, 0
    )


def test_r1_lists_every_run_of_steps_and_every_holder() -> None:
    chat = plan_with_chat([0], [0], [0], [0], [0], [0])
    assert [(v.gpu, v.step, v.message.split(";")[0]) for v in found(chat, problem_with_chat(held=None))] == [
        (0, 0, "GPU 0 serves 'sweep' and 'chat' in steps [0, 2)"),
        (0, 2, "GPU 0 serves 'train' and 'chat' in steps [2, 4)"),
    ]


def test_r1_a_gpu_is_named_once() -> None:
    assert the_one(plan_with_job("train", gpus=[0, 1, 1])) == Violation(
        "R1", "'train' names GPU 1 twice from step 2; name every GPU once", "train", None, 1, 2
    )


@pytest.mark.parametrize(
    ("id_", "changes", "message", "gpu", "step"),
    [
        ("train", {"gpus": [0]}, "job 'train' has 1 GPUs, and its range is 2 to 2; give it a size in the range", 0, 2),
        ("train", {"end": 5}, "job 'train' lasts 3 steps and takes 2 on 2 GPUs; end it at step 4", None, 2),
        ("sweep", {"end": 1}, "job 'sweep' lasts 1 steps and takes 2 on 4 GPUs; end it at step 2", None, 0),
        ("sweep", {"gpus": [0, 1]}, "job 'sweep' lasts 2 steps and takes 4 on 2 GPUs; end it at step 4", None, 0),
        (
            "earlier",
            {"start": 1},
            "running job 'earlier' starts at step 1; it holds its GPUs from step 0",
            None,
            1,
        ),
        (
            "earlier",
            {"end": 2},
            "running job 'earlier' ends at step 2 and has 3 steps left; end it at step 3",
            None,
            2,
        ),
        (
            "earlier",
            {"gpus": [4]},
            "running job 'earlier' is on GPUs 4 and holds 4, 6; leave it there",
            6,
            0,
        ),
        (
            "train",
            {"gpus": [8, 9]},
            "'train' is given GPU 8, which does not exist; GPU numbers run from 0 to 7",
            8,
            2,
        ),
    ],
)
def test_r2_of_a_job(id_: str, changes: dict[str, object], message: str, gpu: int | None, step: int) -> None:
    assert Violation("R2", message, id_, None, gpu, step) in found(plan_with_job(id_, **changes))
    assert {violation.rule for violation in found(plan_with_job(id_, **changes))} == {"R2"}


def test_r2_a_job_starts_no_sooner_than_it_is_submitted() -> None:
    assert the_one(small_plan(), problem_with_job("train", submit=3)) == Violation(
        "R2", "job 'train' starts at step 2 and is submitted at step 3; start it later", "train", None, None, 2
    )


def test_r2_needs_for_type_and_memory() -> None:
    sweep = [{"id": "sweep", "start": 3, "end": 5, "gpus": [4, 5, 6, 7]}, *PLAN["jobs"][1:]]
    plan = small_plan(jobs=sweep, services=[{"id": "chat", "gpus": [[]] * 6}])
    lacking = "is A100 and not H100; move it to other GPUs"
    assert found(plan, problem_with_chat(held=None)) == [
        Violation("R2", f"job 'sweep' is given GPU {gpu} on blue, which {lacking}", "sweep", None, gpu, 3)
        for gpu in (4, 5, 6, 7)
    ]


def test_r2_a_service_is_told_of_an_unfit_gpu_when_it_gets_it() -> None:
    needy = problem_with_chat(held=None, gpu_memory_gib=64.0)
    assert [(v.gpu, v.step) for v in found(small_plan(), needy)] == [(5, 0), (7, 2), (4, 3)]
    assert found(small_plan(), needy)[0].message == (
        "service 'chat' is given GPU 5 on blue, which has 40 GiB of memory and not 64 GiB; move it to other GPUs"
    )


def test_r2_a_node_that_states_nothing_meets_no_need() -> None:
    bare = {"nodes": [{"name": "red", "gpus": 4}, {"name": "blue", "gpus": 4}]}
    plain = small_problem(cluster=bare, services=[])
    assert [v.message for v in found(small_plan(services=[]), plain)] == [
        f"job 'sweep' is given GPU {gpu} on red, which is of no stated type and not H100; move it to other GPUs"
        for gpu in range(4)
    ]


def test_r2_a_service_keeps_to_its_max_gpus() -> None:
    assert the_one(small_plan(), problem_with_chat(max_gpus=2)) == Violation(
        "R2",
        "service 'chat' holds 3 GPUs in steps [3, 4), and its max_gpus is 2; take some away",
        None,
        "chat",
        None,
        3,
    )


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"jobs": PLAN["jobs"][1:]}, "job 'sweep' is neither placed nor unplaced; name it in one of the two"),
        (
            {"jobs": PLAN["jobs"][:2]},
            "running job 'earlier' is not in the plan; keep it on GPUs 4, 6 from step 0 to 3",
        ),
        (
            {"jobs": PLAN["jobs"][:2], "unplaced": [{"id": "earlier"}]},
            "running job 'earlier' is not in the plan; keep it on GPUs 4, 6 from step 0 to 3",
        ),
        ({"unplaced": [{"id": "train"}]}, "job 'train' is both placed and unplaced; keep one of the two"),
        ({"unplaced": [{"id": "who"}]}, "the problem has no job 'who'; remove it from the plan"),
        (
            {"jobs": PLAN["jobs"][1:], "unplaced": [{"id": "sweep"}] * 2},
            "job 'sweep' is listed as unplaced 2 times; list it once",
        ),
        (
            {"jobs": [*PLAN["jobs"], {"id": "train", "start": 4, "end": 6, "gpus": [0, 1]}]},
            "job 'train' is placed 2 times; place it once",
        ),
        (
            {"jobs": [*PLAN["jobs"], {"id": "who", "start": 4, "end": 6, "gpus": [0, 1]}]},
            "the problem has no job 'who'; remove it from the plan",
        ),
        ({"services": []}, "service 'chat' is not in the plan; give it one list of GPUs for every step"),
        (
            {"services": [*PLAN["services"], {"id": "who", "gpus": [[]] * 6}]},
            "the problem has no service 'who'; remove it from the plan",
        ),
        (
            {"services": [*PLAN["services"], {"id": "chat", "gpus": [[]] * 6}]},
            "service 'chat' has 2 entries; give it one",
        ),
        (
            {"services": [{"id": "chat", "gpus": [[5]] * 5}]},
            "service 'chat' has GPUs for 5 steps in a horizon of 6; give one list for every step",
        ),
        (
            {"services": [{"id": "chat", "gpus": [[5]] * 7}]},
            "service 'chat' has GPUs for 7 steps in a horizon of 6; give one list for every step",
        ),
    ],
)
def test_r2_every_job_and_service_is_answered_once(parts: dict[str, object], message: str) -> None:
    violation = the_one(small_plan(**parts))
    assert (violation.rule, violation.message) == ("R2", message)


def test_r2_a_placement_lies_in_the_grid() -> None:
    open_ended = small_problem(horizon={"steps": 6, "finish_inside": False})
    late = plan_with_job("train", start=6, end=8)
    assert the_one(late, open_ended).message == (
        "job 'train' starts at step 6, outside a horizon of 6; start it earlier or leave it out"
    )
    assert found(plan_with_job("train", start=5, end=7), open_ended) == []


THREE_OF_A_KIND = {
    "nodes": [{"name": name, "gpus": gpus} for name, gpus in [("a", 2), ("b", 3), ("c", 3), ("d", 2)]],
}


@pytest.mark.parametrize(
    ("block_sizes", "gpus", "fault"),
    [
        ("power_of_two", [0, 1], None),
        ("power_of_two", [2, 3], None),
        ("power_of_two", [3, 4], None),
        ("power_of_two", [4, 5], "(2 GPUs from GPU 4) crosses from b into the next node; keep it in one node"),
        ("power_of_two", [2, 3, 4], "has 3 GPUs, which is no power of two; use 2 or 4"),
        ("power_of_two", [0, 1, 2, 3], "(4 GPUs from GPU 0) is larger than a and not whole nodes; use whole nodes"),
        ("power_of_two", [0, 1, 2, 3, 4], "has 5 GPUs, which is no power of two; use 4 or 8"),
        ("power_of_two", [0, 1, 2, 3, 4, 5, 6, 7], None),
        ("power_of_two", [0, 2], "is not contiguous: it has GPU 2 and not GPU 1; use consecutive GPUs"),
        ("whole_nodes", [2, 3, 4], "has 3 GPUs, which is no power of two; use 2 or 4"),
        ("whole_nodes", [0, 1, 2, 3, 4], None),
        ("whole_nodes", [2, 3, 4, 5, 6, 7], None),
        ("whole_nodes", [3, 4, 5, 6, 7], "(5 GPUs from GPU 3) is larger than b and not whole nodes; use whole nodes"),
        ("whole_nodes", [2, 3, 4, 5], "(4 GPUs from GPU 2) is larger than b and not whole nodes; use whole nodes"),
        ("whole_nodes", list(range(10)), None),
    ],
)
def test_r3_on_nodes_of_2_3_3_and_2(block_sizes: str, gpus: list[int], fault: str | None) -> None:
    job = {"id": "train", "kind": "training", "priority": 1, "gpus": {"min": 1, "max": 10}, "duration": 6}
    problem = small_problem(cluster={**THREE_OF_A_KIND, "block_sizes": block_sizes}, jobs=[job], services=[])
    plan = small_plan(jobs=[{"id": "train", "start": 0, "end": 6, "gpus": gpus}], services=[])
    expected = [] if fault is None else [("R3", f"the block of job 'train' {fault}", gpus[0], 0)]
    assert [(v.rule, v.message, v.gpu, v.step) for v in found(plan, problem)] == expected


def test_r4_between_steps() -> None:
    assert the_one(plan_with_chat([5], [5], [5], [4, 5, 7], [4, 5], [4])) == Violation(
        "R4",
        "service 'chat' is given 2 GPUs and loses 0 between steps 2 and 3, and its max_swap is 1; "
        "spread the change over more steps",
        None,
        "chat",
        4,
        3,
    )


def test_r4_at_step_0_against_held() -> None:
    violation = the_one(plan_with_chat([], [], [], [], [], []), problem_with_chat(held=[5, 7], max_swap=1))
    assert violation.message == (
        "service 'chat' is given 0 GPUs and loses 2 at step 0 against those held before, and its max_swap is 1; "
        "spread the change over more steps"
    )
    assert violation.step == 0


def test_r4_without_held_the_first_step_is_free() -> None:
    assert found(plan_with_chat(*[[5]] * 6), problem_with_chat(held=None, max_swap=0)) == []


def test_r5_a_job_ends_inside_the_horizon() -> None:
    assert the_one(plan_with_job("train", start=5, end=7)) == Violation(
        "R5",
        "job 'train' ends at step 7, after a horizon of 6 steps that every job must finish inside; "
        "start it earlier or leave it out",
        "train",
        None,
        None,
        6,
    )


def test_the_verdict_as_a_document() -> None:
    document = judge(small_problem(), plan_with_job("train", start=5, end=7)).to_document()
    assert json.loads(json.dumps(document)) == document
    assert list(document) == ["violations", "metrics"]
    assert document["violations"][0]["rule"] == "R5"
    assert {"rule", "job", "service", "gpu", "step", "message"} == set(document["violations"][0])
