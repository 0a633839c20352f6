"""The report of a replay as tables for a terminal: policies side by side, waits by size."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from loadfactor.replay.build import Scenario
from loadfactor.replay.measure import SIZE_CLASSES, Measures
from loadfactor.replay.report import ReplayReport
from loadfactor.replay.rows import Row, sections


def replay_view(report: ReplayReport, timing: bool = True) -> RenderableType:
    """Return what `loadfactor replay` prints; the best figure of a row is bold where they differ."""
    return Group(
        Text(introduction(report.scenario)),
        _comparison(report, timing),
        waits_by_size(report.measures),
        *_alarms(report),
    )


def introduction(scenario: Scenario) -> str:
    """Return in a few sentences what is replayed, and what was left out of the logs."""
    recipe, world = scenario.recipe, scenario.world
    days = (world.arrivals[-1].at - world.begin) / 86_400
    told = (
        f"{recipe.name}: {len(world.arrivals):,} jobs in {days:.1f} days on {world.cluster.gpu_count:,} GPUs, which "
        f"they would keep busy to {scenario.offered_load():.0%}"
    )
    if world.services:
        count = len(world.services)
        needs = "1 service needs" if count == 1 else f"{count} services need"
        told += f"; {needs} up to {recipe.peak_share:.0%} of them"
    if recipe.warm_up_days:
        told += f". Measured after a warm-up of {recipe.warm_up_days:g} days"
    if recipe.moldable.share:
        count = sum(arrival.job.most > arrival.job.gpus for arrival in world.arrivals)
        told += f". {count:,} of the jobs are moldable"
    return f"{told}. {left_out(scenario)}"


def left_out(scenario: Scenario) -> str:
    """Return a sentence about the rows that are not replayed."""
    parts = {
        "without a run time": sum(log.left_out.without_run_time for log in scenario.logs),
        "without a GPU": sum(log.left_out.without_gpus for log in scenario.logs),
        "too large for the cluster": sum(log.left_out.too_large for log in scenario.logs),
        "that cannot be read": sum(log.bad_rows for log in scenario.logs),
    }
    told = [f"{count:,} {why}" for why, count in parts.items() if count]
    return f"Left out: {', '.join(told)}." if told else "No job of these days was left out."


def _comparison(report: ReplayReport, timing: bool) -> Table:
    made = Table(title=Text("Policies side by side"), title_justify="left", title_style="bold")
    made.add_column("")
    for measures in report.measures:
        made.add_column(Text(measures.policy), justify="right")
    if report.bound is not None:
        made.add_column("bound", justify="right")
    for title, rows in sections(timing).items():
        made.add_section()
        made.add_row(Text(title, style="bold"))
        for row in rows:
            made.add_row(Text(row.label), *_cells(row, report))
    return made


def _cells(row: Row, report: ReplayReport) -> list[Text]:
    best = row.best(report.measures)
    cells = [Text(row.text(row.figure(each)), style="bold" if each.policy in best else "") for each in report.measures]
    if report.bound is not None:
        cells.append(Text(row.text(report.bound[row.bound]) if row.bound in report.bound else ""))
    return cells


def waits_by_size(measures: Sequence[Measures]) -> Table:
    """Return mean and p95 of the wait by the GPUs that jobs ask for."""
    made = Table(title=Text("Waits by size of the job: mean / p95, in hours"), title_justify="left", title_style="bold")
    for column in ("GPUs", "jobs", *(each.policy for each in measures)):
        made.add_column(Text(column), justify="left" if column == "GPUs" else "right")
    for name in SIZE_CLASSES:
        spreads = [each.wait_hours_by_size[name] for each in measures]
        if spreads and spreads[0].count:
            made.add_row(name, f"{spreads[0].count:,}", *(f"{each.mean:,.2f} / {each.p95:,.2f}" for each in spreads))
    return made


def _alarms(report: ReplayReport) -> list[RenderableType]:
    return [
        Text.from_markup(f"{escape(each.policy)}: {each.alarms} alarms; the first: {escape(each.first_alarms[0])}")
        for each in report.measures
        if each.first_alarms
    ]
