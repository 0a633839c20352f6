"""The findings of an audit as HTML: at a glance, and an article for each, what is flagged before what is not."""

from __future__ import annotations

from html import escape

from loadfactor.audit.finding import Finding, Verdict
from loadfactor.audit.html_parts import table
from loadfactor.audit.report import AuditReport
from loadfactor.audit.wording import figure, held_against, recoverable

HEADINGS: dict[Verdict, str] = {
    "flagged": "What is flagged, and what helps",
    "fine": "What is fine",
    "unknown": "What the log does not tell",
}
"""The verdicts in the order in which a page tells them, with the heading of each."""

PRINTED_ROWS = 6
"""Rows of evidence that the page's style puts on paper; the file has all."""


def by_verdict(report: AuditReport) -> list[Finding]:
    """Return the findings, those that are flagged first and those that are unknown last."""
    order = list(HEADINGS)
    return sorted(report.findings, key=lambda finding: order.index(finding.verdict))


def glance(report: AuditReport) -> str:
    """Return a row for every finding, with a link to its article."""
    rows = [
        (
            _mark(finding),
            f'<a href="#{finding.rule}">{escape(finding.title)}</a>',
            escape(figure(finding)),
            escape(held_against(finding)),
            escape(recoverable(report, finding)),
        )
        for finding in by_verdict(report)
    ]
    return table(("", "finding", "number", "flagged above", "could be recovered"), rows, (3,), "glance")


def articles(report: AuditReport) -> str:
    """Return the articles of all findings under a heading for every verdict that occurs."""
    found = []
    for verdict, heading in HEADINGS.items():
        chosen = [_article(report, finding) for finding in report.findings if finding.verdict == verdict]
        if chosen:
            found.append(f'<h2>{heading}</h2>\n<div class="articles {verdict}">\n' + "\n".join(chosen) + "\n</div>")
    return "\n".join(found)


def _article(report: AuditReport, finding: Finding) -> str:
    """Return a finding; what supports one that is not flagged waits behind a click."""
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in _facts(report, finding))
    support = f"<dl>{listed}</dl>" * bool(listed) + _evidence(finding)
    if support and finding.verdict != "flagged":
        support = f"<details><summary>more</summary>{support}</details>"
    return (
        f'<article id="{finding.rule}" class="{finding.verdict}"><h3>{_mark(finding)}{escape(finding.title)}</h3>'
        f'<p class="fact">{escape(finding.sentence)}</p>{support}</article>'
    )


def _facts(report: AuditReport, finding: Finding) -> list[tuple[str, str]]:
    limit = finding.threshold
    against = "" if limit is None else f"{limit.value:g} {limit.unit}: {limit.source}"
    facts = [
        ("number", "" if finding.value is None else figure(finding)),
        ("flagged above", against),
        ("what helps", finding.remedy),
        ("could be recovered", recoverable(report, finding)),
    ]
    return [(name, text) for name, text in facts if text]


def _evidence(finding: Finding) -> str:
    evidence = finding.evidence
    if not evidence.rows:
        return ""
    rows = [tuple("" if cell is None else escape(_cell(cell)) for cell in row) for row in evidence.rows]
    numeric = [
        column
        for column in range(len(evidence.columns))
        if all(not isinstance(row[column], str) for row in evidence.rows)
    ]
    return table(evidence.columns, rows, numeric, "long" if len(rows) > PRINTED_ROWS else "")


def _cell(cell: str | float) -> str:
    return cell if isinstance(cell, str) else f"{cell:,}"


def _mark(finding: Finding) -> str:
    return f'<span class="mark {finding.verdict}">{finding.verdict}</span>'
