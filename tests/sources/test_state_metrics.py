"""Pods over time out of kube-state-metrics: phases, exact moments, pauses, slices, nodes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loadfactor.errors import InputError
from loadfactor.sources.facts import JobInterval, JobState, NodeFact, NodeGpus
from loadfactor.sources.kubernetes.state_metrics import StateReading, read_state_metrics


def series(name: str, values: dict[int, Any], **labels: str) -> dict[str, Any]:
    pod = {"namespace": "ml", "pod": "train-0", "uid": "u1"} if name.startswith("kube_pod") else {}
    known = [[time, str(value)] for time, value in values.items()]
    return {"metric": {"__name__": name, **pod, **labels}, "values": known}


def requests(values: dict[int, Any], **labels: str) -> dict[str, Any]:
    known = {"container": "main", "resource": "nvidia_com_gpu", "unit": "integer", "node": "gpu1"}
    return series("kube_pod_container_resource_requests", values, **(known | labels))


def phase(name: str, values: dict[int, int], **labels: str) -> dict[str, Any]:
    return series("kube_pod_status_phase", values, phase=name, **labels)


def read(*many: dict[str, Any]) -> StateReading:
    text = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": list(many)}})
    return read_state_metrics([("q.json", text)], "ksm")


def every(*times: int, value: Any = 1) -> dict[int, Any]:
    return dict.fromkeys(times, value)


OTHERS = requests(every(0, 60, 600, value=0), pod="other", uid="u9")  # so that 600 is the last moment
LISTED = requests(every(0, 60, 120, 180, value=2))
PENDING, RUNNING = phase("Pending", {0: 1, 60: 0}), phase("Running", {0: 0, 60: 1, 120: 1, 180: 0})


def test_a_pod_runs_while_its_phase_says_so() -> None:
    reading = read(OTHERS, LISTED, PENDING, RUNNING, phase("Succeeded", {120: 0, 180: 1}))
    assert reading.pods.facts == (
        JobInterval(
            row=0,
            id="ml/train-0",
            state=JobState.COMPLETED,
            name="train-0",
            account="ml",
            started=60,
            ended=180,
            gpus=2,
            gpus_requested=2,
            node_count=1,
            node_gpus=(NodeGpus("gpu1", 2),),
        ),
    )
    assert (reading.pods.left_out, reading.pods.notes) == ((), ())


def test_exact_moments_count_where_they_are_told() -> None:
    exact = {"kube_pod_created": -5 + 50, "kube_pod_status_scheduled_time": 47, "kube_pod_completion_time": 171}
    told = [series(name, every(60, 120, 180, value=moment)) for name, moment in exact.items()]
    found = read(OTHERS, LISTED, RUNNING, *told).pods.facts[0]
    assert (found.submitted, found.started, found.ended) == (45, 47, 171)
    assert found.state == JobState.UNKNOWN  # it was gone before anyone saw how it ended


def test_a_pod_seen_at_the_last_moment_runs_on() -> None:
    found = read(requests(every(0, 60, 120)), phase("Running", every(0, 60, 120))).pods.facts[0]
    assert (found.state, found.started, found.ended) == (JobState.RUNNING, 0, None)


def test_a_pod_that_waits_holds_nothing() -> None:
    found = read(LISTED, phase("Pending", every(0, 60, 120, 180))).pods.facts[0]
    assert (found.state, found.started, found.gpus, found.gpus_requested) == (JobState.PENDING, None, 0, 2)


def test_a_pause_of_more_than_three_steps_is_two_stays() -> None:
    reading = read(OTHERS, LISTED, phase("Running", every(0, 60, 300, 360)))
    assert [(fact.row, fact.started, fact.ended) for fact in reading.pods.facts] == [(0, 0, 120), (1, 300, 420)]
    short = read(OTHERS, LISTED, phase("Running", every(0, 60, 240, 300)))
    assert [(fact.started, fact.ended) for fact in short.pods.facts] == [(0, 360)]


def test_without_phases_a_pod_counts_while_it_is_listed() -> None:
    reading = read(OTHERS, LISTED)
    assert [(fact.started, fact.ended, fact.gpus) for fact in reading.pods.facts] == [(0, 240, 2)]
    assert reading.pods.notes == (
        "ksm: without kube_pod_status_phase a pod counts as running for as long as it is listed",
    )


def test_containers_add_up_and_slices_are_told() -> None:
    both = read(LISTED, requests(every(0, 60), container="side"), RUNNING).pods.facts[0]
    assert (both.gpus, both.gpu_share, both.gpu_type) == (3, 1.0, None)
    slices = read(requests(every(0, 60), resource="nvidia_com_mig_1g_10gb"), RUNNING).pods.facts[0]
    assert (slices.gpus, slices.gpu_share, slices.gpu_type) == (1, 1 / 7, "1g.10gb")
    cpus = read(requests(every(0, 60), resource="cpu"), RUNNING)
    assert cpus.pods.facts == ()


def test_pods_of_the_same_name_are_told_apart() -> None:
    again = [requests(every(240, 300), uid="u2"), phase("Running", every(240, 300), uid="u2")]
    reading = read(OTHERS, LISTED, RUNNING, *again)
    assert [(fact.started, fact.ended) for fact in reading.pods.facts] == [(60, 180), (240, 360)]


def test_the_workloads_labels_are_behind_exported_where_prometheus_keeps_its_own() -> None:
    labels = {
        "exported_pod": "train-7",
        "exported_namespace": "lab",
        "exported_container": "main",
        "exported_node": "gpu7",
    }
    found = read(requests(every(0, 60), **labels), phase("Running", every(0, 60), **labels)).pods.facts[0]
    assert (found.id, found.node_gpus) == ("lab/train-7", (NodeGpus("gpu7", 1),))


def test_nodes() -> None:
    capacity = {"node": "gpu1", "resource": "nvidia_com_gpu"}
    product = series("kube_node_labels", every(0), node="gpu1", label_nvidia_com_gpu_product="NVIDIA-H100-80GB-HBM3")
    reading = read(
        series("kube_node_status_capacity", every(0, 60, value=8), **capacity),
        series("kube_node_status_allocatable", every(0, 60, value=7), **capacity),
        series("kube_node_status_capacity", every(0, 60, value=64), node="cpu1", resource="cpu"),
        product,
        series("up", every(0)),
    )
    assert reading.nodes.facts == (NodeFact(name="gpu1", gpus=8, gpu_type="NVIDIA-H100-80GB-HBM3", gpu_memory_gib=80),)
    assert reading.pods.notes == ("ksm: series of up are not read",)


@pytest.mark.parametrize(
    "bad",
    [requests(every(0, value=1.5)), requests(every(0, value=-1)), series("kube_pod_created", every(0, value=1e12))],
)
def test_what_cannot_be_is_left_out(bad: dict[str, Any]) -> None:
    reading = read(bad, requests(every(0, 60), container="other"), RUNNING)
    assert [row.fault.path for row in reading.pods.left_out] == ["q.json:data.result[0]"]
    assert reading.pods.facts[0].gpus == 1


def test_answers_about_other_things_are_refused() -> None:
    with pytest.raises(
        InputError, match="ksm: holds no metric of kube-state-metrics that is read here; ask query_range"
    ):
        read(series("up", every(0)))
