"""Nodes as `scontrol show node` prints them, in paragraphs or one on each line (`--oneliner`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from loadfactor.errors import InputError
from loadfactor.sources.cells import epoch_of_local, is_zone
from loadfactor.sources.facts import LeftOut, NodeFact, Reading
from loadfactor.sources.items import Item
from loadfactor.sources.slurm.api import api_cell, first_fault, label
from loadfactor.sources.slurm.cells import says_nothing
from loadfactor.sources.slurm.gpus import Gpus
from loadfactor.sources.slurm.gres import parse_gres
from loadfactor.sources.slurm.node_states import split_states
from loadfactor.sources.slurm.nodes_json import merged, node_fact, slice_notes
from loadfactor.sources.slurm.tres import parse_tres
from loadfactor.sources.sniff import is_scontrol_nodes, refuse

EXPECTED = "scontrol show node"
# Every key that scontrol prints for a node: what looks like another one inside a reason or a comment is text.
_KEYS = """
NodeName Arch CoresPerSocket CPUAlloc CPUEfctv CPUTot CPULoad CPUErr CoreSpecCount CPUSpecList MemSpecLimit
AvailableFeatures ActiveFeatures Gres GresDrain GresUsed NodeAddr NodeHostName Port Version OS RealMemory AllocMem
FreeMem Sockets Boards State ThreadsPerCore TmpDisk Weight Owner MCS_label NextState Partitions BootTime
SlurmdStartTime LastBusyTime ResumeAfterTime CfgTRES AllocTRES CapWatts CurrentWatts AveWatts LowestJoules
ConsumedJoules ExtSensorsJoules ExtSensorsWatts ExtSensorsTemp Reason Comment Extra InstanceId InstanceType
ReservationName Topology GpuSpec RestrictedCoresPerGPU BurstBuffer
"""
_KEY = re.compile(rf"(?:^|\s)({'|'.join(_KEYS.split())})=")
_RECORD = re.compile(r"^\s*NodeName=", re.MULTILINE)
_SET_BY = re.compile(r"\s*\[[^\]\s@]*@(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\]\s*$")
_WHOLE_REASON = re.compile(r"\sReason=(.*?\[[^\]\s@]*@\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\])")


@dataclass(frozen=True, slots=True)
class _Reason:
    text: str | None
    local: str | None = None


def read_scontrol_nodes(text: str, name: str = "nodes.txt", zone: str | None = None) -> Reading[NodeFact]:
    """Return the nodes that scontrol printed; raise `InputError` where the text is no such print.

    `zone` is the time zone of the machine that printed it: without one, since when a node is not available stays
    unknown, and a note says so.
    """
    if not is_scontrol_nodes(text):
        refuse(text, name, EXPECTED)
    if zone is not None and not is_zone(zone):
        raise InputError.of(name, f"{zone!r} is no time zone that is known", "name one such as Europe/Berlin or UTC")
    text = text.removeprefix("\ufeff")
    facts: list[NodeFact] = []
    left_out: list[LeftOut] = []
    without_zone = 0
    records = list(_records(text, name))
    for item in records:
        reason = _reason(item)
        try:
            facts.append(_fact(item, reason, zone))
        except InputError as error:
            left_out.append(LeftOut(first_fault(error)))
        else:
            without_zone += zone is None and reason.local is not None and not facts[-1].available
    kept, repeated = merged(facts, name)
    notes = slice_notes(kept, name)
    if without_zone:
        which = "1 node is" if without_zone == 1 else f"{without_zone} nodes are"
        notes.append(f"{name}: since when {which} not available is not known, because no time zone was stated")
    return Reading(name, kept, len(records), (*left_out, *repeated), tuple(notes))


def _records(text: str, name: str) -> Iterator[Item]:
    starts = [match.end() - len("NodeName=") for match in _RECORD.finditer(text)]
    line, counted = 1, 0
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        line, counted = line + text.count("\n", counted, start), start
        yield Item(_fields(text[start:end]), f"{name}:{line}")


def _fields(record: str) -> dict[str, str]:
    """Return the value of every key; the first of a key that appears twice, because free text stands last."""
    found = list(_KEY.finditer(record))
    ends = [match.start() for match in found[1:]] + [len(record)]
    fields: dict[str, str] = {}
    for match, end in zip(found, ends, strict=True):
        fields.setdefault(match[1], record[match.end() : end].strip())
    whole_reason = _WHOLE_REASON.search(record)
    return fields if whole_reason is None else fields | {"Reason": whole_reason[1]}


def _fact(item: Item, reason: _Reason, zone: str | None) -> NodeFact:
    gpus: Gpus = api_cell(item, "Gres", parse_gres)
    if not gpus.count:
        gpus = api_cell(item, "CfgTRES", parse_tres)
    since = _epoch(item, reason, zone)
    return node_fact(item, split_states(item.texts("State")), gpus, since, **_rest(item, reason))


def _rest(item: Item, reason: _Reason) -> dict[str, object]:
    partitions = label(item, "Partitions") or ""
    return {"partitions": tuple(part.strip() for part in partitions.split(",") if part.strip()), "reason": reason.text}


def _reason(item: Item) -> _Reason:
    """Return the text of the reason, and the local time of `[root@2024-05-14T08:30:00]` behind it."""
    text = label(item, "Reason")
    if text is None or says_nothing(text):
        return _Reason(None)
    matched = _SET_BY.search(text)
    return _Reason(text[: matched.start()].strip(), matched[1]) if matched else _Reason(text.strip())


def _epoch(item: Item, reason: _Reason, zone: str | None) -> float | None:
    if reason.local is None or zone is None:
        return None
    try:
        return epoch_of_local(datetime.fromisoformat(reason.local), zone)
    except (ValueError, OverflowError, InputError):
        fact, remedy = f"was set at {reason.local}, which is no moment", "print the nodes again"
        raise InputError.of(item.place("Reason"), fact, remedy) from None
