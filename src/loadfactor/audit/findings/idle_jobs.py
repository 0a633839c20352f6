"""Finding: jobs that held GPUs they did not use: all of them idle, or more GPUs asked for than worked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadfactor.audit.activity import IDLE_BELOW
from loadfactor.audit.finding import Cell, Evidence, Finding, Threshold, verdict_of
from loadfactor.audit.findings.holdings import SHOWN_ROWS, told
from loadfactor.audit.record import Record
from loadfactor.units import SECONDS_PER_HOUR

THRESHOLD = Threshold(
    5.0,
    "% of held GPU-hours (known activity)",
    "loadfactor's own line: above it, reaping idle jobs pays",
)


TITLE = "GPUs asked for and not used"


@dataclass(frozen=True, slots=True)
class _Used:
    """What one job held, in GPU-hours of known activity: on GPUs that were idle throughout, and in all."""

    job: int
    gpus: int
    idle_gpus: int
    idle_hours: float
    known_hours: float


def find_idle_jobs(record: Record) -> Finding:
    """Return the GPU-hours of GPUs that a job held and never used, as a share of those whose activity is known."""
    if record.activity is None:
        return _unknown()
    used = _used(record)
    known = sum(each.known_hours for each in used)
    idle = sum(each.idle_hours for each in used)
    value = 100 * idle / known if known else None
    worst = sorted((each for each in used if each.idle_hours), key=lambda each: -each.idle_hours)
    return Finding(
        rule="idle_jobs",
        title=TITLE,
        verdict=verdict_of(value, THRESHOLD),
        sentence=f"{len(worst):,} jobs held GPUs that they never used: {idle:,.0f} GPU-hours."
        if known
        else "Telemetry covers no GPU that a job held.",
        value=value,
        unit=THRESHOLD.unit,
        threshold=THRESHOLD,
        evidence=Evidence(
            ("job", "user", "GPUs held", "of them never used", "GPU-hours of these"),
            tuple(_row(record, each) for each in worst[:SHOWN_ROWS]),
        ),
        remedy="Warn and then end jobs whose GPUs stay idle; ask for as many GPUs as the program uses.",
        recoverable_gpu_hours=idle,
        figures={"jobs": len(worst), "gpu_hours": idle, "known_gpu_hours": known},
    )


def _unknown() -> Finding:
    return Finding(
        rule="idle_jobs",
        title=TITLE,
        verdict="unknown",
        sentence="No telemetry was given, so nothing tells whether held GPUs worked.",
        threshold=THRESHOLD,
        remedy="Give DCGM scrapes or Prometheus' answers with --telemetry.",
    )


def _row(record: Record, used: _Used) -> tuple[Cell, ...]:
    interval = record.intervals[used.job]
    return (interval.id, told(interval), used.gpus, used.idle_gpus, round(used.idle_hours, 1))


def _used(record: Record) -> list[_Used]:
    """Return for every job what is known of its GPUs; a GPU is idle if it was so in all of its known time."""
    activity, line = record.activity, record.timeline
    if activity is None:
        return []
    found: dict[int, dict[int, tuple[float, float]]] = {}
    order = np.argsort(line.gpu, kind="stable")
    for gpu in np.unique(activity.gpu).tolist():
        first, beyond = np.searchsorted(line.gpu[order], (gpu, gpu + 1))
        spans = activity.gpu == gpu
        begin, end, share = activity.begin[spans], activity.end[spans], activity.share[spans]
        for piece in order[first:beyond].tolist():
            shared = np.minimum(end, line.end[piece]) - np.maximum(begin, line.begin[piece])
            shared = np.maximum(0.0, shared)
            known, busy = float(shared.sum()), float((shared * share).sum())
            if known:
                of_job = found.setdefault(int(line.owner[piece]), {})
                before = of_job.get(gpu, (0.0, 0.0))
                of_job[gpu] = (before[0] + known, before[1] + busy)
    return [_summary(job, by_gpu) for job, by_gpu in found.items()]


def _summary(job: int, by_gpu: dict[int, tuple[float, float]]) -> _Used:
    idle = {gpu: known for gpu, (known, busy) in by_gpu.items() if busy < IDLE_BELOW * known}
    whole = sum(known for known, _ in by_gpu.values())
    return _Used(job, len(by_gpu), len(idle), sum(idle.values()) / SECONDS_PER_HOUR, whole / SECONDS_PER_HOUR)
