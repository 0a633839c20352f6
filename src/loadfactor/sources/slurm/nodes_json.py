"""Nodes in Slurm's JSON: slurmrestd, `scontrol show node --json`, and both shapes of `sinfo --json`."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from loadfactor.errors import InputError
from loadfactor.sources.facts import LeftOut, NodeFact, Reading
from loadfactor.sources.gpu_names import memory_gib_of
from loadfactor.sources.items import Item
from loadfactor.sources.slurm.api import api_cell, api_moment, first_fault, label, list_of
from loadfactor.sources.slurm.gpus import Gpus, is_slice
from loadfactor.sources.slurm.gres import parse_gres
from loadfactor.sources.slurm.node_states import is_available, split_states
from loadfactor.sources.slurm.tres import parse_tres

EXPECTED = "nodes of Slurm in JSON"
_MOST_NAMED = 3


def read_slurm_nodes_json(text: str, name: str = "nodes.json") -> Reading[NodeFact]:
    """Return the nodes of one document, in its order; raise `InputError` where the text is no such document.

    The newer `sinfo --json` lists a node once for each of its partitions: it becomes one node with all of them. A node
    that cannot be read is left out.
    """
    answered = list_of(text, name, ("nodes", "sinfo"), EXPECTED)
    key, entries = answered.key, answered.entries
    read: Callable[[Item], list[NodeFact]] = _of_node if key == "nodes" else _of_partition
    facts: list[NodeFact] = []
    left_out: list[LeftOut] = []
    for position, entry in enumerate(entries):
        place = f"{name}:{key}[{position}]"
        try:
            if not isinstance(entry, dict):
                raise InputError.of(place, "is no object", "write the document again")
            facts += read(Item(entry, place))
        except InputError as error:
            left_out.append(LeftOut(first_fault(error)))
    kept, repeated = merged(facts, name)
    notes = (*answered.notes, *slice_notes(kept, name))
    return Reading(name, kept, len(entries), (*left_out, *repeated), notes, written_at=answered.written_at)


def node_fact(item: Item, states: tuple[str, ...], gpus: Gpus, since: float | None, **rest: object) -> NodeFact:
    """Return the fact about one node; `since` is when its reason was set, and counts while it is not available."""
    available = is_available(states)
    node = item.text(item.first("name", "NodeName", "hostname"))
    if node is None:
        item.refuse("name", "the name of a node")
    shape = NodeFact(
        name=node,
        gpus=gpus.count,
        gpu_type=gpus.gpu_type,
        gpu_memory_gib=memory_gib_of(gpus.gpu_type),
        states=states,
        available=available,
        unavailable_since=None if available else since,
    )
    return msgspec.structs.replace(shape, **rest)


def merged(facts: list[NodeFact], name: str) -> tuple[tuple[NodeFact, ...], list[LeftOut]]:
    """Return each node once, with the partitions of all its entries; leave out an entry that contradicts an earlier."""
    found: dict[str, NodeFact] = {}
    left_out: list[LeftOut] = []
    for fact in facts:
        known = found.setdefault(fact.name, fact)
        if known.gpus != fact.gpus:
            what = f"node {fact.name} has {known.gpus} GPUs, and in a later entry {fact.gpus}"
            left_out.append(LeftOut(first_fault(InputError.of(name, what, "keep the entry that is right"))))
            continue
        partitions = dict.fromkeys((*known.partitions, *fact.partitions))
        found[fact.name] = msgspec.structs.replace(known, partitions=tuple(partitions))
    return tuple(found.values()), left_out


def slice_notes(facts: tuple[NodeFact, ...], name: str) -> list[str]:
    """Return a sentence on the nodes whose GPUs are cut into slices, which Slurm counts one by one."""
    sliced = [fact.name for fact in facts if is_slice(fact.gpu_type)]
    if not sliced:
        return []
    named = ", ".join(sliced[:_MOST_NAMED]) + (", …" if len(sliced) > _MOST_NAMED else "")
    which = "1 node has" if len(sliced) == 1 else f"{len(sliced)} nodes have"
    return [f"{name}: {which} GPUs cut into slices (MIG), and each slice counts as one ({named})"]


def _of_node(item: Item) -> list[NodeFact]:
    states = split_states((*item.texts("state"), *item.texts("state_flags")))
    gpus: Gpus = api_cell(item, "gres", parse_gres)
    if not gpus.count:
        gpus = api_cell(item, "tres", parse_tres)
    rest = {"partitions": item.texts("partitions"), "reason": label(item, "reason")}
    return [node_fact(item, states, gpus, api_moment(item, "reason_changed_at"), **rest)]


def _of_partition(item: Item) -> list[NodeFact]:
    """Return the nodes of one group of the newer sinfo: those of one partition that share state and resources."""
    states = split_states(item.item("node").texts("state"))
    gpus: Gpus = api_cell(item.item("gres"), "total", parse_gres)
    reason = item.item("reason")
    partition = label(item.item("partition"), "name")
    rest = {"partitions": (partition,) if partition else (), "reason": label(reason, "description")}
    names = item.item("nodes").texts("nodes")
    since = api_moment(reason, "time")
    return [node_fact(Item({"name": node}, item.path), states, gpus, since, **rest) for node in names]
