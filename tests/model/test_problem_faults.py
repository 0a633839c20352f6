"""What a problem document is refused for: the path of the field, the fact, the remedy, word for word."""

from __future__ import annotations

from typing import Any

import pytest

from loadfactor.errors import InputError
from loadfactor.model import Cluster, Horizon, Job, Node, Problem
from tests.model.faults import faults_of, problem_faults
from tests.support.examples import PROBLEM, job_document, problem_document, small_problem

HORIZON, CLUSTER, CHAT = PROBLEM["horizon"], PROBLEM["cluster"], PROBLEM["services"][0]
TRAIN = job_document("train")
RED = CLUSTER["nodes"][0]


def without(mapping: dict[str, Any], name: str) -> dict[str, Any]:
    """Return `mapping` without the field of that name."""
    return {key: value for key, value in mapping.items() if key != name}


FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "name: is empty; give it at least 1 character"),
    ({"name": "x" * 201}, "name: has more than 200 characters; shorten it"),
    ({"name": "a\x1b[31m"}, "name: holds a control character; use printable characters only"),
    ({"name": 7}, "name: must be text, not 7; put it in quotes"),
    ({"color": 1}, "color: is not a field of this document; remove it or correct its name"),
    ({"horizon": {}}, "horizon.steps: is missing; add it"),
    ({"horizon": 6}, "horizon: must be a mapping of fields, not 6; write it as {field: value, ...}"),
    ({"horizon": {**HORIZON, "steps": 0}}, "horizon.steps: is 0, and must be at least 1; raise it"),
    ({"horizon": {**HORIZON, "steps": 10_081}}, "horizon.steps: is 10081, and must be at most 10080; lower it"),
    ({"horizon": {**HORIZON, "steps": 6.5}}, "horizon.steps: must be a whole number, not 6.5; write a plain integer"),
    ({"horizon": {**HORIZON, "steps": "6"}}, "horizon.steps: must be a whole number, not '6'; write a plain integer"),
    ({"horizon": {**HORIZON, "steps": True}}, "horizon.steps: must be a whole number, not True; write a plain integer"),
    (
        {"horizon": {**HORIZON, "step_minutes": float("nan")}},
        "horizon.step_minutes: must be a finite number, not nan; write a plain number",
    ),
    (
        {"horizon": {**HORIZON, "step_minutes": 0}},
        "horizon.step_minutes: is 0, and must be more than 0; raise it",
    ),
    (
        {"horizon": {**HORIZON, "finish_inside": "yes"}},
        "horizon.finish_inside: must be true or false, not 'yes'; write true or false",
    ),
    (
        {"horizon": {**HORIZON, "start": "2026-12-01T00:00:00"}},
        "horizon.start: names no time zone; add Z for UTC or an offset such as +01:00",
    ),
    (
        {"horizon": {**HORIZON, "start": "tomorrow"}},
        "horizon.start: is 'tomorrow', which is no date and time; write 2026-12-01T00:00:00Z",
    ),
    ({"objective": {"decay": 0}}, "objective.decay: is 0, and must be more than 0; raise it"),
    ({"objective": {"decay": 1.1}}, "objective.decay: is 1.1, and must be at most 1; lower it"),
    (
        {"objective": {"realtime_penalty": float("inf")}},
        "objective.realtime_penalty: must be a finite number, not inf; write a plain number",
    ),
    (
        {"objective": {"realtime_penalty": -1}},
        "objective.realtime_penalty: is -1, and must be at least 0; raise it",
    ),
    ({"cluster": {"nodes": []}}, "cluster.nodes: has 0 entries and needs at least 1; add some"),
    ({"cluster": {"nodes": 4}}, "cluster.nodes: must be a list, not 4; write it as [..., ...]"),
    (
        {"cluster": {**CLUSTER, "block_sizes": "any"}},
        "cluster.block_sizes: is 'any', and must be 'power_of_two' or 'whole_nodes'; choose one of these",
    ),
    (
        {"cluster": {"nodes": [{**RED, "gpus": 0}]}, "jobs": [], "services": []},
        "cluster.nodes[0].gpus: is 0, and must be at least 1; raise it",
    ),
    (
        {"cluster": {"nodes": [RED, {**RED, "gpus": 8}]}},
        "cluster.nodes[1].name: 'red' is the name of nodes[0] too; give every node a name of its own",
    ),
    (
        {"cluster": {"nodes": [RED, {"name": "blue", "gpus": 65_536}]}, "jobs": [], "services": []},
        "cluster.nodes: 65540 GPUs in all, and at most 65536 are accepted; split the cluster",
    ),
    (
        {"cluster": {**CLUSTER, "unavailable": [{"gpus": [8], "from": 0, "until": 1}]}},
        "cluster.unavailable[0].gpus: GPU 8 does not exist in a cluster of 8; GPU numbers run from 0 to 7",
    ),
    (
        {"cluster": {**CLUSTER, "unavailable": [{"gpus": [7, 7], "from": 0, "until": 1}]}},
        "cluster.unavailable[0].gpus: GPU 7 is named twice; name every GPU once",
    ),
    (
        {"cluster": {**CLUSTER, "unavailable": [{"gpus": [7], "from": 2, "until": 2}]}},
        "cluster.unavailable[0]: until 2 is not after from 2; the range is half-open: make until larger",
    ),
    (
        {"cluster": {**CLUSTER, "unavailable": [{"gpus": [], "from": 2, "until": 3}]}},
        "cluster.unavailable[0].gpus: has 0 entries and needs at least 1; add some",
    ),
    ({"jobs": {"id": "train"}}, "jobs: must be a list, not a mapping; write it as [..., ...]"),
    ({"jobs": [without(TRAIN, "kind")]}, "jobs[0].kind: is missing; add it"),
    (
        {"jobs": [{**TRAIN, "kind": "game"}]},
        "jobs[0].kind: is 'game', and must be 'training', 'batch_inference' or 'quantization'; choose one of these",
    ),
    ({"jobs": [{**TRAIN, "priority": -1}]}, "jobs[0].priority: is -1, and must be at least 0; raise it"),
    ({"jobs": [{**TRAIN, "priority": 1e7}]}, "jobs[0].priority: is 10000000.0, and must be at most 1000000; lower it"),
    ({"jobs": [{**TRAIN, "submit": -1}]}, "jobs[0].submit: is -1, and must be at least 0; raise it"),
    (
        {"jobs": [{**TRAIN, "gpus": {"min": 4, "max": 2}}]},
        "jobs[0].gpus: max 2 is below min 4; swap them or widen the range",
    ),
    (
        {"jobs": [without(TRAIN, "duration")]},
        "jobs[0]: neither duration nor work is given; give one: duration in steps, or work in GPU-steps",
    ),
    (
        {"jobs": [{**TRAIN, "work": 3}]},
        "jobs[0]: both duration and work are given; give one: duration in steps, or work in GPU-steps",
    ),
    ({"services": [{**CHAT, "demand": []}]}, "services[0].demand: has 0 entries and needs at least 1; add some"),
    ({"services": [{**CHAT, "demand": [-1] * 6}]}, "services[0].demand[0]: is -1, and must be at least 0; raise it"),
    ({"services": [{**CHAT, "held": [5, 5]}]}, "services[0].held: GPU 5 is named twice; name every GPU once"),
    ({"services": [without(CHAT, "max_swap")]}, "services[0].max_swap: is missing; add it"),
]


