"""Finding: what real-time services keep for themselves, and how much of it they needed while batch work queued."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from loadfactor.audit.finding import Evidence, Finding, Threshold
from loadfactor.audit.record import Record
from loadfactor.units import SECONDS_PER_HOUR

Floats = npt.NDArray[np.float64]
THRESHOLD = Threshold(
    30.0,
    "% of capacity",
    "loadfactor's design: a fixed reservation of over 30 % of the GPUs is worth following the demand",
)
FIXED_RANGE = 0.1
"""A reservation is fixed when its hours stay within a tenth of their mean, either way."""
PEAK_QUEUE_SHARE = 0.1
"""The hours of the longest queue are the tenth of all hours in which most GPU-hours were waited for."""
SHOWN_HOURS = 10


@dataclass(frozen=True)
class _Hours:
    """By hour of the window: GPU-hours reserved, needed (NaN where unknown), waited for, and the hour's length."""

    reserved: Floats
    needed: Floats
    queued: Floats
    length: Floats

    def used_share(self, chosen: npt.NDArray[np.bool_]) -> float | None:
        """Return how much of the reservation was needed in the chosen hours; None where nothing tells."""
        known = chosen & ~np.isnan(self.needed) & (self.reserved > 0)
        reserved = self.reserved[known].sum()
        return float(np.minimum(self.needed, self.reserved)[known].sum() / reserved) if reserved > 0 else None


def find_reservation(record: Record) -> Finding:
    """Return the share of capacity that services hold; flagged when it is above the threshold and does not move.

    How much was used is told by the demand where it is given. What could be recovered is what was held above it in
    hours in which jobs waited, at most what they waited for.
    """
    hours = _hours(record)
    held = float(hours.reserved.sum())
    value = 100 * record.share(held)
    if not held:
        return _none_found()
    every = np.ones(len(hours.reserved), dtype=np.bool_)
    used, used_at_peak = hours.used_share(every), hours.used_share(_peak_queue(hours))
    fixed = _is_fixed(hours)
    return Finding(
        rule="reservation",
        title="Reserved for real-time services",
        verdict="flagged" if fixed and value > THRESHOLD.value else "fine",
        sentence=_sentence(value, fixed, used, used_at_peak),
        value=value,
        unit=THRESHOLD.unit,
        threshold=THRESHOLD,
        evidence=_evidence(record, hours),
        remedy="Let services follow their demand, with a cap on how fast they grow, and give the trough to jobs that "
        "fit into it; the replay says what that brings.",
        recoverable_gpu_hours=_recoverable(hours),
        figures={
            "gpu_hours_reserved": held,
            "fixed": fixed,
            "used_share": used,
            "used_share_at_peak_queue": used_at_peak,
        },
    )


def _none_found() -> Finding:
    return Finding(
        rule="reservation",
        title="Reserved for real-time services",
        verdict="unknown",
        sentence="No job of the log was named a service, so that nothing is known of reservations.",
        threshold=THRESHOLD,
        remedy="Say which jobs are services: --service-partition, --service-account, --service-name or --service-days.",
    )


def _hours(record: Record) -> _Hours:
    edges = record.edges
    needed = np.full(len(edges) - 1, np.nan)
    if record.demand is not None:
        known = record.demand.known_seconds(edges)
        mean_gpus = record.demand.needed_seconds(edges) / np.where(known > 0, known, np.nan)
        needed = mean_gpus * np.diff(edges) / SECONDS_PER_HOUR
    return _Hours(
        record.hours_by_use["services"],
        needed,
        record.idleness.queued / SECONDS_PER_HOUR,
        np.diff(edges) / SECONDS_PER_HOUR,
    )


def _is_fixed(hours: _Hours) -> bool:
    gpus = hours.reserved / hours.length
    return bool(np.all(np.abs(gpus - gpus.mean()) <= FIXED_RANGE * gpus.mean()))


def _peak_queue(hours: _Hours) -> npt.NDArray[np.bool_]:
    length = hours.queued / hours.length
    chosen: npt.NDArray[np.bool_] = (length > 0) & (length >= np.quantile(length, 1 - PEAK_QUEUE_SHARE))
    return chosen


def _recoverable(hours: _Hours) -> float | None:
    if np.isnan(hours.needed).all():
        return None
    spare = np.maximum(0.0, hours.reserved - np.nan_to_num(hours.needed, nan=np.inf))
    return float(np.minimum(spare, hours.queued).sum())


def _sentence(value: float, fixed: bool, used: float | None, used_at_peak: float | None) -> str:
    how = "without moving with demand" if fixed else "with some movement"
    told = f"Services held {value:.0f} % of the capacity {how}"
    if used is None:
        return f"{told}; how much of it they needed is unknown (give their demand with --demand)."
    peak = "" if used_at_peak is None else f", and {100 * used_at_peak:.0f} % while the queue was longest"
    return f"{told}; they needed {100 * used:.0f} % of it{peak}."


def _evidence(record: Record, hours: _Hours) -> Evidence:
    spare = hours.reserved - hours.needed
    order = np.argsort(-np.nan_to_num(np.minimum(spare, hours.queued), nan=-1.0), kind="stable")[:SHOWN_HOURS]
    rows = tuple(
        (
            record.window.told(float(record.edges[hour])),
            round(float(hours.reserved[hour]), 1),
            None if np.isnan(hours.needed[hour]) else round(float(hours.needed[hour]), 1),
            round(float(hours.queued[hour]), 1),
        )
        for hour in order
    )
    return Evidence(("hour", "reserved, GPU-hours", "needed, GPU-hours", "waited for, GPU-hours"), rows)
