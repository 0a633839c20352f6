"""What the rules about requests share: the batch intervals that held GPUs in the window, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from loadfactor.audit.record import Record
from loadfactor.audit.timeline import clipped
from loadfactor.sources.facts import JobInterval
from loadfactor.units import SECONDS_PER_HOUR

SHOWN_ROWS = 10


@dataclass(frozen=True, slots=True)
class Holding:
    """An interval that held GPUs in the window, and the GPU-hours that it held in it."""

    interval: JobInterval
    gpu_hours: float


def batch_holdings(record: Record) -> Iterator[Holding]:
    """Yield the intervals of jobs, not of services, that held GPUs in the window."""
    for interval, service in zip(record.intervals, record.is_service.tolist(), strict=True):
        span = None if service else clipped(interval, record.window)
        if span is not None:
            yield Holding(interval, interval.gpus * (span[1] - span[0]) / SECONDS_PER_HOUR)


def told(interval: JobInterval) -> str:
    """Return who a job belongs to, for a table of evidence."""
    return interval.user or interval.account or interval.name or "not stated"
