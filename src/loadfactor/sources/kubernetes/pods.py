"""One pod as an interval on GPUs: when it was made, bound to its node and over, and what it holds in between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loadfactor.errors import InputError
from loadfactor.sources.facts import JobInterval, JobState, NodeFact, NodeGpus
from loadfactor.sources.items import Item
from loadfactor.sources.kubernetes.requests import NOTHING, Asked, asked_by
from loadfactor.sources.kubernetes.values import moment

_PHASES = {
    "Pending": JobState.PENDING,
    "Running": JobState.RUNNING,
    "Succeeded": JobState.COMPLETED,
    "Failed": JobState.FAILED,
}
_NOT_OVER = frozenset({JobState.PENDING, JobState.RUNNING, JobState.UNKNOWN})
_ENDS = {
    "DeadlineExceeded": JobState.DEADLINE,
    "Evicted": JobState.PREEMPTED,
    "Preempting": JobState.PREEMPTED,
    "PreemptionByScheduler": JobState.PREEMPTED,
    "PreemptionByKubeScheduler": JobState.PREEMPTED,
    "NodeLost": JobState.NODE_FAIL,
    "NodeShutdown": JobState.NODE_FAIL,
    "NodeAffinity": JobState.NODE_FAIL,
    "OOMKilled": JobState.OUT_OF_MEMORY,
}
_QUEUES = ("kueue.x-k8s.io/queue-name", "kai.scheduler/queue", "runai/queue", "volcano.sh/queue-name")
_PRODUCT = "nvidia.com/gpu.product"
_MIB_PER_GIB = 1024


def pod_interval(pod: Item, row: int, nodes: Mapping[str, NodeFact]) -> JobInterval:
    """Return the stay of a pod; raise `InputError` where it cannot be read, or is over and nothing says since when.

    It holds its GPUs, and counts as running, from the moment at which it is bound to a node, before its images are
    there, until its last container has finished. `nodes` are those of the same document, for the type and memory of
    their GPUs.
    """
    metadata, spec, status = pod.item("metadata"), pod.item("spec"), pod.item("status")
    state = _state(status)
    started, ended = _held_since(status), None
    if state is JobState.PENDING and started is not None:
        state = JobState.RUNNING
    if state not in _NOT_OVER:
        ended = _ended(status, started)
    asked = asked_by(pod)
    gpus = asked.gpus if started is not None else 0
    host = spec.text("nodeName")
    node = nodes.get(host or "")
    return JobInterval(
        row=row,
        id=f"{metadata.text('namespace') or 'default'}/{_name(metadata)}",
        state=state,
        name=_name(metadata),
        account=metadata.text("namespace"),
        partition=next((queue for key in _QUEUES if (queue := metadata.item("labels").text(key))), None),
        quality_of_service=spec.text("priorityClassName"),
        priority=spec.number("priority"),
        reason=_reason(status),
        submitted=moment(metadata, "creationTimestamp"),
        started=started,
        ended=ended,
        limit_seconds=spec.number("activeDeadlineSeconds"),
        gpus=gpus,
        gpus_requested=asked.gpus,
        gpu_share=asked.share_of(_memory_mib(node)),
        gpu_type=asked.gpu_type or (node.gpu_type if node else None) or spec.item("nodeSelector").text(_PRODUCT),
        node_count=1 if host else None,
        node_gpus=(NodeGpus(host, gpus),) if host and gpus else (),
        exit_code=_exit_code(status),
    )


def pod_stake(pod: Item) -> float | None:
    """Return the GPU-seconds of a pod that was refused, None where they cannot be told."""
    status = pod.item("status")
    asked: Asked = asked_by(pod)
    started = _held_since(status)
    if asked == NOTHING or started is None:
        return 0.0
    if _state(status) in _NOT_OVER:
        return None
    return asked.gpus * (_ended(status, started) - started)


def _name(metadata: Item) -> str:
    name = metadata.text("name")
    if name is None:
        metadata.refuse("name", "the name of a pod")
    return name


def _state(status: Item) -> JobState:
    phase = _PHASES.get(status.text("phase") or "", JobState.UNKNOWN)
    if phase is not JobState.FAILED:
        return phase
    reasons = [status.text("reason"), *(ended.text("reason") for ended in _terminated(status))]
    reasons += [one.text("reason") for one in status.items("conditions") if one.text("type") == "DisruptionTarget"]
    return next((_ENDS[reason] for reason in reasons if reason in _ENDS), phase)


def _held_since(status: Item) -> float | None:
    for condition in status.items("conditions"):
        if condition.text("type") == "PodScheduled":
            return moment(condition, "lastTransitionTime") if condition.text("status") == "True" else None
    return moment(status, "startTime")


def _ended(status: Item, started: float | None) -> float:
    """Return when the last container finished, else the last change of a condition."""
    ends = [found for ended in _terminated(status) if (found := moment(ended, "finishedAt")) is not None]
    if not ends:
        changes = [moment(condition, "lastTransitionTime") for condition in status.items("conditions")]
        ends = [change for change in changes if change is not None]
    if not ends:
        raise InputError.of(status.place("containerStatuses"), "say not when the pod was over", "leave the pod out")
    if started is not None and max(ends) < started:
        fact = f"the pod was over {started - max(ends):g} s before it was bound to its node"
        raise InputError.of(status.place("containerStatuses"), fact, "correct the clocks")
    return max(ends)


def _terminated(status: Item) -> Iterator[Item]:
    for container in (*status.items("initContainerStatuses"), *status.items("containerStatuses")):
        state = container.item("state")
        if state.has("terminated"):
            yield state.item("terminated")


def _exit_code(status: Item) -> int | None:
    codes = [ended.number("exitCode") for ended in _terminated(status)]
    found = [int(code) for code in codes if code is not None]
    return next((code for code in found if code), found[0] if found else None)


def _reason(status: Item) -> str | None:
    """Return why a pod waits or has failed: its own reason, that of its binding, or that of a waiting container."""
    if (own := status.text("reason")) is not None:
        return own
    for condition in status.items("conditions"):
        if condition.text("type") == "PodScheduled" and condition.text("status") == "False":
            return condition.text("reason")
    for container in status.items("containerStatuses"):
        if (waiting := container.item("state").item("waiting").text("reason")) is not None:
            return waiting
    return next(
        (reason for ended in _terminated(status) if (reason := ended.text("reason")) not in (None, "Completed")), None
    )


def _memory_mib(node: NodeFact | None) -> float | None:
    return None if node is None or node.gpu_memory_gib is None else node.gpu_memory_gib * _MIB_PER_GIB
