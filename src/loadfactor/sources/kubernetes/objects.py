"""Kubernetes' objects in JSON: `kubectl get pods,nodes -A -o json`, lists of one kind, or a single object."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from loadfactor.errors import InputError
from loadfactor.sources.facts import JobInterval, LeftOut, NodeFact, Reading
from loadfactor.sources.items import Item, decode_json
from loadfactor.sources.kubernetes.nodes import node_fact, unhealthy_gpus
from loadfactor.sources.kubernetes.pods import pod_interval, pod_stake
from loadfactor.sources.kubernetes.requests import is_reservation
from loadfactor.sources.sniff import is_kubernetes_json, refuse

EXPECTED = "objects of Kubernetes"


@dataclass(frozen=True)
class KubernetesReading:
    """The pods and the nodes of one document."""

    pods: Reading[JobInterval]
    nodes: Reading[NodeFact]


def read_kubernetes_json(text: str, name: str = "kubernetes.json") -> KubernetesReading:
    """Return the pods and nodes of one document; raise `InputError` where it holds no objects of Kubernetes.

    An object that cannot be read is left out, a pod with the GPU-seconds that it may have been. Objects of other kinds
    are counted in a note, and pods without GPUs only counted, as are those that just hold one for others that share it.
    """
    document = decode_json(text, name, EXPECTED)
    if not is_kubernetes_json(text):
        refuse(text, name, EXPECTED)
    objects = _objects(document, name)
    nodes = _nodes([item for kind, item in objects if kind == "Node"], name)
    placed = [(position, item) for position, (kind, item) in enumerate(objects) if kind == "Pod"]
    pods = _pods(placed, name, {node.name: node for node in nodes.facts})
    return KubernetesReading(_with_others(pods, objects, name), nodes)


def _objects(document: Item, name: str) -> list[tuple[str, Item]]:
    """Return kind and object of everything in the document; the items of a PodList have no kind of their own."""
    kind = document.text("kind") or ""
    if not kind.endswith("List"):
        return [(kind, document)]
    objects: list[tuple[str, Item]] = []
    for position, entry in enumerate(document.list("items")):
        item = Item(entry if isinstance(entry, dict) else {}, f"{name}:items[{position}]")
        own = item.fields.get("kind")
        objects.append((own if isinstance(own, str) else kind.removesuffix("List") or "?", item))
    return objects


def _nodes(items: list[Item], name: str) -> Reading[NodeFact]:
    facts: list[NodeFact] = []
    left_out: list[LeftOut] = []
    notes: list[str] = []
    for item in items:
        try:
            fact = node_fact(item)
            unhealthy = unhealthy_gpus(item)
        except InputError as error:
            left_out.append(LeftOut(error.faults[0]))
            continue
        facts.append(fact)
        if unhealthy:
            notes.append(f"{name}: {unhealthy} of the GPUs of {fact.name} are unhealthy, and offered to nobody")
    return Reading(name, tuple(facts), len(items), tuple(left_out), tuple(notes))


def _pods(items: list[tuple[int, Item]], name: str, nodes: dict[str, NodeFact]) -> Reading[JobInterval]:
    facts: list[JobInterval] = []
    left_out: list[LeftOut] = []
    reservations, without = 0, 0
    for position, item in items:
        try:
            if is_reservation(item):
                reservations += 1
                continue
            interval = pod_interval(item, position, nodes)
        except InputError as error:
            left_out.append(LeftOut(error.faults[0], _stake(item)))
            continue
        if interval.gpus or interval.gpus_requested:
            facts.append(interval)
        else:
            without += 1
    notes = []
    if reservations:
        which = "1 pod only holds a GPU" if reservations == 1 else f"{reservations} pods only hold GPUs"
        notes.append(f"{name}: {which} for others that share it, and counts as none")
    rows_without_gpus = without + reservations
    return Reading(name, tuple(facts), len(items), tuple(left_out), tuple(notes), rows_without_gpus=rows_without_gpus)


def _stake(pod: Item) -> float | None:
    try:
        return pod_stake(pod)
    except InputError:
        return None


def _with_others(pods: Reading[JobInterval], objects: list[tuple[str, Item]], name: str) -> Reading[JobInterval]:
    others = Counter(kind for kind, _ in objects if kind not in ("Pod", "Node"))
    if others and sum(others.values()) == len(objects):
        found = ", ".join(sorted(others)[:5])
        raise InputError.of(name, f"holds no pod and no node, but {found}", "write `kubectl get pods,nodes -A -o json`")
    notes = [f"{name}: {count} objects of the kind {kind} are not read" for kind, count in sorted(others.items())[:5]]
    return replace(pods, notes=(*pods.notes, *notes))
