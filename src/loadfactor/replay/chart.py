"""What happened over time as pictures: who had the GPUs under each policy, the queue, and demand that was not met."""

from __future__ import annotations

from typing import Any

from loadfactor.replay.measure import SIZE_CLASSES
from loadfactor.replay.report import Outcome, ReplayReport
from loadfactor.units import HOURS_PER_DAY

WIDTH, HEIGHT, STRIP = 860, 170, 150
USES = {
    "jobs": ("jobs", "#1f68b3"),
    "services": ("services, demand met", "#0a7d5c"),
    "spare": ("services, not needed", "#a9d5c3"),
    "overhead": ("padding, starting, stopping", "#d99a2b"),
    "idle": ("idle", "#e6e9ee"),
    "lost": ("lost", "#5a6069"),
}
"""How GPUs are used, from the bottom of the picture to the top: its words and its colour."""
POLICY_COLOURS = ("#8b939e", "#b5651d", "#0a7d5c", "#1f68b3", "#7a4fa3", "#c0263b", "#4b7f9c", "#9a8b1c")
FONT = "system-ui, 'Segoe UI', Roboto, Arial, sans-serif"


def policy_colours(report: ReplayReport) -> dict[str, str]:
    """Return the colour of each policy."""
    return {name: POLICY_COLOURS[index % len(POLICY_COLOURS)] for index, name in enumerate(_names(report))}


def use_chart(outcome: Outcome, gpus: int) -> str:
    """Return as SVG what the GPUs did over time under one policy."""
    import altair

    words = [word for word, _ in USES.values()]
    colours = [colour for _, colour in USES.values()]
    areas = (
        altair.Chart(altair.InlineData(_uses(outcome)))
        .mark_area(interpolate="step-after")
        .encode(
            x=_days(),
            y=altair.Y("GPUs:Q", stack="zero", scale=altair.Scale(domain=[0, gpus]), title="GPUs"),
            color=altair.Color("use:N", sort=words, scale=altair.Scale(domain=words, range=colours), legend=None),
            order=altair.Order("rank:Q"),
        )
    )
    return _svg(areas.properties(width=WIDTH, height=HEIGHT))


def queue_chart(report: ReplayReport) -> str:
    """Return as SVG the jobs in the queue over time, a line for every policy."""
    return _lines(report, "waiting", "jobs that wait")


def unmet_chart(report: ReplayReport) -> str:
    """Return as SVG the GPUs that services lacked over time, a line for every policy."""
    return _lines(report, "unmet", "GPUs that services lack")


def wait_chart(report: ReplayReport) -> str:
    """Return as SVG the mean wait by the size of jobs, a bar for every policy."""
    import altair

    rows = [
        {
            "size": "1 GPU" if name == "1" else f"{name} GPUs",
            "policy": each.policy,
            "hours": each.wait_hours_by_size[name].mean,
        }
        for each in report.measures
        for name in SIZE_CLASSES
        if each.wait_hours_by_size[name].count
    ]
    bars = (
        altair.Chart(altair.InlineData(rows))
        .mark_bar()
        .encode(
            x=altair.X("hours:Q", title="mean wait, in hours"),
            y=altair.Y("policy:N", title=None, sort=_names(report), axis=altair.Axis(labels=False, ticks=False)),
            row=altair.Row(
                "size:N", title=None, spacing=8, header=altair.Header(labelAngle=0, labelAlign="left", labelPadding=4)
            ),
            color=_by_policy(report),
        )
    )
    return _svg(bars.properties(width=WIDTH - 70, height={"step": 13}))


def _lines(report: ReplayReport, field: str, title: str) -> str:
    import altair

    rows = [
        {"day": point.hour / HOURS_PER_DAY, title: getattr(point, field), "policy": outcome.measures.policy}
        for outcome in report.outcomes
        for point in outcome.series
    ]
    lines = (
        altair.Chart(altair.InlineData(rows))
        .mark_line(interpolate="step-after", strokeWidth=1.5)
        .encode(x=_days(), y=altair.Y(f"{title}:Q"), color=_by_policy(report))
    )
    return _svg(lines.properties(width=WIDTH, height=STRIP))


def _uses(outcome: Outcome) -> list[dict[str, Any]]:
    return [
        {"day": point.hour / HOURS_PER_DAY, "use": word, "rank": rank, "GPUs": getattr(point, field)}
        for rank, (field, (word, _)) in enumerate(USES.items())
        for point in outcome.series
    ]


def _names(report: ReplayReport) -> list[str]:
    return [each.policy for each in report.measures]


def _by_policy(report: ReplayReport) -> Any:
    import altair

    colours = policy_colours(report)
    names = list(colours)
    scale = altair.Scale(domain=names, range=list(colours.values()))
    return altair.Color("policy:N", sort=names, scale=scale, legend=None)


def _days() -> Any:
    import altair

    return altair.X("day:Q", title="day", scale=altair.Scale(nice=False), axis=altair.Axis(grid=False, tickCount=12))


def _svg(chart: Any) -> str:
    import vl_convert

    styled = chart.configure(font=FONT, background="#ffffff").configure_view(stroke=None)
    return str(vl_convert.vegalite_to_svg(styled.to_dict()))