@pytest.mark.parametrize(("parts", "fault"), FIELDS, ids=[fault.partition(";")[0] for _, fault in FIELDS])
def test_a_field_that_is_wrong_on_its_own(parts: dict[str, Any], fault: str) -> None:
    assert fault in problem_faults(**parts)


def running(*gpus: int, remaining: int = 3, **changes: Any) -> dict[str, Any]:
    """Return the running job of the small problem on other GPUs."""
    return job_document("earlier", running={"gpus": list(gpus), "remaining": remaining}, **changes)


OUT_LATER = {"gpus": [5, 6], "from": 1, "until": 3}
CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    (
        {"jobs": [TRAIN, {**TRAIN, "priority": -1}]},  # also where the other has a fault of its own
        "jobs[1].id: 'train' is the id of jobs[0] too; give each an id of its own",
    ),
    ({"jobs": [TRAIN, TRAIN]}, "jobs[1].id: 'train' is the id of jobs[0] too; give each an id of its own"),
    (
        {"jobs": [TRAIN], "services": [{**CHAT, "id": "train"}]},
        "services[0].id: 'train' is the id of jobs[0] too; give each an id of its own",
    ),
    (
        {"jobs": [running(4, 6, remaining=7)]},
        (
            "jobs[0].running.remaining: 7 steps do not end inside a horizon of 6; "
            "lengthen the horizon or set finish_inside: false"
        ),
    ),
    (
        {"services": [{**CHAT, "demand": [1] * 5}]},
        "services[0].demand: 5 entries for 6 steps; give one number for every step",
    ),
    (
        {"jobs": [{**TRAIN, "gpus": {"min": 5, "max": 7}}]},
        "jobs[0].gpus: no power of two between 5 and 7; widen the range",
    ),
    (
        {"jobs": [{**TRAIN, "gpus": {"min": 5, "max": 7}}], "cluster": {**CLUSTER, "block_sizes": "whole_nodes"}},
        "jobs[0].gpus: neither a power of two up to 4 nor a whole number of nodes between 5 and 7; widen the range",
    ),
    (
        {"jobs": [running(4)]},
        "jobs[0].running.gpus: 1 GPUs, and the job's range is 2 to 2; correct the block or widen the range",
    ),
    (
        {"jobs": [running(4, 6, submit=1)]},
        "jobs[0].submit: submitted at step 1 and running at step 0; remove submit or running",
    ),
    (
        {"jobs": [running(4, 8)]},
        "jobs[0].running.gpus: GPU 8 does not exist in a cluster of 8; GPU numbers run from 0 to 7",
    ),
    (
        {"jobs": [running(3, 4, gpu_types=["H100"])]},
        (
            "jobs[0].running.gpus: GPU 4 on blue does not meet the needs of 'earlier' for type or memory; "
            "correct gpu_types, gpu_memory_gib or the GPUs"
        ),
    ),
    (
        {"jobs": [running(6, 7)]},
        (
            "jobs[0].running.gpus: GPU 7 is unavailable in steps [0, 2) while 'earlier' runs on it; "
            "take the job out of running or correct unavailable"
        ),
    ),
    (
        {"jobs": [running(4, 6), {**running(6, 5), "id": "other"}], "services": []},
        "jobs[1].running.gpus: GPU 6 is held by 'earlier' too; give every GPU to one of them",
    ),
    (
        {"jobs": [running(4, 5)]},
        "services[0].held: GPU 5 is held by 'earlier' too; give every GPU to one of them",
    ),
    (
        {"services": [{**CHAT, "gpu_memory_gib": 64.0}]},
        (
            "services[0].held: GPU 5 on blue does not meet the needs of 'chat' for type or memory; "
            "correct gpu_types, gpu_memory_gib or the GPUs"
        ),
    ),
    (
        {"services": [{**CHAT, "held": [2, 3, 5], "max_gpus": 1}]},
        "services[0].held: 3 GPUs held, and max_swap 1 cannot bring them to max_gpus 1; raise max_gpus or max_swap",
    ),
    (
        {"services": [{**CHAT, "held": [5, 7], "max_swap": 0}]},
        (
            "services[0].held: 1 held GPUs are unavailable by step 0, sooner than max_swap 0 allows; "
            "leave lost GPUs out of held or raise max_swap"
        ),
    ),
    (
        {
            "cluster": {**CLUSTER, "unavailable": [{"gpus": [1, 2, 5], "from": 1, "until": 3}]},
            "services": [{**CHAT, "held": [1, 2, 5]}],
        },
        (
            "services[0].held: 3 held GPUs are unavailable by step 1, sooner than max_swap 1 allows; "
            "leave lost GPUs out of held or raise max_swap"
        ),
    ),
    (
        {"horizon": {"steps": 10_080}, "cluster": {"nodes": [{"name": "all", "gpus": 2000}]}, "jobs": []},
        (
            "horizon.steps: 2000 GPUs x 10080 steps are 20160000 cells, and 16000000 are accepted; "
            "use fewer or longer steps"
        ),
    ),
]


