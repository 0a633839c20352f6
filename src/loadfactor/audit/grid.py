"""The grid of an audit: GPUs from top to bottom, hours from left to right, as the log tells it."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from loadfactor.audit.charts import USES
from loadfactor.audit.integrals import seconds_between
from loadfactor.audit.report import AuditReport

Floats = npt.NDArray[np.float64]
MOST_ROWS = 128
MOST_COLUMNS = 336
CELL_WIDTH, LEAST_HEIGHT, PICTURE_WIDTH = 5, 4, 860
HELD_SHARE = 0.5
"""A cell has the colour of what it was for at least half of its time, and is free else."""
_KINDS = ("free", "jobs", "services", "unavailable")
_COLOURS = {"free": "none", "jobs": USES["jobs"][1], "services": USES["services"][1], "unavailable": "#5a6069"}


def rows_of_grid(report: AuditReport) -> list[list[int]]:
    """Return what each cell was, as positions in free, jobs, services, unavailable; a row for one GPU or several.

    A larger fleet than MOST_ROWS GPUs is drawn with several neighbouring GPUs to a row, a longer window than
    MOST_COLUMNS hours with several hours to a column.
    """
    record = report.record
    edges = record.edges[:: max(1, -(-(len(record.edges) - 1) // MOST_COLUMNS))]
    edges = edges if edges[-1] == record.edges[-1] else np.append(edges, record.edges[-1])
    group = max(1, -(-record.fleet.gpus // MOST_ROWS))
    line = record.timeline
    owned = record.is_service[line.owner] if len(line.owner) else np.zeros(0, dtype=np.bool_)
    out = [(gpu, begin, end) for gpu, spans in record.out.items() for begin, end in spans]
    out_gpu, out_begin, out_end = (
        np.array(column, dtype=np.float64) for column in (zip(*out, strict=True) if out else ((), (), ()))
    )
    rows = []
    for first in range(0, record.fleet.gpus, group):
        count = min(group, record.fleet.gpus - first)
        shares = [
            _share(line.gpu, line.begin, line.end, ~owned, first, count, edges),
            _share(line.gpu, line.begin, line.end, owned, first, count, edges),
            _share(out_gpu, out_begin, out_end, np.ones(len(out_gpu), dtype=np.bool_), first, count, edges),
        ]
        stacked = np.vstack(shares)
        rows.append(np.where(stacked.max(axis=0) >= HELD_SHARE, 1 + stacked.argmax(axis=0), 0).tolist())
    return rows


def _share(
    gpu: npt.NDArray[Any],
    begin: Floats,
    end: Floats,
    chosen: npt.NDArray[np.bool_],
    first: int,
    count: int,
    edges: Floats,
) -> Floats:
    inside = chosen & (gpu >= first) & (gpu < first + count)
    shares: Floats = seconds_between(begin[inside], end[inside], edges) / (np.diff(edges) * count)
    return shares


def grid_svg(report: AuditReport) -> str:
    """Return the grid as SVG; neighbouring cells of one kind are one rectangle."""
    rows = rows_of_grid(report)
    height = max(LEAST_HEIGHT, min(10, 420 // len(rows)))
    width = PICTURE_WIDTH / len(rows[0])
    parts = [
        f'<rect x="{start * width:.1f}" y="{number * height}" width="{(stop - start) * width:.1f}" '
        f'height="{height - 0.6:.1f}" fill="{_COLOURS[_KINDS[kind]]}"/>'
        for number, row in enumerate(rows)
        for start, stop, kind in _runs(row)
        if kind
    ]
    box = f"0 0 {PICTURE_WIDTH} {len(rows) * height}"
    title = escape(f"Who held each GPU, hour by hour: {report.record.fleet.gpus} GPUs")
    begin = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" role="img">'
    return f"{begin}<title>{title}</title>{''.join(parts)}</svg>"


def _runs(row: list[int]) -> list[tuple[int, int, int]]:
    runs: list[tuple[int, int, int]] = []
    for column, kind in enumerate(row):
        if runs and runs[-1][2] == kind:
            runs[-1] = (runs[-1][0], column + 1, kind)
        else:
            runs.append((column, column + 1, kind))
    return runs
