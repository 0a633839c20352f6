"""Finding: the four wastes, from the GPU-hours that are installed down to those that were useful."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadfactor.audit.activity import HeldActivity, held_activity
from loadfactor.audit.finding import Evidence, Finding, Threshold, verdict_of
from loadfactor.audit.record import Record
from loadfactor.units import SECONDS_PER_HOUR

THRESHOLD = Threshold(
    50.0,
    "% of installed GPU-hours",
    "loadfactor's design: clusters in production are 30 to 50 % utilized; over half lost is the worse end of it",
)


@dataclass(frozen=True, slots=True)
class Loss:
    """GPU-hours that one cause took, in the order in which they are taken off what is installed."""

    key: str
    name: str
    gpu_hours: float
    remedy: str


_IDLE_CAUSES = (
    ("unavailable", "down, drained or failed", "repair sooner; drain nodes when their queue is empty"),
    ("no_work", "free, and no work waited", "less hardware, or more work: nothing in the order helps here"),
    (
        "limit",
        "free, while a limit held work back",
        "raise limits while GPUs stand free (in Slurm: GrpTRES of the QOS)",
    ),
    ("shape", "free, in pieces too small for what waited", "fill started nodes first; keep whole nodes for large jobs"),
    (
        "order",
        "free, though waiting work would have fitted",
        "let small jobs overtake (backfill), decide at every event",
    ),
)


def losses(record: Record, activity: HeldActivity | None = None) -> tuple[Loss, ...]:
    """Return what was lost by cause; with what is left (useful, or unknown) the parts add up to what is installed."""
    held = activity or activity_counted(record)
    found = [Loss(key, name, record.hours(key), remedy) for key, name, remedy in _IDLE_CAUSES]
    found.append(Loss("spare", "reserved by services beyond their demand", _spare(record), "follow the demand"))
    if record.activity is not None:
        found += [
            Loss("held_idle", "held, but idle", held.idle, "reap jobs that stay idle; end notebooks by themselves"),
            Loss("inefficient", "held, not fully used", held.inefficient, "larger batches, faster input, shared cards"),
        ]
    return tuple(found)


def activity_counted(record: Record) -> HeldActivity:
    """Return what telemetry tells of held GPUs; of those of jobs alone, where demand tells of the services.

    A replica that waits for requests would otherwise count twice: as held beyond the demand, and as not fully used.
    """
    if record.demand is None:
        return held_activity(record.timeline, record.activity)
    return held_activity(record.timeline, record.activity, ~record.is_service)


def find_wastes(record: Record) -> Finding:
    """Return the share of installed GPU-hours that did nothing useful, by cause.

    Held GPU-hours of which no telemetry tells count as useful, and the finding says how many these are.
    """
    held = activity_counted(record)
    taken = losses(record, held)
    lost = sum(loss.gpu_hours for loss in taken)
    value = 100 * record.share(lost)
    largest = max(taken, key=lambda loss: loss.gpu_hours)
    return Finding(
        rule="wastes",
        title="Where the GPU-hours went",
        verdict=verdict_of(value, THRESHOLD),
        sentence=f"{value:.0f} % of {record.installed_hours:,.0f} installed GPU-hours did nothing useful; most of it "
        f"({100 * record.share(largest.gpu_hours):.0f} %) stood {largest.name}.",
        value=value,
        unit=THRESHOLD.unit,
        threshold=THRESHOLD,
        evidence=Evidence(
            ("cause", "GPU-hours", "% of installed", "what helps"),
            tuple(
                (loss.name, round(loss.gpu_hours, 1), round(100 * record.share(loss.gpu_hours), 1), loss.remedy)
                for loss in sorted(taken, key=lambda loss: -loss.gpu_hours)
                if loss.gpu_hours > 0
            ),
        ),
        remedy=largest.remedy,
        recoverable_gpu_hours=sum(loss.gpu_hours for loss in taken if loss.key in ("order", "shape", "spare")),
        figures={
            "installed_gpu_hours": record.installed_hours,
            "lost_gpu_hours": {loss.key: loss.gpu_hours for loss in taken},
            "held_of_unknown_activity_gpu_hours": held.unknown,
        },
    )


def _spare(record: Record) -> float:
    """Return the GPU-hours that services held beyond their demand, hour by hour, where it is known."""
    if record.demand is None:
        return 0.0
    lengths = np.diff(record.edges)
    known = record.demand.known_seconds(record.edges) / lengths
    needed = record.demand.needed_seconds(record.edges) / SECONDS_PER_HOUR
    return float(np.maximum(0.0, record.hours_by_use["services"] * known - needed).sum())
