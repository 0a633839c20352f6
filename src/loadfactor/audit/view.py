"""The audit in the terminal: the verdict first, where the GPU-hours went, and the findings, on one screen."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from loadfactor.audit.finding import Finding
from loadfactor.audit.report import AuditReport
from loadfactor.audit.wording import figure, held_against, waterfall_rows
from loadfactor.units import SECONDS_PER_HOUR

BAR_CELLS = 24
_MARKS = {"flagged": ("!", "bold red"), "fine": ("ok", "green"), "unknown": ("?", "dim")}
_COLOURS = {"installed": "white", "useful": "green", "held": "green", "of_unknown_activity": "cyan"}


def audit_view(report: AuditReport) -> RenderableType:
    """Return the report for a console."""
    return Group(
        Text(report.verdict(), style="bold"),
        Text(_introduction(report), style="dim"),
        Text(),
        _waterfall(report),
        Text(),
        _findings(report),
        *_warnings(report),
    )


def _introduction(report: AuditReport) -> str:
    record = report.record
    nodes = "" if record.fleet.stated else " (gathered from the log: give --nodes for what is installed)"
    return (
        f"{record.source}: {record.window.told(record.window.begin)} to {record.window.told(record.window.end)}, "
        f"{record.window.hours:,.0f} hours; {record.fleet.gpus:,} GPUs in {len(record.fleet.nodes):,} nodes{nodes}"
    )


def _waterfall(report: AuditReport) -> Table:
    table = Table(title=Text("Where the GPU-hours went"), title_justify="left", title_style="bold", box=None)
    table.add_column(Text("what"))
    table.add_column(Text("GPU-hours"), justify="right")
    table.add_column(Text("%"), justify="right")
    table.add_column(Text(""))
    for key, name, hours in waterfall_rows(report):
        share = report.record.share(hours)
        bar = Text("█" * round(BAR_CELLS * share), style=_COLOURS.get(key, "yellow"))
        table.add_row(Text(name), f"{hours:,.0f}", f"{100 * share:.1f}", bar)
    return table


def _findings(report: AuditReport) -> Table:
    table = Table(title=Text("Findings"), title_justify="left", title_style="bold", box=None)
    for column in ("", "finding", "number", "flagged above"):
        table.add_column(Text(column))
    table.add_column(Text("could be recovered"), justify="right")
    for finding in report.findings:
        mark, style = _MARKS[finding.verdict]
        table.add_row(
            Text(mark, style=style),
            Text(finding.title),
            Text(figure(finding)),
            Text(held_against(finding)),
            Text(_recoverable(report, finding)),
        )
    return table


def _recoverable(report: AuditReport, finding: Finding) -> str:
    hours = finding.recoverable_gpu_hours
    if hours is None:
        return ""
    cost = report.costs.told(hours)
    return f"{hours:,.0f} GPU-hours" + (f", {cost}" if cost else "")


def _warnings(report: AuditReport) -> Iterator[Text]:
    for note in report.record.notes:
        yield Text(f"note: {note}", style="dim")
    rows = report.record.left_out
    if rows:
        known = [row.gpu_seconds for row in rows if row.gpu_seconds is not None]
        yield Text(
            f"{len(rows):,} rows were left out, of {sum(known) / SECONDS_PER_HOUR:,.0f} GPU-hours as far as they tell "
            "(the report lists them)",
            style="yellow",
        )
