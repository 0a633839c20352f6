"""Finding: what the same work would have come to on the same GPUs in another order."""

from __future__ import annotations

from loadfactor.audit.comparison import ByPolicy, Comparison
from loadfactor.audit.finding import Cell, Evidence, Finding, Threshold
from loadfactor.audit.whatif import ALLOCATOR, BACKFILL, POLICIES

THRESHOLD = Threshold(
    20.0, "% of value", "loadfactor's design: 20 % of value or 10 points of utilization are beyond what tuning brings"
)
THRESHOLD_POINTS = 10.0


def gains(policies: ByPolicy) -> tuple[float, float]:
    """Return what the allocator gains over backfill with reservation: % of value, and points of utilization."""
    before, after = policies[BACKFILL], policies[ALLOCATOR]
    value = 100 * (after.objective - before.objective) / before.value if before.value else 0.0
    return value, 100 * (after.utilization - before.utilization)


def find_ordering(comparison: Comparison | None) -> Finding:
    """Return what the order of the queue cost, told by replays that knew only what was known at each moment."""
    if comparison is None:
        return Finding(
            rule="ordering",
            title="The order of the queue",
            verdict="unknown",
            sentence="Nothing was replayed: replays are off, or no job of the window has both a start and an end.",
            threshold=THRESHOLD,
        )
    value, points = gains(comparison.leading)
    before, after = comparison.leading[BACKFILL], comparison.leading[ALLOCATOR]
    flagged = value > THRESHOLD.value or points > THRESHOLD_POINTS
    return Finding(
        rule="ordering",
        title="The order of the queue",
        verdict="flagged" if flagged else "fine",
        sentence=f"In another order the same work on the same GPUs brings {value:+.1f} % value and {points:+.1f} "
        f"points of utilization ({100 * before.utilization:.1f} % to {100 * after.utilization:.1f} %), against "
        "backfill with reservation.",
        value=value,
        unit=THRESHOLD.unit,
        threshold=THRESHOLD,
        evidence=Evidence(
            ("assumed", "policy", "utilization, %", "value", "mean wait, hours", "unmet demand, GPU-hours"),
            tuple(row for assumed, policies in comparison.by_assumption.items() for row in _rows(assumed, policies)),
        ),
        remedy=_remedy(flagged),
        recoverable_gpu_hours=max(
            0.0, after.gpu_hours.jobs + after.gpu_hours.services - before.gpu_hours.jobs - before.gpu_hours.services
        ),
        figures={
            "gain_value_percent": value,
            "gain_utilization_points": points,
            "gains_by_assumption": {name: gains(policies) for name, policies in comparison.by_assumption.items()},
            "left_out": comparison.workload.left_out,
            "assumed": comparison.workload.assumed,
        },
    )


def _remedy(flagged: bool) -> str:
    if flagged:
        return "Change the order before buying: let the allocator decide (loadfactor replay shows it on your own log)."
    return "The order is not what holds this cluster back."


def _rows(assumed: str, policies: ByPolicy) -> list[tuple[Cell, ...]]:
    return [
        (
            assumed,
            policy,
            round(100 * policies[policy].utilization, 1),
            round(policies[policy].objective, 1),
            round(policies[policy].wait_hours.mean, 2),
            round(policies[policy].shortfall.gpu_hours, 1),
        )
        for policy in POLICIES
    ]
