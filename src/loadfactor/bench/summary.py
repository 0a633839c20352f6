"""What the rows of a section come to: means over scenarios and over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from loadfactor.bench.published import PUBLISHED
from loadfactor.bench.results import BenchmarkReport, Row


@dataclass(frozen=True, slots=True)
class Summary:
    """One contestant over several cases: mean gain and gap, the worst gap of any plan, the median of the medians."""

    policy: str
    effort: str
    cases: int
    proven: int
    utilization: float
    gain: float | None
    gap: float | None
    worst_gap: float | None
    largest_gap: float | None
    median_ms: float
    slowest_ms: float

    @property
    def contestant(self) -> str:
        """Return the policy and its effort, as the tables name them."""
        return f"{self.policy} {self.effort}".rstrip()


def summarize(rows: Sequence[Row]) -> list[Summary]:
    """Return one summary for each contestant, in the order of the rows."""
    keys = list(dict.fromkeys((row.policy, row.effort) for row in rows))
    return [_summary([row for row in rows if (row.policy, row.effort) == key]) for key in keys]


def contended(report: BenchmarkReport) -> list[Summary]:
    """Return the summaries over the contended scenarios among those that were run."""
    section = report.section("scenarios")
    return summarize([row for row in section.rows if PUBLISHED[row.case].contended]) if section else []


def _summary(rows: Sequence[Row]) -> Summary:
    medians = [row.timing.median_ms for row in rows]
    gaps = [row.gap for row in rows if row.gap is not None]
    return Summary(
        policy=rows[0].policy,
        effort=rows[0].effort,
        cases=len(rows),
        proven=sum(row.optimal is True for row in rows),
        utilization=fmean(row.metrics.utilization for row in rows),
        gain=_mean(row.gain for row in rows if row.gain is not None),
        gap=_mean(gaps),
        worst_gap=max((row.worst_gap for row in rows if row.worst_gap is not None), default=None),
        largest_gap=max(gaps, default=None),
        median_ms=median(medians),
        slowest_ms=max(medians),
    )


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return fmean(numbers) if numbers else None
