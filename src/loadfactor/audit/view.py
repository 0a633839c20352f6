"""The audit in the terminal: the verdict first, where the GPU-hours went, and the findings, on one screen."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from loadfactor.audit.report import AuditReport
from loadfactor.audit.wording import figure, held_against, introduction, left_out_words, recoverable, waterfall_rows

BAR_CELLS = 24
_MARKS = {"flagged": ("!", "bold red"), "fine": ("ok", "green"), "unknown": ("?", "dim")}
_COLOURS = {"installed": "white", "useful": "green", "held": "green", "of_unknown_activity": "cyan"}


def audit_view(report: AuditReport) -> RenderableType:
    """Return the report for a console."""
    return Group(
        Text(report.verdict(), style="bold"),
        Text(introduction(report), style="dim"),
        Text(),
        _waterfall(report),
        Text(),
        _findings(report),
        *_warnings(report),
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
            Text(recoverable(report, finding)),
        )
    return table


def _warnings(report: AuditReport) -> Iterator[Text]:
    for note in report.record.notes:
        yield Text(f"note: {note}", style="dim")
    for words in left_out_words(report):
        yield Text(f"{words} (the report lists them)", style="yellow")
