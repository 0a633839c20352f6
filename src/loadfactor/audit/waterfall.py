"""The way from installed to useful GPU-hours as a table whose rows carry bars: it fits every width and font."""

from __future__ import annotations

from html import escape

from loadfactor.audit.report import AuditReport
from loadfactor.audit.wording import waterfall_rows

SPAN = 1000.0
"""What is installed, in units of a bar's width."""
LEAST = 3.0
"""The narrowest bar that is drawn, in the same units: a loss that is told is seen."""
_KINDS = {"installed": "installed", "useful": "useful", "held": "useful", "of_unknown_activity": "unsure"}


def waterfall_table(report: AuditReport) -> str:
    """Return a row for every part, its bar where it is taken off: GPU-hours, share, and cost where a price is known."""
    priced = report.costs.gpu_hour is not None
    titles = ["", "GPU-hours", "%", *([report.costs.currency] if priced else [])]
    head = "".join(f'<th class="number">{escape(title)}</th>' if title else "<th></th>" for title in titles)
    return (
        '<table class="waterfall"><thead><tr>'
        f"{head}<th></th></tr></thead><tbody>{''.join(_rows(report))}</tbody></table>"
    )


def _rows(report: AuditReport) -> list[str]:
    rows, left = [], report.record.installed_hours
    for key, name, hours in waterfall_rows(report):
        kind = _KINDS.get(key, "lost")
        # What is kept stands at the bottom of the fall; of two kept parts the second stands on the first.
        begin = 0.0 if kind in ("installed", "useful") else left - hours
        left = begin if kind in ("lost", "unsure") else left
        share = report.record.share(hours)
        cost = report.costs.of(hours)
        cells = [f"{hours:,.0f}", f"{100 * share:.1f}", *([] if cost is None else [f"{cost:,.0f}"])]
        numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells)
        bar = _bar(report.record.share(begin), share)
        rows.append(f'<tr class="{kind}" data-part="{key}"><td>{escape(name)}</td>{numbers}<td>{bar}</td></tr>')
    return rows


def _bar(begin: float, share: float) -> str:
    width = max(LEAST, SPAN * share)
    return (
        f'<svg viewBox="0 0 {SPAN:.0f} 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect x="{min(SPAN * begin, SPAN - width):.1f}" width="{width:.1f}" height="10"/></svg>'
    )
