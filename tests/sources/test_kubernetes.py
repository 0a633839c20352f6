"""Pods and nodes in Kubernetes' JSON: phases, times, whole GPUs, slices and shares, labels, conditions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loadfactor.errors import InputError
from loadfactor.sources.facts import JobInterval, JobState, NodeFact, NodeGpus
from loadfactor.sources.kubernetes.objects import KubernetesReading, read_kubernetes_json
from loadfactor.sources.kubernetes.requests import share_of_slice

AT = "2024-05-14T08:{}:00Z"  # minutes after 8 o'clock
EIGHT = 1715673600.0
BOUND = {"type": "PodScheduled", "status": "True", "lastTransitionTime": AT.format("02")}
UNBOUND = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": AT.format("01")}


def container(**amounts: Any) -> dict[str, Any]:
    """Return a container with limits: `gpu` for nvidia.com/gpu, `mig_1g_10gb` for slices, or any name of theirs."""
    names = {"gpu": "nvidia.com/gpu", "cores": "nvidia.com/gpucores", "memory": "nvidia.com/gpumem"}
    names |= {"percent": "nvidia.com/gpumem-percentage", "amd": "amd.com/gpu"}
    limits = {
        names.get(name, f"nvidia.com/{name.replace('mig_', 'mig-').replace('_', '.')}"): amount
        for name, amount in amounts.items()
    }
    return {"name": "main", "resources": {"limits": limits, "requests": dict(limits)}}


def ended(minute: str, code: int = 0, reason: str = "Completed") -> dict[str, Any]:
    state = {"startedAt": AT.format("03"), "finishedAt": AT.format(minute), "exitCode": code, "reason": reason}
    return {"name": "main", "state": {"terminated": state}}


def pod(*containers: dict[str, Any], phase: str = "Running", **changes: Any) -> dict[str, Any]:
    status = {"phase": phase, "startTime": AT.format("02"), "conditions": [BOUND]} | changes.pop("status", {})
    metadata = {"name": "train-0", "namespace": "ml", "creationTimestamp": AT.format("00")} | changes.pop(
        "metadata", {}
    )
    spec = {"containers": list(containers) or [container(gpu="2")], "nodeName": "gpu1", "priority": 10}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec | changes, "status": status}


def node(**changes: Any) -> dict[str, Any]:
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81559"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": AT.format("00")}
    status = {
        "capacity": {"cpu": "64", "nvidia.com/gpu": "8"},
        "allocatable": {"nvidia.com/gpu": "8"},
        "conditions": [ready],
    }
    metadata = {
        "name": "gpu1",
        "labels": labels | changes.pop("labels", {}),
        "annotations": changes.pop("annotations", {}),
    }
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": metadata,
        "spec": changes.pop("spec", {}),
        "status": status | changes,
    }


def read(*items: Any, kind: str = "List") -> KubernetesReading:
    return read_kubernetes_json(json.dumps({"kind": kind, "apiVersion": "v1", "items": list(items)}), "k.json")


def read_pod(one: dict[str, Any], *others: dict[str, Any]) -> JobInterval:
    reading = read(one, *others)
    assert reading.pods.left_out == ()
    return reading.pods.facts[0]


def test_a_running_pod_and_its_node() -> None:
    reading = read(node(), pod(priorityClassName="high"))
    assert reading.pods.facts == (
        JobInterval(
            row=1,
            id="ml/train-0",
            state=JobState.RUNNING,
            name="train-0",
            account="ml",
            quality_of_service="high",
            priority=10,
            submitted=EIGHT,
            started=EIGHT + 120,
            gpus=2,
            gpus_requested=2,
            gpu_type="NVIDIA-H100-80GB-HBM3",
            node_count=1,
            node_gpus=(NodeGpus("gpu1", 2),),
        ),
    )
    assert reading.nodes.facts == (
        NodeFact(name="gpu1", gpus=8, gpu_type="NVIDIA-H100-80GB-HBM3", gpu_memory_gib=80, states=("Ready",)),
    )
    assert (reading.pods.rows_read, reading.nodes.rows_read) == (1, 1)


PREEMPTED = {"type": "DisruptionTarget", "reason": "PreemptionByScheduler", "lastTransitionTime": AT.format("20")}
OOM = ended("09", 137, "OOMKilled")


@pytest.mark.parametrize(
    ("one", "state", "minutes", "code"),
    [
        (pod(phase="Succeeded", status={"containerStatuses": [ended("10"), ended("12")]}), JobState.COMPLETED, 12, 0),
        (pod(phase="Failed", status={"containerStatuses": [ended("10", 1, "Error")]}), JobState.FAILED, 10, 1),
        (pod(phase="Failed", status={"containerStatuses": [OOM]}), JobState.OUT_OF_MEMORY, 9, 137),
        (pod(phase="Failed", status={"reason": "Evicted"}), JobState.PREEMPTED, 2, None),
        (pod(phase="Failed", status={"reason": "DeadlineExceeded"}), JobState.DEADLINE, 2, None),
        (pod(phase="Failed", status={"reason": "NodeLost"}), JobState.NODE_FAIL, 2, None),
        (pod(phase="Failed", status={"conditions": [BOUND, PREEMPTED]}), JobState.PREEMPTED, 20, None),
    ],
)  # fmt: skip
def test_pods_that_are_over(one: dict[str, Any], state: JobState, minutes: int, code: int | None) -> None:
    found = read_pod(one)
    assert (found.state, found.started, found.ended) == (state, EIGHT + 120, EIGHT + 60 * minutes)
    assert (found.exit_code, found.gpus) == (code, 2)


def test_a_pod_without_a_node_waits_and_says_why() -> None:
    found = read_pod(pod(phase="Pending", status={"startTime": None, "conditions": [UNBOUND]}, nodeName=None))
    assert (found.state, found.started, found.reason) == (JobState.PENDING, None, "Unschedulable")
    assert (found.gpus, found.gpus_requested, found.node_gpus) == (0, 2, ())


def test_a_pod_that_pulls_its_image_holds_its_gpus() -> None:
    waiting = {"name": "main", "state": {"waiting": {"reason": "ContainerCreating"}}}
    found = read_pod(pod(phase="Pending", status={"containerStatuses": [waiting]}))
    assert (found.state, found.started, found.gpus, found.reason) == (
        *(JobState.RUNNING, EIGHT + 120, 2, "ContainerCreating"),
    )


HALF_OF_TWO = {"gpu-fraction": "0.5", "gpu-fraction-num-devices": "2"}


@pytest.mark.parametrize(
    ("one", "gpus", "share", "gpu_type"),
    [
        (pod(container(gpu="1"), container(gpu=3)), 4, 1.0, None),
        (pod(container(amd="2")), 2, 1.0, None),
        (pod(container(gpu="2"), initContainers=[container(gpu="4")]), 4, 1.0, None),
        (pod(container(gpu="2"), initContainers=[container(gpu="1") | {"restartPolicy": "Always"}]), 3, 1.0, None),
        (pod({"name": "limits", "resources": {"limits": {"nvidia.com/gpu": "1"}}}), 1, 1.0, None),
        (pod(container(mig_3g_40gb="2")), 2, 3 / 7, "3g.40gb"),
        (pod(container(mig_1g_6gb="1")), 1, 1 / 4, "1g.6gb"),
        (pod(container(mig_1g_10gb="1"), container(mig_3g_40gb="1")), 2, None, "1g.10gb+3g.40gb"),
        (pod(container(gpu="1", cores="30", percent="50")), 1, 0.5, None),
        (pod(container(gpu="2", cores="70")), 2, 0.7, None),
        (pod(container(gpu="1", memory="4k")), 1, None, None),
        (pod(container(), metadata={"annotations": {"gpu-fraction": "0.25"}}), 1, 0.25, None),
        (pod(container(), metadata={"annotations": HALF_OF_TWO}), 2, 0.5, None),
        (pod(container(), metadata={"annotations": {"gpu-memory": "2048"}}), 1, None, None),
    ],
)  # fmt: skip
def test_what_pods_ask_for(one: dict[str, Any], gpus: int, share: float | None, gpu_type: str | None) -> None:
    found = read_pod(one)
    assert (found.gpus, found.gpus_requested, found.gpu_share, found.gpu_type) == (gpus, gpus, share, gpu_type)


def test_pods_without_gpus_are_only_counted() -> None:
    reading = read(pod(container()), pod({"name": "bare"}), pod())
    assert ([found.row for found in reading.pods.facts], reading.pods.rows_without_gpus) == ([2], 2)


def test_a_share_of_memory_is_known_where_the_node_is() -> None:
    fraction = pod(container(), metadata={"annotations": {"gpu-memory": "20480"}})
    assert read_pod(fraction, node()).gpu_share == 0.25
    assert read_pod(pod(container(gpu="1", memory="40960")), node()).gpu_share == 0.5


@pytest.mark.parametrize(("profile", "share"), [("7g.80gb", 1.0), ("4g.24gb", 1.0), ("2g.10gb", 2 / 7), ("all", None)])
def test_shares_of_slices(profile: str, share: float | None) -> None:
    assert share_of_slice(profile) == share


def test_reservations_of_shared_gpus_are_no_pods_of_their_own() -> None:
    holder = pod(metadata={"name": "gpu-reservation-gpu1-x", "namespace": "kai-resource-reservation"})
    reading = read(holder, pod(container(), metadata={"annotations": {"gpu-fraction": "0.5"}}))
    assert [(found.row, found.gpus, found.gpu_share) for found in reading.pods.facts] == [(1, 1, 0.5)]
    assert reading.pods.notes == ("k.json: 1 pod only holds a GPU for others that share it, and counts as none",)


@pytest.mark.parametrize("queue", ["kueue.x-k8s.io/queue-name", "kai.scheduler/queue", "runai/queue"])
def test_queues(queue: str) -> None:
    assert read_pod(pod(metadata={"labels": {queue: "research"}})).partition == "research"


NO_LABELS = {"nvidia.com/gpu.product": "", "nvidia.com/gpu.memory": ""}
HAMI = "GPU-a,10,46068,100,NVIDIA-NVIDIA A40,0,true:GPU-b,10,46068,100,NVIDIA-NVIDIA A40,0,true:"
HAMI_REGISTER = [{"id": "GPU-a", "count": 10, "devmem": 32768, "type": "NVIDIA-Tesla V100-PCIE-32GB"}]
HAMI_JSON = {"hami.io/node-nvidia-register": json.dumps(HAMI_REGISTER)}
AMD = NO_LABELS | {"amd.com/gpu.product-name": "MI300X"}


@pytest.mark.parametrize(
    ("one", "gpus", "gpu_type", "memory"),
    [
        (node(labels={"nvidia.com/gpu.product": "NVIDIA-X"}), 8, "NVIDIA-X", 81559 / 1024),
        (node(labels=NO_LABELS), 8, None, None),
        (node(labels={"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.count": "2"}), 2, "NVIDIA-H100-80GB-HBM3", 80),
        (node(annotations={"hami.io/node-nvidia-register": HAMI}, labels=NO_LABELS), 2, "NVIDIA A40", 46068 / 1024),
        (node(annotations=HAMI_JSON, labels=NO_LABELS), 1, "Tesla V100-PCIE-32GB", 32),
        (node(capacity={"nvidia.com/gpu": "0", "nvidia.com/mig-1g.10gb": "14"}), 14, "NVIDIA-H100-80GB-HBM3", 80),
        (node(capacity={"cpu": "4"}, labels=NO_LABELS), 0, None, None),
        (node(capacity={"amd.com/gpu": 8}, labels=AMD), 8, "MI300X", 192),
    ],
)  # fmt: skip
def test_gpus_of_nodes(one: dict[str, Any], gpus: int, gpu_type: str | None, memory: float | None) -> None:
    fact = read(one).nodes.facts[0]
    assert (fact.gpus, fact.gpu_type, fact.gpu_memory_gib) == (gpus, gpu_type, memory)


def test_nodes_that_are_not_available() -> None:
    lost = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": AT.format("30")}
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": AT.format("40")}
    facts = read(
        node(conditions=[lost]), node(spec={"unschedulable": True, "taints": [taint]}), node(conditions=[])
    ).nodes.facts
    assert [(fact.states, fact.available, fact.unavailable_since, fact.reason) for fact in facts] == [
        (("NotReady",), False, EIGHT + 1800, "NodeStatusUnknown"),
        (("Ready", "SchedulingDisabled"), False, EIGHT + 2400, None),
        (("NotReady",), False, None, None),
    ]


def test_unhealthy_gpus_are_noted() -> None:
    reading = read(node(allocatable={"nvidia.com/gpu": "7"}))
    assert reading.nodes.facts[0].gpus == 8
    assert reading.nodes.notes == ("k.json: 1 of the GPUs of gpu1 are unhealthy, and offered to nobody",)


def test_lists_of_one_kind_and_single_objects() -> None:
    nameless = {key: value for key, value in pod().items() if key not in ("kind", "apiVersion")}
    assert [found.gpus for found in read(nameless, kind="PodList").pods.facts] == [2]
    single = read_kubernetes_json(json.dumps(node()), "n.json")
    assert (len(single.nodes.facts), single.pods.rows_read) == (1, 0)
    mixed = read(pod(), {"kind": "Service"})
    assert mixed.pods.notes == ("k.json: 1 objects of the kind Service are not read",)


@pytest.mark.parametrize(
    ("one", "message", "stake"),
    [
        (
            pod(phase="Succeeded", status={"containerStatuses": [ended("01")]}),
            "k.json:items[0].status.containerStatuses: the pod was over 60 s before it was bound to its node",
            None,
        ),
        (pod(phase="Failed", status={"conditions": []}), "containerStatuses: say not when the pod was over", None),
        (pod(container(gpu="two")), "limits.nvidia.com/gpu: is 'two', and a quantity such as 1, 500m or 3k", None),
        (pod(container(gpu="0.5")), "is '0.5', and a whole number from 0 to 1000000 is expected", None),
        (pod(metadata={"annotations": {"gpu-fraction": "half"}}), "annotations.gpu-fraction: is 'half'", None),
        (pod(metadata={"creationTimestamp": "2024-05-14"}), "creationTimestamp: is '2024-05-14', and a moment", None),
        (
            pod(phase="Succeeded", status={"containerStatuses": [ended("12")]}, priority="high"),
            "k.json:items[0].spec.priority: is 'high', and a number is expected",
            2 * 600.0,
        ),
        ({"kind": "Pod", "spec": []}, "k.json:items[0].spec: is [], and an object is expected", None),
    ],
)
def test_pods_that_cannot_be_read_are_left_out(one: dict[str, Any], message: str, stake: float | None) -> None:
    reading = read(one, pod())
    assert len(reading.pods.facts) == 1
    assert message in str(reading.pods.left_out[0].fault)
    assert reading.pods.left_out[0].gpu_seconds == stake


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"jobs": [{"job_id": 1}]}', "looks like jobs of Slurm in JSON; expected objects of Kubernetes"),
        (
            json.dumps({"kind": "List", "apiVersion": "v1", "items": [{"kind": "Job"}]}),
            "holds no pod and no node, but Job",
        ),
        ('{"kind": "Secret", "apiVersion": "v1"}', "holds no pod and no node, but Secret"),
        ("NAME READY\npod 1/1\n", "looks like nothing that is known here; expected objects of Kubernetes"),
    ],
)
def test_what_holds_no_pods_or_nodes_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_kubernetes_json(text, "k.json")
    assert message in str(caught.value)
