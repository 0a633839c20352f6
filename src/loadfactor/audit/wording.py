"""The words and figures that the terminal, the page and the tables of an audit share."""

from __future__ import annotations

from loadfactor.audit.finding import Finding
from loadfactor.audit.report import AuditReport
from loadfactor.units import SECONDS_PER_HOUR

_WHOLE = {
    "installed": "installed",
    "useful": "useful",
    "of_unknown_activity": "held, activity unknown",
    "held": "held by jobs and services",
}


def waterfall_rows(report: AuditReport) -> list[tuple[str, str, float]]:
    """Return key, name and GPU-hours of every part: what is installed, each loss, and what is left."""
    names = _WHOLE | {loss.key: loss.name for loss in report.losses}
    return [(key, names[key], hours) for key, hours in report.waterfall().items() if hours > 0]


def figure(finding: Finding) -> str:
    """Return the finding's number with its unit, or that it is unknown."""
    if finding.value is None:
        return "unknown"
    digits = 0 if finding.unit == "jobs" else 1
    return f"{finding.value:,.{digits}f} {finding.unit}"


def held_against(finding: Finding) -> str:
    """Return the threshold in words, or nothing."""
    return "" if finding.threshold is None else f"{finding.threshold.value:g}"


def introduction(report: AuditReport) -> str:
    """Return what was looked at: the source, the window and the fleet."""
    record = report.record
    nodes = "" if record.fleet.stated else " (gathered from the log: give --nodes for what is installed)"
    return (
        f"{record.source}: {record.window.told(record.window.begin)} to {record.window.told(record.window.end)}, "
        f"{record.window.hours:,.0f} hours; {record.fleet.gpus:,} GPUs in {len(record.fleet.nodes):,} nodes{nodes}"
    )


def recoverable(report: AuditReport, finding: Finding) -> str:
    """Return what a finding would bring back in GPU-hours and money, or nothing."""
    hours = finding.recoverable_gpu_hours
    if hours is None:
        return ""
    cost = report.costs.told(hours)
    return f"{hours:,.0f} GPU-hours" + (f", {cost}" if cost else "")


def layout_words(report: AuditReport) -> str:
    """Return how the intervals got their places on GPUs."""
    line = report.record.timeline
    parts = [
        f"{count:,} lie {words}"
        for count, words in (
            (line.by_index, "on the GPUs that the log names"),
            (line.by_node, "on the lowest free GPUs of the nodes that the log names"),
            (line.by_packing, "where they fit best, because the log names no node"),
        )
        if count
    ]
    return f"Of the intervals that held GPUs, {', '.join(parts)}." if parts else "No job held a GPU in the window."


def left_out_words(report: AuditReport) -> list[str]:
    """Return how many rows are no part of the figures, and what they may have been."""
    rows = report.record.left_out
    if not rows:
        return []
    known = [row.gpu_seconds for row in rows if row.gpu_seconds is not None]
    unknown = len(rows) - len(known)
    size = f"{sum(known) / SECONDS_PER_HOUR:,.0f} GPU-hours as far as they tell"
    return [f"{len(rows):,} rows were left out: {size}" + (f", {unknown:,} of unknown size" if unknown else "")]
