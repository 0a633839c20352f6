"""Who held which GPU when: facts laid out over the fleet, by index where the log has it, by best effort where not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from loadfactor.audit.fleet import Fleet, shares_of
from loadfactor.audit.window import Window
from loadfactor.sources.facts import JobInterval, NodeGpus

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_INDEX, _NODE, _PACKING = range(3)


@dataclass(frozen=True)
class Timeline:
    """Pieces of GPU time, parallel arrays: GPU `gpu[i]` was held during [begin[i], end[i]) by interval `owner[i]`.

    Moments are seconds since 1970 UTC, clipped to the window; no two pieces of a GPU overlap. `by_index`, `by_node` and
    `by_packing` count the intervals that were laid out by GPU numbers in the log, by their nodes, or with no node
    named. `crowded_seconds` are GPU-seconds that found no free GPU: two intervals on one GPU (shared cards), a node
    with more held than it has. `homeless_seconds` belong to nodes that the fleet does not have.
    """

    gpu: Ints
    begin: Floats
    end: Floats
    owner: Ints
    by_index: int
    by_node: int
    by_packing: int
    crowded_seconds: float
    homeless_seconds: float
    unknown_nodes: tuple[str, ...]

    @property
    def held_seconds(self) -> float:
        """The GPU-seconds held in all."""
        return float((self.end - self.begin).sum())


def lay_out(intervals: Sequence[JobInterval], fleet: Fleet, window: Window) -> Timeline:
    """Return the occupancy of `fleet` during `window`; an interval without an end is held to the window's end.

    Intervals are laid out in the order of their starts. One that names GPUs gets these; one that names nodes gets the
    lowest free GPUs there; any other gets the fullest node that has room for it, or the emptiest nodes. A piece whose
    GPU was a guess moves away when the log names its GPU for another.
    """
    from loadfactor.audit.layout import lay_shares

    shares = _gathered(intervals, fleet, window)
    table, spans, indices = shares.arrays()
    owner = np.array(shares.owners, dtype=np.int64)
    order = np.argsort(spans[:, 0], kind="stable")
    table, spans, owner = table[order], spans[order], owner[order]
    node_gpus = [node.gpus for node in fleet.nodes]
    room = int(table[:, 1].sum()) + 2 * len(indices)
    pieces, times = np.empty((room, 4), dtype=np.int64), np.empty((room, 2))
    last = np.concatenate((np.zeros(1, dtype=np.int64), np.full(len(table), -1)))
    crowded = lay_shares(
        table,
        spans,
        indices,
        np.argsort(spans[:, 1], kind="stable"),
        fleet.first_gpu,
        np.repeat(np.arange(len(fleet.nodes)), node_gpus),
        pieces,
        times,
        last,
        np.array(node_gpus, dtype=np.int64),
        np.full(fleet.gpus, -1),
    )
    made = slice(0, int(last[0]))
    kept = times[made, 1] > times[made, 0]
    return Timeline(
        pieces[made, 0][kept],
        times[made, 0][kept],
        times[made, 1][kept],
        owner[pieces[made, 1][kept]],
        by_index=shares.counts[_INDEX],
        by_node=shares.counts[_NODE],
        by_packing=shares.counts[_PACKING],
        crowded_seconds=crowded,
        homeless_seconds=shares.homeless_seconds,
        unknown_nodes=tuple(shares.unknown),
    )


def clipped(interval: JobInterval, window: Window) -> tuple[float, float] | None:
    """Return when `interval` held its GPUs within the window; None where it held none in it."""
    if interval.started is None or not interval.gpus:
        return None
    begin = max(interval.started, window.begin)
    end = window.end if interval.ended is None else min(interval.ended, window.end)
    return (begin, end) if end > begin else None


@dataclass
class _Shares:
    """Rows for the compiled layout: node (-1 for any), GPUs, and a span of `indices`, with an owner and times each."""

    rows: list[tuple[int, int, int, int]] = field(default_factory=list)
    spans: list[tuple[float, float]] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=lambda: [0, 0, 0])
    homeless_seconds: float = 0.0
    unknown: dict[str, None] = field(default_factory=dict)

    def add(self, owner: int, span: tuple[float, float], node: int, gpus: int, numbers: Sequence[int] = ()) -> None:
        """Add what `owner` holds on one node."""
        self.rows.append((node, gpus, len(self.indices), len(self.indices) + len(numbers)))
        self.indices += numbers
        self.spans.append(span)
        self.owners.append(owner)

    def arrays(self) -> tuple[Ints, Floats, Ints]:
        """Return the rows, the spans and the indices as arrays."""
        rows = np.array(self.rows, dtype=np.int64).reshape(-1, 4)
        spans = np.array(self.spans, dtype=np.float64).reshape(-1, 2)
        return rows, spans, np.array(self.indices, dtype=np.int64)


def _gathered(intervals: Sequence[JobInterval], fleet: Fleet, window: Window) -> _Shares:
    shares = _Shares()
    for owner, interval in enumerate(intervals):
        span = clipped(interval, window)
        if span is None:
            continue
        if not interval.node_gpus:
            shares.counts[_PACKING] += 1
            shares.add(owner, span, -1, interval.gpus)
            continue
        shares.counts[_INDEX if all(share.indices for share in interval.node_gpus) else _NODE] += 1
        for share in shares_of(interval):
            _add_share(shares, owner, span, share, fleet)
    return shares


def _add_share(shares: _Shares, owner: int, span: tuple[float, float], share: NodeGpus, fleet: Fleet) -> None:
    node, wanted = fleet.number.get(share.node), share.gpus or 0
    if node is None:
        shares.unknown[share.node] = None
        shares.homeless_seconds += wanted * (span[1] - span[0])
        return
    first, beyond = int(fleet.first_gpu[node]), int(fleet.first_gpu[node + 1])
    shares.add(owner, span, node, wanted, [first + index for index in share.indices if first + index < beyond])
