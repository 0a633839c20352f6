"""Finding: GPU-hours that ended in nothing, by how the jobs ended, and jobs that were started again and again."""

from __future__ import annotations

from collections import Counter, defaultdict

from loadfactor.audit.finding import Evidence, Finding, Threshold, verdict_of
from loadfactor.audit.findings.holdings import SHOWN_ROWS, batch_holdings, told
from loadfactor.audit.record import Record
from loadfactor.sources.facts import JobState

FAILED_STATES = (
    JobState.FAILED,
    JobState.TIMEOUT,
    JobState.OUT_OF_MEMORY,
    JobState.NODE_FAIL,
    JobState.BOOT_FAIL,
    JobState.DEADLINE,
    JobState.PREEMPTED,
    JobState.REQUEUED,
)
THRESHOLD = Threshold(
    15.0,
    "% of held GPU-hours",
    "failed jobs took 8.0, 9.3 and 12.4 % of GPU time in Kalos, Helios and Seren, 38.6 % in Philly (AcmeTrace)",
)
STORM_STARTS = 4
"""From so many starts in one window on a job is a storm: it dies and comes back without getting anywhere."""


def find_failures(record: Record) -> Finding:
    """Return the share of GPU-hours held by jobs that failed, ran out of time or memory, or lost their node.

    Cancelled jobs are told apart and do not count: a user may have seen enough.
    """
    hours: defaultdict[JobState, float] = defaultdict(float)
    counts = Counter[JobState]()
    for holding in batch_holdings(record):
        hours[holding.interval.state] += holding.gpu_hours
        counts[holding.interval.state] += 1
    held = sum(hours.values())
    lost = sum(hours.get(state, 0.0) for state in FAILED_STATES)
    value = 100 * lost / held if held else None
    return Finding(
        rule="failures",
        title="GPU-hours that ended in nothing",
        verdict=verdict_of(value, THRESHOLD),
        sentence=_sentence(value, lost),
        value=value,
        unit=THRESHOLD.unit,
        threshold=THRESHOLD,
        evidence=Evidence(
            ("ended as", "jobs", "GPU-hours", "% of held"),
            tuple(
                (state.value, counts[state], round(gpu_hours, 1), round(100 * gpu_hours / held, 1))
                for state, gpu_hours in sorted(hours.items(), key=lambda item: -item[1])
            ),
        ),
        remedy="Let long jobs write checkpoints, test with a short run first, and look at the largest class first.",
        recoverable_gpu_hours=None,
        figures={"gpu_hours_by_state": {state.value: gpu_hours for state, gpu_hours in hours.items()}},
    )


def _sentence(value: float | None, lost: float) -> str:
    if value is None:
        return "No batch job held a GPU in the window."
    return f"{lost:,.0f} GPU-hours, {value:.1f} % of what jobs held, ended in a failure, a time-out or a lost node."


def find_requeues(record: Record) -> Finding:
    """Return how many jobs were started at least `STORM_STARTS` times in the window, and what they held."""
    starts, users = Counter[str](), dict[str, str]()
    hours: defaultdict[str, float] = defaultdict(float)
    for holding in batch_holdings(record):
        starts[holding.interval.id] += 1
        hours[holding.interval.id] += holding.gpu_hours
        users[holding.interval.id] = told(holding.interval)
    storms = [job for job, count in starts.most_common() if count >= STORM_STARTS]
    threshold = Threshold(0, "jobs", f"a job that starts {STORM_STARTS} times in one window gets nowhere")
    return Finding(
        rule="requeues",
        title="Jobs that start again and again",
        verdict=verdict_of(float(len(storms)), threshold),
        sentence=f"{len(storms):,} jobs were started {STORM_STARTS} times or more, and held "
        f"{sum(hours[job] for job in storms):,.0f} GPU-hours in all.",
        value=float(len(storms)),
        unit="jobs",
        threshold=threshold,
        evidence=Evidence(
            ("job", "user", "starts", "GPU-hours"),
            tuple((job, users[job], starts[job], round(hours[job], 1)) for job in storms[:SHOWN_ROWS]),
        ),
        remedy="Hold such jobs (scontrol hold), and limit how often one may come back.",
        figures={"jobs": len(storms), "starts": sum(starts[job] for job in storms)},
    )
