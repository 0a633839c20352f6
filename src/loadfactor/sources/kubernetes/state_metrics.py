"""Pods over time out of Prometheus: what kube-state-metrics said at every moment, as intervals and nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from msgspec.structs import replace

from loadfactor.errors import InputError
from loadfactor.sources.facts import JobInterval, JobState, LeftOut, NodeFact, NodeGpus, Reading
from loadfactor.sources.gpu_names import memory_gib_of
from loadfactor.sources.kubernetes.requests import share_of_slice
from loadfactor.sources.prometheus import Answer, Series, read_answer

REQUESTS = "kube_pod_container_resource_requests"
PHASE = "kube_pod_status_phase"
CREATED = "kube_pod_created"
STARTED = "kube_pod_start_time"
SCHEDULED = "kube_pod_status_scheduled_time"
COMPLETED = "kube_pod_completion_time"
ALLOCATABLE = "kube_node_status_allocatable"
CAPACITY = "kube_node_status_capacity"
LABELS = "kube_node_labels"
_MOMENTS = (CREATED, STARTED, SCHEDULED, COMPLETED)
_READ = frozenset({REQUESTS, PHASE, *_MOMENTS, ALLOCATABLE, CAPACITY, LABELS})
_WHOLE = frozenset({"nvidia_com_gpu", "nvidia_com_gpu_shared", "amd_com_gpu"})
_SLICE = "nvidia_com_mig_"
_ENDS = {"Succeeded": JobState.COMPLETED, "Failed": JobState.FAILED}
_GAP_STEPS = 3
_REMEDY = f"ask query_range for {REQUESTS} and {PHASE}"

Pod = tuple[str, str, str]


@dataclass
class _Seen:
    """What is known about a pod: its containers' GPUs, its moments, and when it was in which phase."""

    node: str | None = None
    gpus: dict[tuple[str, str], float] = field(default_factory=dict)
    listed: list[float] = field(default_factory=list)
    phases: dict[str, list[float]] = field(default_factory=dict)
    moments: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class StateReading:
    """The pods that ask for GPUs, as intervals, and the nodes that offer them at the last moment."""

    pods: Reading[JobInterval]
    nodes: Reading[NodeFact]


def read_state_metrics(documents: Iterable[tuple[str, str]], source: str = "kube-state-metrics") -> StateReading:
    """Return pods and nodes in Prometheus' answers about kube-state-metrics, given as pairs of name and text.

    A pod holds its GPUs while its phase is Running, to within one step of the query; where the answers also tell when
    it was scheduled or started, and when it was over, those moments count. Without the phase a pod counts as long as it
    is listed, and a note says so. A pod still seen at the last moment runs on. A pause of more than three steps is two
    stays. Raises `InputError` where a text is no answer, or none tells of pods or nodes.
    """
    answers = [read_answer(text, name) for name, text in documents]
    series = [one for answer in answers for one in answer.series if one.metric in _READ and len(one.times)]
    if not series:
        raise InputError.of(source, "holds no metric of kube-state-metrics that is read here", _REMEDY)
    pods, left_out = _seen(series)
    step, last = _step(series), max(float(one.times[-1]) for one in series)
    has_phases = any(one.metric == PHASE for one in series)
    facts = [
        interval
        for pod, seen in pods.items()
        if any(seen.gpus.values())
        for interval in _intervals(pod, seen, has_phases, step, last)
    ]
    facts = [replace(fact, row=row) for row, fact in enumerate(sorted(facts, key=lambda fact: fact.started or 0.0))]
    notes = [note for answer in answers for note in answer.notes]
    notes += _notes(answers, series, has_phases, source)
    left_out += [row for answer in answers for row in answer.left_out]
    nodes = _nodes(series)
    return StateReading(
        Reading(source, tuple(facts), len(facts) + len(left_out), tuple(left_out), tuple(notes), written_at=last),
        Reading(source, nodes, len(nodes)),
    )


def _seen(series: Iterable[Series]) -> tuple[dict[Pod, _Seen], list[LeftOut]]:
    pods: dict[Pod, _Seen] = {}
    left_out: list[LeftOut] = []
    for one in series:
        if "pod" not in one.labels:
            continue
        labels = one.labels
        exported = "exported_pod" in labels
        name = labels["exported_pod"] if exported else labels["pod"]
        namespace = labels.get("exported_namespace" if exported else "namespace", "default")
        seen = pods.setdefault((namespace, name, labels.get("uid", "")), _Seen())
        try:
            _note(seen, one)
        except InputError as error:
            left_out.append(LeftOut(error.faults[0]))
    return pods, left_out


def _note(seen: _Seen, one: Series) -> None:
    known = np.isfinite(one.values)
    if one.metric == PHASE:
        phase = one.labels.get("phase", "")
        seen.phases.setdefault(phase, []).extend(one.times[known & (one.values > 0)].tolist())
    elif one.metric in _MOMENTS and known.any():
        moment = float(one.values[known][-1])
        if not 0 <= moment < 1e11:
            raise InputError.of(one.place, f"{one.metric} is {moment:g}, no moment", "drop the series")
        seen.moments[one.metric] = moment
    elif one.metric == REQUESTS and _is_gpu(one.labels.get("resource", "")) and known.any():
        gpus = float(one.values[known].max())
        if not 0 <= gpus <= 1e6 or gpus != int(gpus):
            raise InputError.of(one.place, f"asks for {gpus:g} GPUs", "drop the series")
        container = one.labels.get("exported_container") or one.labels.get("container", "")
        seen.gpus[container, one.labels["resource"]] = gpus
        seen.node = one.labels.get("exported_node") or one.labels.get("node") or seen.node
        seen.listed.extend(one.times[known].tolist())


