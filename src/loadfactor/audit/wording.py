"""The words and figures that the terminal, the page and the tables of an audit share."""

from __future__ import annotations

from loadfactor.audit.finding import Finding
from loadfactor.audit.report import AuditReport

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
