"""The grid of an audit: GPUs from top to bottom, hours from left to right, as the log tells it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from loadfactor.audit.charts import FREE, USES
from loadfactor.audit.integrals import seconds_between
from loadfactor.audit.report import AuditReport

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Pieces = tuple[npt.NDArray[Any], Floats, Floats]
"""Parallel arrays: a GPU, and the moments between which it was held."""
MOST_ROWS = 128
MOST_COLUMNS = 336
MOST_TICKS = 14
LEVELS = 4
"""Shades of a cell: it is the fuller, the more of its GPU time its use took, in quarters."""
KINDS = ("jobs", "services", "unavailable")
PICTURE_WIDTH, PICTURE_HEIGHT, MOST_HEIGHT, LABEL_HEIGHT = 910, 320, 10, 20
LEAST_GAPPED = 5
"""The least height of a row that has a gap below it."""


def column_edges(report: AuditReport) -> Floats:
    """Return the edges of the grid's columns: the hours of the window, several to a column where there are too many."""
    edges = report.record.edges
    coarse = edges[:: max(1, -(-(len(edges) - 1) // MOST_COLUMNS))]
    return coarse if coarse[-1] == edges[-1] else np.append(coarse, edges[-1])


def gpus_per_row(report: AuditReport) -> int:
    """Return how many neighbouring GPUs a row of the grid stands for."""
    return max(1, -(-report.record.fleet.gpus // MOST_ROWS))


def grid_shades(report: AuditReport) -> Ints:
    """Return rows × columns: 0 where a cell was free, else LEVELS times the position in KINDS plus its shade from 1.

    A cell has the kind that took most of its GPU time, and a shade for how much that was, rounded to quarters.
    """
    record, edges, group = report.record, column_edges(report), gpus_per_row(report)
    line = record.timeline
    owned = record.is_service[line.owner] if len(line.owner) else np.zeros(0, dtype=np.bool_)
    out = [(gpu, begin, end) for gpu, spans in record.out.items() for begin, end in spans]
    columns = zip(*out, strict=True) if out else ((), (), ())
    out_gpu, out_begin, out_end = (np.array(column, dtype=np.float64) for column in columns)
    pieces: Sequence[Pieces] = (
        (line.gpu[~owned], line.begin[~owned], line.end[~owned]),
        (line.gpu[owned], line.begin[owned], line.end[owned]),
        (out_gpu, out_begin, out_end),
    )
    rows = [
        _shades([_seconds(each, first, group, edges) for each in pieces], _size(report, first), edges)
        for first in range(0, record.fleet.gpus, group)
    ]
    return np.array(rows, dtype=np.int64)


def _size(report: AuditReport, first: int) -> int:
    return min(gpus_per_row(report), report.record.fleet.gpus - first)


def _seconds(pieces: Pieces, first: int, group: int, edges: Floats) -> Floats:
    gpu, begin, end = pieces
    inside = (gpu >= first) & (gpu < first + group)
    return seconds_between(begin[inside], end[inside], edges)


def _shades(seconds: Sequence[Floats], gpus: int, edges: Floats) -> Ints:
    shares = np.vstack(seconds) / (np.diff(edges) * gpus)
    level = np.clip(np.rint(LEVELS * shares.max(axis=0)), 0, LEVELS).astype(np.int64)
    return np.where(level > 0, LEVELS * shares.argmax(axis=0) + level, 0)


def grid_svg(report: AuditReport) -> str:
    """Return the grid as SVG: one path for every kind and shade, in which neighbouring cells are one rectangle."""
    shades = grid_shades(report)
    rows, columns = shades.shape
    height = min(PICTURE_HEIGHT, rows * MOST_HEIGHT)
    tall = ".9" if height >= rows * LEAST_GAPPED else "1"
    outlines: dict[int, list[str]] = defaultdict(list)
    for number, row in enumerate(shades):
        for start, stop, shade in _runs(row):
            outlines[shade].append(f"M{start} {number}h{stop - start}v{tall}h{start - stop}z")
    paths = "".join(_path(shade, "".join(parts)) for shade, parts in sorted(outlines.items()))
    title = escape(f"Who held each GPU, hour by hour: {report.record.fleet.gpus} GPUs")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {PICTURE_WIDTH} {height + LABEL_HEIGHT}">'
        f'<title>{title}</title><rect width="{PICTURE_WIDTH}" height="{height}" fill="{FREE}"/>'
        f'<g transform="scale({PICTURE_WIDTH / columns:.5f} {height / rows:.5f})">{paths}</g>'
        f"{_ticks(report, height)}</svg>"
    )


def _path(shade: int, outline: str) -> str:
    kind, level = divmod(shade - 1, LEVELS)
    faded = f' opacity="{(level + 1) / LEVELS:g}"' if level + 1 < LEVELS else ""
    return f'<path class="{KINDS[kind]}" fill="{USES[KINDS[kind]][1]}"{faded} d="{outline}"/>'


def _runs(row: Ints) -> list[tuple[int, int, int]]:
    """Return begin, end and shade of every stretch of equal cells that were not free."""
    edges = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), len(row)]
    return [(start, stop, int(row[start])) for start, stop in pairwise(edges) if row[start]]


def _ticks(report: AuditReport, height: int) -> str:
    """Return the days of the local clock along the bottom, every few of them where there are many."""
    window, moments = report.record.window, report.record.edges[:-1].tolist()
    days = [moment for moment in moments if window.clock(moment)[1] == 0]
    every = -(-len(days) // MOST_TICKS) or 1
    form = "%a %d" if every == 1 else "%d %b"
    return "".join(
        f'<path d="M{x:.1f} 0V{height + 5}" stroke="#808890" stroke-width=".5"/>'
        f'<text x="{x + 3:.1f}" y="{height + 15}" font-size="12" fill="currentColor">{label}</text>'
        for x, label in (
            (
                PICTURE_WIDTH * (moment - window.begin) / window.seconds,
                datetime.fromtimestamp(moment, window.zone).strftime(form),
            )
            for moment in days[::every]
        )
    )