@pytest.mark.parametrize(
    ("parts", "fault"), CONTRADICTIONS, ids=[fault.partition(";")[0] for _, fault in CONTRADICTIONS]
)
def test_fields_that_contradict_one_another(parts: dict[str, Any], fault: str) -> None:
    assert fault in problem_faults(**parts)


@pytest.mark.parametrize(
    "parts",
    [
        # a GPU that closes twice is lost once, and one that closes behind the horizon is not lost in it
        {
            "cluster": {**CLUSTER, "unavailable": [OUT_LATER, {"gpus": [5], "from": 2, "until": 4}]},
            "jobs": [],
            "services": [{**CHAT, "held": [5, 6]}],
        },
        {"cluster": {**CLUSTER, "unavailable": [{"gpus": [5], "from": 6, "until": 9}]}},
        {
            "horizon": {"steps": 6, "finish_inside": False},
            "cluster": {**CLUSTER, "unavailable": [{"gpus": [6], "from": 6, "until": 9}]},
            "jobs": [running(4, 6, remaining=8)],
        },
    ],
)
def test_what_only_looks_like_a_contradiction(parts: dict[str, Any]) -> None:
    assert small_problem(**parts)


def test_all_faults_at_once() -> None:
    document = problem_document(
        name="",
        horizon={"steps": 6, "finish_inside": 1.0},
        jobs=[{**TRAIN, "gpus": {"min": 5, "max": 7}}, {**TRAIN, "kind": None}, {**TRAIN, "prio": 1}],
        services=[{**CHAT, "held": [9]}],
    )
    assert sorted(faults_of(lambda: Problem.from_document(document))) == sorted(
        [
            "name: is empty; give it at least 1 character",
            "horizon.finish_inside: must be true or false, not 1.0; write true or false",
            "jobs[1].kind: is null, and must be 'training', 'batch_inference' or 'quantization'; choose one of these",
            "jobs[2].prio: is not a field of this document; remove it or correct its name",
            "jobs[1].id: 'train' is the id of jobs[0] too; give each an id of its own",
            "jobs[2].id: 'train' is the id of jobs[0] too; give each an id of its own",
            "jobs[0].gpus: no power of two between 5 and 7; widen the range",
            "services[0].held: GPU 9 does not exist in a cluster of 8; GPU numbers run from 0 to 7",
        ]
    )


def test_the_names_of_fields_cannot_command_a_terminal() -> None:
    assert problem_faults(**{"a\x1b[31m": 1}) == [
        r"'a\x1b[31m': is not a field of this document; remove it or correct its name"
    ]
    (fault,) = problem_faults(**{"x" * 1000: 1})
    assert len(fault) < 120


def test_nouns_validate_at_birth_too() -> None:
    assert faults_of(lambda: Node(name="n", gpus=0)) == ["gpus: is 0, and must be at least 1; raise it"]
    assert faults_of(lambda: Job(id="j", kind="training", priority=1, gpus=2)) == [
        "neither duration nor work is given; give one: duration in steps, or work in GPU-steps"
    ]
    cluster = Cluster(nodes=(Node(name="n", gpus=2),))
    with pytest.raises(InputError, match=r"jobs\[0\]\.running\.gpus: GPU 4 does not exist"):
        Problem(name="p", horizon=Horizon(steps=9), cluster=cluster, jobs=(Job(**running(4, 6)),))


def test_replace_validates_again() -> None:
    assert small_problem().replace(name="other").name == "other"
    with pytest.raises(InputError, match="demand: 6 entries for 7 steps"):
        small_problem().replace(horizon=Horizon(steps=7, finish_inside=False))
