"""The tables of a benchmark report; nothing is measured here."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from loadfactor.bench.published import MEAN_CONTENDED_GAIN, PUBLISHED
from loadfactor.bench.results import BenchmarkReport, Row, Section
from loadfactor.bench.summary import Summary, contended, summarize
from loadfactor.bench.timing import Timing

BASELINES = ("fifo", "backfill")
UNKNOWN = "–"
GAP_NOTE = (
    "gap: distance of the value from the best bound proven on the case, (bound − value) / |bound|, of the median and "
    "of the worst plan over all repeats, each with a seed of its own; every value is the judge's."
)


def benchmark_view(report: BenchmarkReport) -> RenderableType:
    """Return the report as tables: a full one for the scenarios and the cluster, means over seeds for the rest."""
    parts: list[RenderableType] = [Text(str(report.machine), style="dim")]
    for section in report.sections:
        parts += [Text(), _dense_table(section) if section.name == "dense" else _case_table(section)]
        if section.name == "scenarios":
            parts += [Text(), _contended_table(report)]
    parts += [Text(GAP_NOTE, style="dim"), *_faults(report)]
    return Group(*parts)


def _faults(report: BenchmarkReport) -> list[RenderableType]:
    return [Text(f"{row.case}, {row.contestant}: {row.fault}", style="bold red") for row in report.faults]


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for number, column in enumerate(columns):
        is_text = number < 2 or column == "published"
        table.add_column(column, justify="left" if is_text else "right", no_wrap=not is_text)
    return table


def _case_table(section: Section) -> Table:
    columns = [
        "case",
        "policy",
        "utilization",
        "jobs",
        "value",
        "vs fifo",
        "bound",
        "gap",
        "worst",
        "median ms",
        "p5–p95",
    ]
    has_published = section.name == "scenarios"
    table = _table(section.title, *columns, *(["published"] if has_published else []))
    for case in section.cases():
        for number, row in enumerate(section.of(case)):
            cells = [case if number == 0 else "", *_cells(row)]
            table.add_row(*cells, *([_published(row)] if has_published else []))
        table.add_section()
    if not has_published:
        table.caption, table.caption_justify = _best_bounds(section), "left"
    return table


def _best_bounds(section: Section) -> str:
    bounds = ((case, section.of(case)[0].bound) for case in section.cases())
    return "; ".join(f"best bound proven on {case}: {bound:,.2f}" for case, bound in bounds if bound is not None)


def _cells(row: Row) -> list[str]:
    if row.fault and row.fault.startswith("ILLEGAL"):
        return [row.contestant, "ILLEGAL", *[UNKNOWN] * 6, *_times(row.timing)]
    return [
        row.contestant,
        f"{row.metrics.utilization:.1%}",
        f"{row.metrics.jobs_finished:,}",
        f"{row.metrics.value:,.2f}",
        _gain(row.gain),
        _bound(row),
        _gap(row.gap),
        _gap(row.worst_gap),
        *_times(row.timing),
    ]


def _bound(row: Row) -> str:
    if row.own_bound is None:
        return UNKNOWN
    return "optimal" if row.optimal else f"{row.own_bound:,.2f}"


def _gain(gain: float | None) -> str:
    return UNKNOWN if gain is None else f"{gain + 0.0:+.1%}"


def _gap(gap: float | None) -> str:
    return UNKNOWN if gap is None else f"{gap:.2%}"


def _times(timing: Timing) -> list[str]:
    spread = f"{_ms(timing.p5_ms)}–{_ms(timing.p95_ms)}" if timing.repeats > 1 else "once"
    return [_ms(timing.median_ms), f"{spread} ×{timing.repeats}" if timing.repeats > 1 else spread]


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:.2f}" if milliseconds < 10 else f"{milliseconds:,.0f}"


def _published(row: Row) -> str:
    published = PUBLISHED[row.case]
    if not published.contended and published.jobs_finished is None:
        return "no loss" if row.policy not in BASELINES else ""
    finished = f", {published.jobs_finished} of 30 jobs" if published.jobs_finished else ""
    if row.policy == "fifo":
        return f"{published.fifo_utilization}{finished}"
    if row.policy == "full":
        return f"{published.allocator_utilization}{finished}; {published.gain}; {published.decision}"
    return ""


def _contended_table(report: BenchmarkReport) -> Table:
    summaries = contended(report)
    cases = summaries[0].cases if summaries else 0
    title = f"Mean of the contended scenarios ({cases}; published for all five: value {MEAN_CONTENDED_GAIN:+.0%})"
    return _summary_table(title, [("", summary) for summary in summaries])


def _dense_table(section: Section) -> Table:
    groups: dict[str, list[Row]] = {}
    for row in section.rows:
        groups.setdefault(row.case.partition("-seed-")[0], []).append(row)
    return _summary_table(
        f"{section.title}: means over the seeds",
        [(name, summary) for name, rows in groups.items() for summary in summarize(rows)],
    )


def _summary_table(title: str, rows: list[tuple[str, Summary]]) -> Table:
    table = _table(
        title, "case", "policy", "utilization", "vs fifo", "optimal", "gap, mean", "gap, largest", "worst plan",
        "median ms", "slowest ms",
    )  # fmt: skip
    last = ""
    for name, summary in rows:
        if name != last and last:
            table.add_section()
        table.add_row(name if name != last else "", *_summary_cells(summary))
        last = name
    return table


def _summary_cells(summary: Summary) -> list[str]:
    return [
        summary.contestant,
        f"{summary.utilization:.1%}",
        _gain(summary.gain),
        f"{summary.proven} of {summary.cases}",
        _gap(summary.gap),
        _gap(summary.largest_gap),
        _gap(summary.worst_gap),
        _ms(summary.median_ms),
        _ms(summary.slowest_ms),
    ]
