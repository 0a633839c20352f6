"""Finding: how long jobs waited, by size: who starves."""

from __future__ import annotations

import numpy as np

from loadfactor.audit.finding import Evidence, Finding, Threshold, verdict_of
from loadfactor.audit.idleness import waiting_span
from loadfactor.audit.record import Record
from loadfactor.replay.measure import SIZE_CLASSES
from loadfactor.units import SECONDS_PER_HOUR

THRESHOLD = Threshold(
    24.0, "hours (95th percentile of the worst size)", "loadfactor's own line: who waits a day for a start has starved"
)


def find_waits(record: Record) -> Finding:
    """Return the longest 95th percentile of waits over the classes of size.

    A wait lasts from when the job could have started to its start, also where it began before the window; a job that
    still waits counts with what it has waited so far.
    """
    by_size = {name: _waits(record, least, most) for name, (least, most) in SIZE_CLASSES.items()}
    known = {name: waits for name, waits in by_size.items() if waits}
    p95 = {name: float(np.quantile(waits, 0.95)) for name, waits in known.items()}
    worst = max(p95, key=lambda name: p95[name], default=None)
    value = None if worst is None else p95[worst]
    return Finding(
        rule="waits",
        title="Who waits",
        verdict=verdict_of(value, THRESHOLD),
        sentence="The log does not say when jobs were submitted."
        if worst is None
        else f"Jobs of {worst} GPUs wait longest: one in twenty for {p95[worst]:.1f} hours or more, "
        f"half of them for {float(np.median(known[worst])):.2f}.",
        value=value,
        unit=THRESHOLD.unit,
        threshold=THRESHOLD,
        evidence=Evidence(
            ("GPUs", "jobs", "median, hours", "p95, hours", "longest, hours"),
            tuple(
                (name, len(waits), round(float(np.median(waits)), 2), round(p95[name], 2), round(max(waits), 2))
                for name, waits in known.items()
            ),
        ),
        remedy="Bound the wait (worth.starvation_hours of the allocator; in Slurm PriorityMaxAge) and reserve for "
        "the head of the queue.",
        figures={
            "median_hours_by_size": {name: float(np.median(waits)) for name, waits in known.items()},
            "p95_hours_by_size": p95,
        },
    )


def _waits(record: Record, least: int, most: float) -> list[float]:
    found = []
    for interval, service in zip(record.intervals, record.is_service.tolist(), strict=True):
        size = interval.gpus_requested or interval.gpus
        if service or not least <= size <= most:
            continue
        begin = interval.submitted if interval.eligible is None else interval.eligible
        end = interval.started if interval.started is not None else interval.ended
        inside = begin is not None and begin < record.window.end and (end is None or end >= record.window.begin)
        if begin is not None and inside and (interval.started is not None or waiting_span(interval, record.window)):
            waited = max(0.0, (record.window.end if end is None else min(end, record.window.end)) - begin)
            found += [waited] * interval.count
    return [seconds / SECONDS_PER_HOUR for seconds in found]
