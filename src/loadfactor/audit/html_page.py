"""The audit as one HTML file that needs no network and runs no script: the verdict first, then what shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template

from loadfactor.audit.charts import USES, fragmentation_chart, heat_chart, waits_chart, waterfall_chart, week_chart
from loadfactor.audit.finding import Finding
from loadfactor.audit.findings.ordering import gains
from loadfactor.audit.grid import HELD_SHARE, MOST_ROWS, grid_svg
from loadfactor.audit.report import SHOWN_LEFT_OUT, AuditReport
from loadfactor.audit.whatif import ALLOCATOR, BACKFILL, POLICIES
from loadfactor.audit.wording import figure, introduction, layout_words, left_out_words, recoverable

_VERDICTS = {"flagged": "flagged", "fine": "fine", "unknown": "unknown"}


def audit_page(report: AuditReport) -> str:
    """Return the page. Its Content-Security-Policy forbids every request and every script."""
    record = report.record
    return Template(_page_file("page.html")).substitute(
        title=escape(f"Audit of {record.source}"),
        style=_page_file("style.css"),
        verdict=escape(report.verdict()),
        introduction=escape(introduction(report)),
        tiles=_tiles(report),
        waterfall=_figure(waterfall_chart(report), "GPU-hours from what is installed down to what was useful"),
        glance=_glance(report),
        week=_legend(dict(USES.values()))
        + _figure(
            week_chart(report),
            f"What the GPUs did in every hour, and the GPUs that jobs waited for; the clock of {record.window.zone}",
        ),
        heat=_figure(heat_chart(report), "Share of GPUs that were held, by weekday and hour of the local clock"),
        grid=_grid(report),
        orders=_orders(report),
        fragmentation=_figure(fragmentation_chart(report), "Free memory in pieces smaller than the block"),
        waits=_figure(waits_chart(report), "How long one job in twenty waited, or longer"),
        findings="\n".join(_finding(report, finding) for finding in report.findings),
        method=_method(report),
    )


def _tiles(report: AuditReport) -> str:
    record = report.record
    tiles = [
        (f"{record.installed_hours:,.0f}", "GPU-hours installed"),
        (f"{100 * report.wasted_share:.1f} %", "of them did nothing useful"),
        (f"{sum(finding.verdict == 'flagged' for finding in report.findings)}", "findings flagged"),
    ]
    if report.comparison is not None:
        value, points = gains(report.comparison.leading)
        tiles.append((f"{value:+.1f} % value", f"and {points:+.1f} points of utilization in another order"))
    cost = report.costs.told(report.wasted_share * record.installed_hours)
    if cost:
        tiles.append((cost, "is what they cost"))
    return "".join(f"<li><b>{escape(number)}</b>{escape(words)}</li>" for number, words in tiles)


def _glance(report: AuditReport) -> str:
    rows = [
        (
            _mark(finding),
            escape(finding.title),
            escape(figure(finding)),
            "" if finding.threshold is None else f"{finding.threshold.value:g}",
            escape(recoverable(report, finding)),
        )
        for finding in report.findings
    ]
    head = ("", "finding", "number", "flagged above", "could be recovered")
    return _table(head, rows)


def _mark(finding: Finding) -> str:
    return f'<span class="mark {finding.verdict}">{_VERDICTS[finding.verdict]}</span>'


def _grid(report: AuditReport) -> str:
    colours = {USES[use][0]: USES[use][1] for use in ("jobs", "services", "unavailable")}
    words = (
        f"GPUs in the order of their nodes from top to bottom, hours from left to right. {layout_words(report)} "
        f"A cell has the colour of what it was for at least {100 * HELD_SHARE:.0f} % of its time"
    )
    group = -(-report.record.fleet.gpus // MOST_ROWS)
    return _legend(colours) + _figure(grid_svg(report), words + (f"; a row is {group} GPUs." if group > 1 else "."))


def _orders(report: AuditReport) -> str:
    from loadfactor.replay.chart import USES as REPLAY_USES
    from loadfactor.replay.chart import use_chart

    comparison = report.comparison
    if comparison is None:
        return "<p>Nothing was replayed.</p>"
    gpus = comparison.workload.cluster.gpu_count
    pictures = "".join(
        f"<h3>{escape(policy)}</h3>"
        + _figure(use_chart(comparison.outcomes[policy], gpus), f"What the GPUs would have done under {policy}")
        for policy in (BACKFILL, ALLOCATOR)
    )
    head = ("assumed of priorities", "policy", "utilization, %", "value", "mean wait, hours", "unmet demand, GPU-hours")
    rows = [
        tuple(
            escape(str(cell))
            for cell in (
                assumed,
                policy,
                f"{100 * policies[policy].utilization:.1f}",
                f"{policies[policy].objective:,.1f}",
                f"{policies[policy].wait_hours.mean:.2f}",
                f"{policies[policy].shortfall.gpu_hours:,.1f}",
            )
        )
        for assumed, policies in comparison.by_assumption.items()
        for policy in POLICIES
    ]
    return (
        "<p>The same jobs and the same demand in a virtual world, on the same GPUs, under three ways to decide. "
        "Each knew only what was known at the moment.</p>"
        + _table(head, rows, numeric=range(2, 6))
        + _legend(dict(REPLAY_USES.values()))
        + pictures
    )


def _finding(report: AuditReport, finding: Finding) -> str:
    facts = [("number", figure(finding))]
    if finding.threshold is not None:
        facts.append(
            ("flagged above", f"{finding.threshold.value:g} {finding.threshold.unit}: {finding.threshold.source}")
        )
    if finding.remedy:
        facts.append(("what helps", finding.remedy))
    if recoverable(report, finding):
        facts.append(("could be recovered", recoverable(report, finding)))
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts)
    evidence = finding.evidence
    rows = [tuple("" if cell is None else escape(_cell(cell)) for cell in row) for row in evidence.rows]
    numeric = [
        column
        for column in range(len(evidence.columns))
        if all(not isinstance(row[column], str) for row in evidence.rows)
    ]
    table = _table(evidence.columns, rows, numeric) if rows else ""
    return (
        f'<article id="{finding.rule}"><h3>{_mark(finding)}{escape(finding.title)}</h3>'
        f'<p class="fact">{escape(finding.sentence)}</p><dl>{listed}</dl>{table}</article>'
    )


def _cell(cell: str | float) -> str:
    return cell if isinstance(cell, str) else f"{cell:,}"


def _method(report: AuditReport) -> str:
    notes = [layout_words(report), *report.record.notes, *left_out_words(report)]
    rows = [escape(str(row.fault)) for row in report.record.left_out[:SHOWN_LEFT_OUT]]
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
    left = "".join(f"<li>{row}</li>" for row in rows)
    return f"<ul>{listed}</ul>" + (
        f"<details><summary>Rows that were left out</summary><ul>{left}</ul></details>" if left else ""
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numeric: Iterable[int] = ()) -> str:
    flush = set(numeric)
    titles = "".join(f"<th{_class(number in flush)}>{escape(title)}</th>" for number, title in enumerate(head))
    body = "".join(
        "<tr>" + "".join(f"<td{_class(number in flush)}>{cell}</td>" for number, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>'


def _class(is_number: bool) -> str:
    return ' class="number"' if is_number else ""


def _legend(colours: Mapping[str, str]) -> str:
    entries = (f'<li><i style="background:{colour}"></i>{escape(word)}</li>' for word, colour in colours.items())
    return f'<ul class="legend">{"".join(entries)}</ul>\n'


def _figure(svg: str, description: str) -> str:
    words = escape(description)
    return f'<figure role="img" aria-label="{words}">{svg}<figcaption>{words}</figcaption></figure>'


def _page_file(name: str) -> str:
    return (files("loadfactor.audit") / "page" / name).read_text(encoding="utf-8")
