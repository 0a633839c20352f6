"""The audit as one HTML file that needs no network and runs no script: the verdict first, then what shows it."""

from __future__ import annotations

from html import escape
from string import Template

from loadfactor.audit.articles import articles, glance
from loadfactor.audit.charts import (
    FREE,
    USES,
    fragmentation_chart,
    heat_chart,
    hours_per_stretch,
    order_charts,
    order_uses,
    used,
    waits_chart,
    week_chart,
)
from loadfactor.audit.comparison import Comparison
from loadfactor.audit.findings.ordering import gains
from loadfactor.audit.grid import KINDS, column_edges, gpus_per_row, grid_svg
from loadfactor.audit.html_parts import figure, page_file, table
from loadfactor.audit.report import SHOWN_LEFT_OUT, AuditReport
from loadfactor.audit.waterfall import waterfall_table
from loadfactor.audit.whatif import ALLOCATOR, BACKFILL, POLICIES
from loadfactor.audit.wording import introduction, layout_words, left_out_words
from loadfactor.pictures.html_parts import legend

COMPARED = ("utilization, %", "value", "mean wait, hours", "unmet demand, GPU-hours")


def audit_page(report: AuditReport) -> str:
    """Return the page. Its Content-Security-Policy forbids every request and every script."""
    record = report.record
    return Template(page_file("page.html")).substitute(
        title=escape(f"Audit of {record.source}"),
        style=page_file("style.css"),
        verdict=escape(report.verdict()),
        introduction=escape(introduction(report)),
        tiles=_tiles(report),
        waterfall=waterfall_table(report),
        glance=glance(report),
        week=legend(used(report)) + figure(week_chart(report), _week_words(report)),
        heat=figure(heat_chart(report), f"Share of the GPUs that were held; the clock of {record.window.zone}."),
        grid=_grid(report),
        orders=_orders(report),
        fragmentation=_bars(report, "fragmentation", "share_percent_by_block_size"),
        waits=_bars(report, "waits", "p95_hours_by_size"),
        articles=articles(report),
        method=_method(report),
    )


def _tiles(report: AuditReport) -> str:
    record = report.record
    tiles = [
        (f"{record.installed_hours:,.0f}", "GPU-hours installed"),
        (f"{100 * report.wasted_share:.1f} %", "of them did nothing useful"),
        (f"{sum(finding.verdict == 'flagged' for finding in report.findings)}", "findings flagged"),
    ]
    cost = report.costs.told(report.wasted_share * record.installed_hours)
    if cost:
        tiles.insert(2, (cost, "is what they cost"))
    if report.comparison is not None:
        value, points = gains(report.comparison.leading)
        tiles.append((f"{value:+.1f} %", f"value and {points:+.1f} points of utilization in another order"))
    return "".join(f"<li><b>{escape(number)}</b>{escape(words)}</li>" for number, words in tiles)


def _week_words(report: AuditReport) -> str:
    group = hours_per_stretch(report)
    span = "every hour" if group == 1 else f"stretches of {group} hours"
    return f"What the GPUs did in {span}, and the GPUs that jobs waited for; the clock of {report.record.window.zone}."


def _grid(report: AuditReport) -> str:
    group, hours = gpus_per_row(report), -(-(len(report.record.edges) - 1) // (len(column_edges(report)) - 1))
    words = (
        f"GPUs in the order of their nodes from top to bottom, {group:,} in a row; time from left to right, "
        f"{hours:,} hour{'s' if hours > 1 else ''} in a column. A cell has the colour of its largest use, "
        f"the fuller the more of it. {layout_words(report)}"
    )
    return legend({USES[use][0]: USES[use][1] for use in KINDS} | {"free": FREE}) + figure(grid_svg(report), words)


def _orders(report: AuditReport) -> str:
    comparison = report.comparison
    if comparison is None:
        return "<p>Nothing was replayed.</p>"
    pictures = "".join(
        f"<h3>{escape(policy)}</h3>" + figure(svg, f"What the GPUs would have done under {policy}.")
        for policy, svg in order_charts(report, comparison, (BACKFILL, ALLOCATOR)).items()
    )
    return (
        "<p>The same jobs and the same demand in a virtual world, on the same GPUs, under three ways to decide. "
        "Each knew only what was known at the moment.</p>"
        + _compared(comparison)
        + legend(dict(order_uses().values()))
        + pictures
    )


def _compared(comparison: Comparison) -> str:
    rows = [
        (
            escape(assumed) if policy == POLICIES[0] else "",
            escape(policy),
            f"{100 * policies[policy].utilization:.1f}",
            f"{policies[policy].objective:,.1f}",
            f"{policies[policy].wait_hours.mean:.2f}",
            f"{policies[policy].shortfall.gpu_hours:,.1f}",
        )
        for assumed, policies in comparison.by_assumption.items()
        for policy in POLICIES
    ]
    return table(("assumed of priorities", "policy", *COMPARED), rows, range(2, 6), "compared")


def _bars(report: AuditReport, rule: str, heights: str) -> str:
    chart, words = {
        "fragmentation": (fragmentation_chart, "Free memory in pieces smaller than the block."),
        "waits": (waits_chart, "How long one job in twenty waited, or longer."),
    }[rule]
    if not report.finding(rule).figures.get(heights):
        return f"<p>{escape(report.finding(rule).sentence)}</p>"
    return figure(chart(report), words)


def _method(report: AuditReport) -> str:
    notes = [layout_words(report), *report.record.notes, *left_out_words(report)]
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
    left = "".join(f"<li>{escape(str(row.fault))}</li>" for row in report.record.left_out[:SHOWN_LEFT_OUT])
    details = f"<details><summary>Rows that were left out</summary><ul>{left}</ul></details>" if left else ""
    return f"<ul>{listed}</ul>{details}"
