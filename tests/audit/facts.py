"""Facts for tests, in hours: a fleet, intervals and a window that begins at hour 0."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from loadfactor.audit.fleet import Fleet, stated_fleet
from loadfactor.audit.record import Record, make_record
from loadfactor.audit.window import Window
from loadfactor.sources.facts import JobInterval, JobState, NodeFact, NodeGpus

HOUR = 3600.0
BEGIN = 1_767_225_600.0
"""Midnight of 2026-01-01 in UTC, a Thursday."""


def at(hour: float) -> float:
    """Return the moment `hour` hours after the window's begin."""
    return BEGIN + hour * HOUR


def window(hours: float) -> Window:
    """Return a window of `hours` hours in UTC."""
    return Window(BEGIN, at(hours), UTC)


def fleet(*gpus: int, **changes: Any) -> Fleet:
    """Return nodes n0, n1, ... of as many GPUs as stated."""
    return stated_fleet(NodeFact(name=f"n{number}", gpus=count, **changes) for number, count in enumerate(gpus))


def held(name: str, gpus: int, begin: float | None, end: float | None, **changes: Any) -> JobInterval:
    """Return an interval that holds `gpus` GPUs from hour `begin` to hour `end`, submitted at its begin."""
    nodes = changes.pop("nodes", ())
    submitted = changes.pop("submitted", begin)
    changes.setdefault("state", JobState.RUNNING if end is None else JobState.COMPLETED)
    return JobInterval(
        row=1,
        id=name,
        gpus=gpus if begin is not None else 0,
        gpus_requested=gpus,
        submitted=None if submitted is None else at(submitted),
        started=None if begin is None else at(begin),
        ended=None if end is None else at(end),
        node_gpus=tuple(node if isinstance(node, NodeGpus) else NodeGpus(node) for node in nodes),
        **changes,
    )


def record(intervals: list[JobInterval], hours: float, nodes: Fleet, **changes: Any) -> Record:
    """Return the record of `intervals` over `hours` hours on `nodes`."""
    return make_record("test", intervals, nodes, window(hours), **changes)