def _is_gpu(resource: str) -> bool:
    return resource in _WHOLE or resource.startswith(_SLICE)


def _step(series: Iterable[Series]) -> float:
    """Return the smallest distance between two moments of a series: the step of the query."""
    distances = [float(np.diff(np.unique(one.times)).min()) for one in series if len(np.unique(one.times)) > 1]
    return min(distances, default=0.0)


def _intervals(pod: Pod, seen: _Seen, has_phases: bool, step: float, last: float) -> Iterator[JobInterval]:
    running = sorted(set(seen.phases.get("Running", []) if has_phases else seen.listed))
    gpus, _, _ = _asked(seen)
    if not running:
        waited = min(seen.phases.get("Pending", []), default=None)
        if waited is not None:
            yield _interval(pod, seen, JobState.PENDING, None, None)
        return
    for began, ended in _stays(running, step):
        is_first, is_last = began == running[0], ended == running[-1]
        started = _refined(seen, (SCHEDULED, STARTED), began, step) if is_first else began
        over = None if is_last and ended >= last else ended + step
        if over is not None and is_last:
            over = _refined(seen, (COMPLETED,), over, step)
        state = JobState.RUNNING if over is None else _end_state(seen, ended) if is_last else JobState.UNKNOWN
        node_gpus = (NodeGpus(seen.node, gpus),) if seen.node else ()
        held = {"gpus": gpus, "node_gpus": node_gpus, "node_count": 1 if seen.node else None}
        yield _interval(pod, seen, state, started, over if over is None else max(over, started), **held)


def _interval(
    pod: Pod, seen: _Seen, state: JobState, started: float | None, ended: float | None, **held: object
) -> JobInterval:
    gpus, gpu_type, share = _asked(seen)
    known: dict[str, object] = {
        "row": 0,
        "id": f"{pod[0]}/{pod[1]}",
        "state": state,
        "name": pod[1],
        "account": pod[0],
        "submitted": seen.moments.get(CREATED),
        "started": started,
        "ended": ended,
        "gpus_requested": gpus,
        "gpu_type": gpu_type,
        "gpu_share": share,
    }
    return JobInterval(**(known | held))  # type: ignore[arg-type]


def _stays(moments: list[float], step: float) -> Iterator[tuple[float, float]]:
    """Yield first and last moment of each run of moments without a pause of more than a few steps."""
    began = moments[0]
    for earlier, later in pairwise(moments):
        if later - earlier > _GAP_STEPS * step > 0:
            yield began, earlier
            began = later
    yield began, moments[-1]


def _refined(seen: _Seen, metrics: Iterable[str], seen_at: float, step: float) -> float:
    """Return the exact moment that a metric tells, where it fits what was seen to within two steps, or is earlier."""
    for metric in metrics:
        exact = seen.moments.get(metric)
        if exact is not None and exact <= seen_at + step and (metric != COMPLETED or exact >= seen_at - 2 * step):
            return exact
    return seen_at


def _end_state(seen: _Seen, ended: float) -> JobState:
    for phase, state in _ENDS.items():
        if any(moment > ended for moment in seen.phases.get(phase, [])):
            return state
    return JobState.UNKNOWN


def _asked(seen: _Seen) -> tuple[int, str | None, float | None]:
    """Return GPUs, profile of slices, and share."""
    gpus = int(sum(seen.gpus.values()))
    resources = {resource for (_, resource), count in seen.gpus.items() if count}
    profiles = sorted(_profile(resource) for resource in resources if resource.startswith(_SLICE))
    if not profiles:
        return gpus, None, 1.0
    share = share_of_slice(profiles[0]) if len(resources) == 1 else None
    return gpus, "+".join(profiles), share


def _profile(resource: str) -> str:
    """Return `1g.10gb` for `nvidia_com_mig_1g_10gb`."""
    return resource.removeprefix(_SLICE).replace("_", ".", 1)


def _nodes(series: Iterable[Series]) -> tuple[NodeFact, ...]:
    gpus: dict[str, dict[str, float]] = {}
    products: dict[str, str] = {}
    for one in series:
        node = one.labels.get("exported_node") or one.labels.get("node")
        known = one.values[np.isfinite(one.values)]
        if node and one.metric == LABELS and one.labels.get("label_nvidia_com_gpu_product"):
            products[node] = one.labels["label_nvidia_com_gpu_product"]
        if node and one.metric in (CAPACITY, ALLOCATABLE) and len(known) and 0 <= known[-1] <= 1e6:
            resource = one.labels.get("resource", "")
            if _is_gpu(resource):
                offered = gpus.setdefault(node, {})
                offered[resource] = max(offered.get(resource, 0.0), float(known[-1]))
    return tuple(_node(name, offered, products) for name, offered in gpus.items())


def _node(name: str, offered: Mapping[str, float], products: Mapping[str, str]) -> NodeFact:
    product = products.get(name)
    return NodeFact(name=name, gpus=int(sum(offered.values())), gpu_type=product, gpu_memory_gib=memory_gib_of(product))


def _notes(answers: list[Answer], series: list[Series], has_phases: bool, source: str) -> list[str]:
    notes = []
    if not has_phases and any(one.metric == REQUESTS for one in series):
        notes.append(f"{source}: without {PHASE} a pod counts as running for as long as it is listed")
    others = {one.metric or "without a name" for answer in answers for one in answer.series} - _READ
    if others:
        notes.append(f"{source}: series of {', '.join(sorted(others)[:5])} are not read")
    return notes
