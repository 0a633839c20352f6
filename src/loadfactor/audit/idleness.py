"""Why free GPUs stood free: at every moment, what waited and would have fit, would not have fit, or did not exist.

The queue and the free GPUs of every node are followed event by event. Whatever waits is laid into the free GPUs, large
first, where it fits most closely: GPUs filled so were lost to the *order* of the queue. Of what is left, as many as the
rest of the queue wants were lost to *shape*: they stand in pieces too small. Then come jobs held back by a *limit* of
their account, and what remains had no work at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from loadfactor.audit.fleet import Fleet
from loadfactor.audit.outages import Spans
from loadfactor.audit.timeline import Timeline
from loadfactor.audit.window import Window
from loadfactor.sources.facts import JobInterval

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

EDGE, FREE, OUT, WAITS, LIMITED = range(5)
"""The kinds of events: an hour ends; free GPUs of a node change; GPUs of it go out; jobs wait; jobs wait by a limit."""
CAUSES = ("order", "shape", "limit", "no_work", "unavailable")
LIMIT_REASONS = ("qos", "assoc", "maxgres", "maxjobs", "maxcpu", "maxnode", "partitiontimelimit", "grptres", "limit")
"""Words in a reason for waiting that speak of a limit somebody set (the reasons of Slurm's squeue manual)."""


@dataclass(frozen=True)
class Idleness:
    """GPU-seconds of the fleet that no job held, by hour of the window and cause.

    `seconds` has one row an hour and one column a cause of `CAUSES`. `block_sizes` ascend; `too_small[i]` are the
    GiB-seconds of free GPU memory in pieces too small for a block of `block_sizes[i]`, `memory` those of the whole
    fleet that was available. `queued` are the GPU-seconds that jobs waited for, by hour.
    """

    seconds: Floats
    block_sizes: tuple[int, ...]
    too_small: Floats
    memory: float
    queued: Floats

    def of(self, cause: str) -> float:
        """Return the GPU-seconds of one cause over the whole window."""
        return float(self.seconds[:, CAUSES.index(cause)].sum())


@dataclass(frozen=True)
class _Events:
    """Events by their moment; `table` has their kind, what they are about, and by how much it changes."""

    moment: Floats
    table: Ints


def waiting_span(interval: JobInterval, window: Window) -> tuple[float, float] | None:
    """Return the part of the window in which a job could have been started and was not; None where there is none.

    It begins when the job became eligible (was submitted, where the log does not say) and ends with its start, its end
    where it never started, or the window.
    """
    begin = interval.submitted if interval.eligible is None else interval.eligible
    if begin is None:
        return None
    end = interval.started if interval.started is not None else interval.ended
    begin, end = max(begin, window.begin), window.end if end is None else min(end, window.end)
    return (begin, end) if end > begin else None


def is_limited(interval: JobInterval) -> bool:
    """Return whether the scheduler's reason for the wait is a limit that somebody set."""
    reason = (interval.reason or "").lower()
    return any(word in reason for word in LIMIT_REASONS)


def explain_idle(
    intervals: Sequence[JobInterval], timeline: Timeline, out: Spans, fleet: Fleet, window: Window
) -> Idleness:
    """Return why GPUs of the fleet stood free in each hour of the window."""
    from loadfactor.audit.sweeping import sweep

    sizes = _block_sizes(intervals)
    edges = window.edges()
    events = _events(intervals, timeline, out, fleet, window, sizes, edges)
    node_gpus = np.array([node.gpus for node in fleet.nodes], dtype=np.int64)
    seconds = np.zeros((len(edges) - 1, len(CAUSES)))
    queued = np.zeros(len(edges) - 1)
    too_small = np.zeros(len(sizes))
    memory = sweep(
        events.moment,
        events.table,
        node_gpus,
        fleet.memory_gib,
        np.array(sizes, dtype=np.int64),
        seconds,
        queued,
        too_small,
        np.zeros((3, int(node_gpus.max()) + 1)),
        np.zeros((2, len(sizes)), dtype=np.int64),
        np.zeros((2, len(node_gpus)), dtype=np.int64),
        np.zeros(len(CAUSES) + 1),
        np.zeros(len(sizes)),
    )
    return Idleness(seconds, sizes, too_small, float(memory), queued)


def _block_sizes(intervals: Sequence[JobInterval]) -> tuple[int, ...]:
    asked = {interval.gpus_requested or interval.gpus for interval in intervals}
    return tuple(sorted(asked - {0})) or (1,)


def _events(
    intervals: Sequence[JobInterval],
    timeline: Timeline,
    out: Spans,
    fleet: Fleet,
    window: Window,
    sizes: tuple[int, ...],
    edges: Floats,
) -> _Events:
    node_of = np.repeat(np.arange(len(fleet.nodes)), [node.gpus for node in fleet.nodes])
    nodes = node_of[timeline.gpu]
    spans = [(low, high, node_of[gpu], 1) for gpu, of_gpu in out.items() for low, high in of_gpu]
    waits = _waits(intervals, window, sizes)
    parts = [
        _spans(FREE, timeline.begin, timeline.end, nodes, np.full(len(nodes), -1)),
        _spans(OUT, *_columns(spans)),
        _spans(WAITS, *_columns([wait[:4] for wait in waits if not wait[4]])),
        _spans(LIMITED, *_columns([wait[:4] for wait in waits if wait[4]])),
        (edges, np.full(len(edges), EDGE), np.zeros(len(edges)), np.zeros(len(edges))),
    ]
    moment, kind, index, change = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(moment, kind="stable")
    table = np.column_stack((kind, index, change)).astype(np.int64)[order]
    return _Events(moment[order].astype(np.float64), table)


def _waits(
    intervals: Sequence[JobInterval], window: Window, sizes: tuple[int, ...]
) -> list[tuple[float, float, int, int, bool]]:
    position = {size: index for index, size in enumerate(sizes)}
    found = []
    for interval in intervals:
        span = waiting_span(interval, window)
        size = interval.gpus_requested or interval.gpus
        if span is not None and size:
            found.append((*span, position[size], interval.count, is_limited(interval)))
    return found


def _columns(rows: Sequence[tuple[float, float, int, int]]) -> tuple[Floats, Floats, Floats, Floats]:
    begin, end, index, change = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return begin, end, index, change


def _spans(
    kind: int, begin: Floats, end: Floats, index: npt.NDArray[np.generic], change: npt.NDArray[np.generic]
) -> tuple[Floats, npt.NDArray[np.generic], npt.NDArray[np.generic], npt.NDArray[np.generic]]:
    """Return the events of spans: `change` at their begin, and its opposite at their end."""
    return (
        np.concatenate((begin, end)),
        np.full(2 * len(begin), kind),
        np.concatenate((index, index)),
        np.concatenate((change, -change.astype(np.int64))),
    )
