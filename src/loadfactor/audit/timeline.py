"""Who held which GPU when: facts laid out over the fleet, by index where the log has it, by best effort where not."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from loadfactor.audit.fleet import Fleet, shares_of
from loadfactor.audit.freeing import FreeGpus
from loadfactor.audit.window import Window
from loadfactor.sources.facts import JobInterval

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


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
    lowest free GPUs there; any other gets the fullest node that has room for it, or whole free nodes.
    """
    layout = _Layout(fleet, window)
    held = [
        (max(interval.started, window.begin), position)
        for position, interval in enumerate(intervals)
        if _shares_window(interval, window) and interval.started is not None
    ]
    for begin, position in sorted(held):
        interval = intervals[position]
        end = window.end if interval.ended is None else min(interval.ended, window.end)
        layout.add(position, interval, begin, end)
    return layout.timeline()


def _shares_window(interval: JobInterval, window: Window) -> bool:
    if interval.started is None or not interval.gpus or interval.started >= window.end:
        return False
    return interval.ended is None or interval.ended > max(interval.started, window.begin)


@dataclass
class _Layout:
    fleet: Fleet
    window: Window
    pieces: list[tuple[int, float, float, int]] = field(default_factory=list)
    crowded_seconds: float = 0.0
    homeless_seconds: float = 0.0

    def __post_init__(self) -> None:
        self.free = FreeGpus(self.fleet)
        self.holder: dict[int, int] = {}
        self.guessed: set[int] = set()
        self.releases: list[tuple[float, int, int]] = []
        self.counts = {"index": 0, "node": 0, "packing": 0}
        self.unknown: dict[str, None] = {}

    def add(self, owner: int, interval: JobInterval, begin: float, end: float) -> None:
        """Lay out one interval that begins no earlier than those before it."""
        self._release_until(begin)
        if not interval.node_gpus:
            self.counts["packing"] += 1
            self._hold(self.free.packed(interval.gpus), interval.gpus, owner, begin, end)
            return
        indexed = all(share.indices for share in interval.node_gpus)
        self.counts["index" if indexed else "node"] += 1
        for share in shares_of(interval):
            node = self.fleet.number.get(share.node)
            wanted = share.gpus or 0
            if node is None:
                self.unknown[share.node] = None
                self.homeless_seconds += wanted * (end - begin)
                continue
            self._hold_on_node(node, share.indices, wanted, owner, begin, end)

    def _hold_on_node(
        self, node: int, indices: tuple[int, ...], wanted: int, owner: int, begin: float, end: float
    ) -> None:
        first, beyond = int(self.fleet.first_gpu[node]), int(self.fleet.first_gpu[node + 1])
        named = [first + index for index in indices if first + index < beyond]
        for gpu in named:
            self._make_way(gpu, node, begin)
        taken = [gpu for gpu in named if self.free.is_free(gpu)]
        self._hold(taken, len(taken), owner, begin, end, guessed=False)
        missing = wanted - len(named)
        if missing > 0:
            self._hold(self.free.on_node(node, missing), missing, owner, begin, end)
        self.crowded_seconds += (len(named) - len(taken)) * (end - begin)

    def _make_way(self, gpu: int, node: int, at: float) -> None:
        """Move a piece whose GPU was a guess to another free GPU of the node, because the log names this one."""
        piece = self.holder.get(gpu)
        if piece is None or piece not in self.guessed:
            return
        elsewhere = self.free.on_node(node, 1)
        if not elsewhere:
            return
        _, begin, end, owner = self.pieces[piece]
        self.pieces[piece] = (gpu, begin, at, owner)
        self.holder.pop(gpu)
        self.free.give(gpu)
        self._hold(elsewhere, 1, owner, at, end)

    def _hold(self, gpus: list[int], wanted: int, owner: int, begin: float, end: float, guessed: bool = True) -> None:
        self.crowded_seconds += (wanted - len(gpus)) * (end - begin)
        for gpu in gpus:
            piece = len(self.pieces)
            self.free.take(gpu)
            self.holder[gpu] = piece
            if guessed:
                self.guessed.add(piece)
            self.pieces.append((gpu, begin, end, owner))
            heapq.heappush(self.releases, (end, piece, gpu))

    def _release_until(self, moment: float) -> None:
        while self.releases and self.releases[0][0] <= moment:
            _, piece, gpu = heapq.heappop(self.releases)
            if self.holder.get(gpu) == piece:
                self.holder.pop(gpu)
                self.free.give(gpu)

    def timeline(self) -> Timeline:
        """Return what was laid out."""
        kept = [piece for piece in self.pieces if piece[2] > piece[1]]
        gpu, begin, end, owner = zip(*kept, strict=True) if kept else ((), (), (), ())
        return Timeline(
            np.array(gpu, dtype=np.int64),
            np.array(begin, dtype=np.float64),
            np.array(end, dtype=np.float64),
            np.array(owner, dtype=np.int64),
            self.counts["index"],
            self.counts["node"],
            self.counts["packing"],
            self.crowded_seconds,
            self.homeless_seconds,
            tuple(self.unknown),
        )
