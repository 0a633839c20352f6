"""When nodes served nobody: outages as the scheduler tells them, cut to the window and merged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from loadfactor.audit.fleet import Fleet
from loadfactor.audit.timeline import Timeline
from loadfactor.audit.window import Window
from loadfactor.sources.facts import Outage

Spans = dict[int, list[tuple[float, float]]]


def spans_out(fleet: Fleet, timeline: Timeline, outages: Sequence[Outage], window: Window) -> Spans:
    """Return by GPU the spans of the window in which it was unavailable, in order and apart.

    A node that the scheduler calls unavailable now has been so since it says, or where it does not say since the last
    job left it. What a job held in that time stays held: the log saw it run.
    """
    found: dict[int, list[tuple[float, float]]] = defaultdict(list)
    last_use = np.full(fleet.gpus, window.begin)
    np.maximum.at(last_use, timeline.gpu, timeline.end)
    for number, node in enumerate(fleet.nodes):
        if node.available:
            continue
        first, beyond = fleet.first_gpu[number], fleet.first_gpu[number + 1]
        since = node.unavailable_since
        began = float(last_use[first:beyond].max()) if since is None else since
        for gpu in range(first, beyond):
            found[gpu].append((began, window.end))
    for outage in outages:
        position = fleet.number.get(outage.node)
        if position is None:
            continue
        gpus = range(fleet.first_gpu[position], fleet.first_gpu[position + 1])
        for gpu in (gpus[index] for index in outage.indices if index < len(gpus)) if outage.indices else gpus:
            found[gpu].append((outage.began, window.end if outage.ended is None else outage.ended))
    merged = {gpu: _merged(spans, window) for gpu, spans in found.items()}
    return _without_held({gpu: spans for gpu, spans in merged.items() if spans}, timeline)


def _merged(spans: list[tuple[float, float]], window: Window) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for begin, end in sorted((max(begin, window.begin), min(end, window.end)) for begin, end in spans):
        if end <= begin:
            continue
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def _without_held(spans: Spans, timeline: Timeline) -> Spans:
    held: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for gpu, begin, end in zip(timeline.gpu.tolist(), timeline.begin.tolist(), timeline.end.tolist(), strict=True):
        if gpu in spans:
            held[gpu].append((begin, end))
    return {gpu: _minus(of_gpu, sorted(held[gpu])) for gpu, of_gpu in spans.items()}


def _minus(spans: list[tuple[float, float]], taken: list[tuple[float, float]]) -> list[tuple[float, float]]:
    left = spans
    for begin, end in taken:
        left = [
            (low, high)
            for first, last in left
            for low, high in ((first, min(last, begin)), (max(first, end), last))
            if high > low
        ]
    return left
