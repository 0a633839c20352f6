"""Finding: buy or schedule; what more GPUs would bring under today's order and under the allocator."""

from __future__ import annotations

from loadfactor.audit.comparison import Comparison
from loadfactor.audit.finding import Cell, Evidence, Finding
from loadfactor.audit.findings.ordering import THRESHOLD, THRESHOLD_POINTS, gains
from loadfactor.audit.record import Record
from loadfactor.audit.whatif import ALLOCATOR, BACKFILL, gpu_hours_of
from loadfactor.replay.measure import Measures

LONG_WAIT_HOURS = 1.0
"""A mean wait above this under the best order says that work is held up by hardware."""


def find_buying(record: Record, comparison: Comparison | None) -> Finding:
    """Return whether the answer is another order, more GPUs, both or neither, with what each brings."""
    if comparison is None:
        return Finding(
            rule="buying",
            title="Buy or schedule",
            verdict="unknown",
            sentence="Nothing can be said of buying: nothing was replayed.",
        )
    answer = _answer(comparison)
    needed = gpu_hours_of(comparison.workload) / record.window.hours
    return Finding(
        rule="buying",
        title="Buy or schedule",
        verdict="flagged" if answer in ("buy", "both") else "fine",
        sentence=_SENTENCES[answer],
        value=needed,
        unit="GPUs that the jobs would keep busy without a gap",
        evidence=Evidence(
            ("GPUs", "order", "value", "utilization, %", "mean wait, hours"),
            tuple(_rows(comparison)),
        ),
        remedy="",
        figures={
            "answer": answer,
            "busy_gpus_of_jobs": needed,
            "value_by_growth": {
                f"{growth:.0%}": {policy: each.objective for policy, each in policies.items()}
                for growth, policies in comparison.by_growth.items()
            },
        },
    )


_SENTENCES = {
    "schedule": "Schedule before you buy: the same GPUs in another order bring more than the queue lacks.",
    "buy": "Buy: the order is good, and work still waits for GPUs.",
    "both": "Change the order first, then buy: even in the best order found, work waits for GPUs.",
    "neither": "Neither: the order is good, and work hardly waits.",
}


def _answer(comparison: Comparison) -> str:
    value, points = gains(comparison.leading)
    bottleneck = value > THRESHOLD.value or points > THRESHOLD_POINTS
    waits = comparison.leading[ALLOCATOR].wait_hours.mean > LONG_WAIT_HOURS
    return {(True, True): "both", (True, False): "schedule", (False, True): "buy"}.get((bottleneck, waits), "neither")


def _rows(comparison: Comparison) -> list[tuple[Cell, ...]]:
    today = {policy: comparison.leading[policy] for policy in (BACKFILL, ALLOCATOR)}
    gpus = comparison.workload.cluster.gpu_count
    table = {gpus: today} | {
        comparison.workload.grown(growth).cluster.gpu_count: dict(policies)
        for growth, policies in comparison.by_growth.items()
    }
    return [_row(count, policy, each) for count, policies in table.items() for policy, each in policies.items()]


def _row(gpus: int, policy: str, measures: Measures) -> tuple[Cell, ...]:
    return (
        gpus,
        policy,
        round(measures.objective, 1),
        round(100 * measures.utilization, 1),
        round(measures.wait_hours.mean, 2),
    )
