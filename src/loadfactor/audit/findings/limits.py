"""Finding: time limits far above what jobs use, which blind every scheduler that plans by them."""

from __future__ import annotations

from math import isfinite

import numpy as np

from loadfactor.audit.finding import Evidence, Finding, Threshold, verdict_of
from loadfactor.audit.findings.holdings import SHOWN_ROWS, batch_holdings, told
from loadfactor.audit.record import Record
from loadfactor.sources.facts import JobState

THRESHOLD = Threshold(
    3.0,
    "times the run time (median)",
    "loadfactor's design: users' limits are 1.2 to 10 times too long; three is the middle, in the logarithm",
)
_FULL_RUNS = frozenset({JobState.COMPLETED})


def find_limits(record: Record) -> Finding:
    """Return how many times longer limits are than the run times of jobs that completed, at the median.

    Jobs that failed or were cancelled say nothing about their limits and do not count.
    """
    ratios: list[float] = []
    by_user: dict[str, list[float]] = {}
    unlimited = 0
    for holding in batch_holdings(record):
        interval = holding.interval
        limit, start, end = interval.limit_seconds, interval.started, interval.ended
        if interval.state not in _FULL_RUNS or limit is None or start is None or end is None or end <= start:
            continue
        if not isfinite(limit):
            unlimited += 1
            continue
        ratios.append(limit / (end - start))
        by_user.setdefault(told(interval), []).append(limit / (end - start))
    value = float(np.median(ratios)) if ratios else None
    return Finding(
        rule="limits",
        title="Time limits and run times",
        verdict=verdict_of(value, THRESHOLD),
        sentence=_sentence(value, len(ratios), unlimited),
        value=value,
        unit=THRESHOLD.unit,
        threshold=THRESHOLD,
        evidence=Evidence(("user", "jobs", "limit over run time, median"), _rows(by_user)),
        remedy="Set DefaultTime low, tell users what their jobs really take, or let run times be learnt "
        "(the allocator does).",
        figures={"jobs": len(ratios), "without_limit": unlimited, "ratio_quartiles": _quartiles(ratios)},
    )


def _sentence(value: float | None, count: int, unlimited: int) -> str:
    without = f" {unlimited:,} more had no limit." if unlimited else ""
    if value is None:
        return f"No completed job of the log states a time limit.{without}"
    return f"Half of {count:,} completed jobs asked for more than {value:.1f} times the time they took.{without}"


def _rows(by_user: dict[str, list[float]]) -> tuple[tuple[str, int, float], ...]:
    rows = [(user, len(ratios), round(float(np.median(ratios)), 1)) for user, ratios in by_user.items()]
    return tuple(sorted(rows, key=lambda row: -row[1] * row[2])[:SHOWN_ROWS])


def _quartiles(ratios: list[float]) -> list[float]:
    return [round(float(each), 3) for each in np.quantile(ratios, (0.25, 0.5, 0.75))] if ratios else []
