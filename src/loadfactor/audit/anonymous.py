"""A record to share: users, accounts, jobs, partitions and nodes under other names, figures unchanged."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import msgspec

from loadfactor.audit.fleet import Fleet
from loadfactor.audit.record import Record
from loadfactor.errors import Fault
from loadfactor.sources.facts import JobInterval, LeftOut, NodeFact, NodeGpus


def anonymized(record: Record) -> Record:
    """Return `record` with numbered names: user-1, job-1, node-1, in the order in which they first appear.

    The numbers say nothing of the names. Texts that may hold a name (reasons, what was wrong with a row, the source)
    are dropped; figures and moments stay.
    """
    name = {kind: _numbering(kind) for kind in ("user", "account", "job", "name", "partition", "qos", "node")}
    nodes = tuple(_node(node, name) for node in record.fleet.nodes)
    return replace(
        record,
        source="the log",
        fleet=Fleet(nodes, record.fleet.stated),
        intervals=[_interval(interval, name) for interval in record.intervals],
        timeline=replace(
            record.timeline, unknown_nodes=tuple(name["node"](each) or "" for each in record.timeline.unknown_nodes)
        ),
        left_out=tuple(_left_out(row) for row in record.left_out),
        notes=(),
    )


Numbering = Callable[[str | None], str | None]


def _numbering(kind: str) -> Numbering:
    seen: dict[str, str] = {}

    def renamed(text: str | None) -> str | None:
        return None if text is None else seen.setdefault(text, f"{kind}-{len(seen) + 1}")

    return renamed


def _node(node: NodeFact, name: dict[str, Numbering]) -> NodeFact:
    return msgspec.structs.replace(
        node,
        name=name["node"](node.name),
        partitions=tuple(name["partition"](each) or "" for each in node.partitions),
        reason=None,
    )


def _interval(interval: JobInterval, name: dict[str, Numbering]) -> JobInterval:
    return msgspec.structs.replace(
        interval,
        id=name["job"](interval.id),
        name=name["name"](interval.name),
        user=name["user"](interval.user),
        account=name["account"](interval.account),
        partition=name["partition"](interval.partition),
        quality_of_service=name["qos"](interval.quality_of_service),
        reason=None,
        node_gpus=tuple(
            NodeGpus(name["node"](share.node) or "", share.gpus, share.indices) for share in interval.node_gpus
        ),
    )


def _left_out(row: LeftOut) -> LeftOut:
    number = re.search(r"\d+", row.fault.path.rpartition(":")[2])
    return LeftOut(
        Fault(
            f"the log:{number.group() if number else '?'}", "could not be read", "see the report that is not anonymized"
        ),
        row.gpu_seconds,
    )
