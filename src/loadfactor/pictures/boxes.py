"""Boxes of the grid: contiguous GPUs times contiguous steps, and how cells are merged into them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from loadfactor.model import Unavailable

Interval = tuple[int, int]

LABEL_SAMPLES = 24


@dataclass(frozen=True, slots=True)
class Box:
    """GPUs [`first_gpu`, `until_gpu`) in steps [`start`, `end`), never past the horizon."""

    first_gpu: int
    until_gpu: int
    start: int
    end: int

    @property
    def cells(self) -> int:
        """The number of cells, in GPU-steps."""
        return (self.until_gpu - self.first_gpu) * (self.end - self.start)


def boxes_of_block(gpus: Iterable[int], start: int, end: int, steps: int) -> tuple[Box, ...]:
    """Return the boxes of a block held in [`start`, `end`), cut at `steps`; one for each run of consecutive GPUs."""
    end = min(end, steps)
    if end <= start:
        return ()
    return tuple(Box(first, until, start, end) for first, until in runs(gpus))


def boxes_of_holdings(gpus_by_step: Sequence[Sequence[int]], steps: int) -> tuple[Box, ...]:
    """Return the boxes that cover what a service holds, one entry of `gpus_by_step` for each of `steps` steps.

    A box is a run of consecutive GPUs that are given at the same step and taken away at the same step, so a service
    whose holdings never change is one box, and the number of boxes is bounded by its churn.
    """
    intervals: dict[int, list[Interval]] = defaultdict(list)
    since: dict[int, int] = {}
    before: frozenset[int] = frozenset()
    for step, gpus in enumerate(gpus_by_step[:steps]):
        now = before if step and gpus == gpus_by_step[step - 1] else frozenset(gpus)
        for gpu in before - now:
            intervals[gpu].append((since.pop(gpu), step))
        for gpu in now - before:
            since[gpu] = step
        before = now
    last = min(len(gpus_by_step), steps)
    for gpu, start in since.items():
        intervals[gpu].append((start, last))
    return boxes_of_intervals(intervals)


def boxes_of_unavailable(entries: Iterable[Unavailable], steps: int) -> tuple[Box, ...]:
    """Return the boxes of unavailable cells, overlapping entries united and cut at `steps`."""
    intervals: dict[int, list[Interval]] = defaultdict(list)
    for entry in entries:
        if entry.from_step < steps:
            for gpu in entry.gpus:
                intervals[gpu].append((entry.from_step, min(entry.until_step, steps)))
    return boxes_of_intervals({gpu: list(_united(parts)) for gpu, parts in intervals.items()})


def boxes_of_intervals(intervals: Mapping[int, Iterable[Interval]]) -> tuple[Box, ...]:
    """Return the boxes of the cells given as disjoint intervals for each GPU, ordered by first step, then GPU."""
    gpus: dict[Interval, list[int]] = defaultdict(list)
    for gpu, parts in intervals.items():
        for part in parts:
            gpus[part].append(gpu)
    boxes = [Box(first, until, *part) for part, held in gpus.items() for first, until in runs(held)]
    return tuple(sorted(boxes, key=lambda box: (box.start, box.first_gpu)))


def largest_box(boxes: Sequence[Box]) -> Box:
    """Return a large box inside the union of disjoint `boxes`, for a label: one of them, or several side by side.

    Not always the largest there is: of the boxes that exist at the same time, only whole runs are tried.
    """
    starts = sorted({box.start for box in boxes})
    sampled = starts[:: max(1, len(starts) // LABEL_SAMPLES)]
    united = [box for step in sampled for box in _united_at(boxes, step)]
    return max([*boxes, *united], key=lambda box: box.cells)


def _united_at(boxes: Iterable[Box], step: int) -> Iterator[Box]:
    current: Box | None = None
    for box in sorted((b for b in boxes if b.start <= step < b.end), key=lambda b: b.first_gpu):
        if current is not None and box.first_gpu == current.until_gpu:
            start, end = max(current.start, box.start), min(current.end, box.end)
            current = Box(current.first_gpu, box.until_gpu, start, end)
        else:
            if current is not None:
                yield current
            current = box
    if current is not None:
        yield current


def runs(gpus: Iterable[int]) -> Iterator[Interval]:
    """Yield the maximal runs of consecutive numbers in `gpus` as half-open intervals, ascending."""
    first = previous = None
    for gpu in sorted(gpus):
        if first is None or previous is None:
            first = gpu
        elif gpu != previous + 1:
            yield first, previous + 1
            first = gpu
        previous = gpu
    if first is not None and previous is not None:
        yield first, previous + 1


def _united(parts: Iterable[Interval]) -> Iterator[Interval]:
    current: Interval | None = None
    for start, end in sorted(parts):
        if current is None or start > current[1]:
            if current is not None:
                yield current
            current = (start, end)
        else:
            current = (current[0], max(current[1], end))
    if current is not None:
        yield current
