"""The pictures of an audit as SVG: the window hour by hour, other orders, the heat map, blocks and waits by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from loadfactor.audit.comparison import Comparison
from loadfactor.audit.report import AuditReport
from loadfactor.replay.report import Outcome
from loadfactor.units import SECONDS_PER_HOUR

WIDTH, AXIS_WIDTH, FONT = 860, 46, "system-ui, 'Segoe UI', Roboto, Arial, sans-serif"
MOST_STRETCHES = 400
"""Most stretches of time in a picture: a longer window is drawn with several hours to a stretch."""
FREE = "var(--free)"
"""The colour of what nobody used: the page's style has one for paper and one for a dark screen."""
USES = {
    "jobs": ("jobs", "#1f68b3"),
    "services": ("services", "#0a7d5c"),
    "order": ("free, waiting work would have fitted", "#c0263b"),
    "shape": ("free, in pieces too small", "#e0777f"),
    "limit": ("free, a limit held work back", "#d99a2b"),
    "no_work": ("free, no work waited", FREE),
    "unavailable": ("unavailable", "#5a6069"),
}
"""How GPUs were used, from the bottom of the picture to the top: its words and its colour."""
QUEUE_COLOUR = "#b5651d"
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_INK, _LINE = "currentColor", "#808890"
Uses = Mapping[str, tuple[str, str]]
Rows = list[dict[str, Any]]


def hours_per_stretch(report: AuditReport) -> int:
    """Return how many hours of the window one stretch of a picture stands for."""
    return max(1, -(-len(report.by_hour()) // MOST_STRETCHES))


def stretches(report: AuditReport) -> Rows:
    """Return the mean GPUs of each use, and those waited for, from `begin` to `end` (seconds since 1970)."""
    hours, edges, group = report.by_hour(), report.record.edges, hours_per_stretch(report)
    found = []
    for first in range(0, len(hours), group):
        part = hours[first : first + group]
        length = sum(hour["hours"] for hour in part)
        means = {key: sum(hour[key] for hour in part) / length for key in (*USES, "queued")}
        found.append({"begin": float(edges[first]), "end": float(edges[first + len(part)])} | means)
    return found


def used(report: AuditReport) -> dict[str, str]:
    """Return the words and colours of the uses that occur, for a legend."""
    return {word: colour for key, (word, colour) in USES.items() if report.record.hours_by_use[key].any()}


def week_chart(report: AuditReport) -> str:
    """Return what the GPUs did in every hour of the window, and below it the GPUs that jobs waited for."""
    import altair

    parts = stretches(report)
    moments = [_drawn_at(report, part["begin"]) for part in parts] + [_drawn_at(report, parts[-1]["end"])]
    areas = _stack(moments, parts, USES, report.record.fleet.gpus, 190)
    queue = [
        {"time": moment, "queued": part["queued"]} for moment, part in zip(moments, [*parts, parts[-1]], strict=True)
    ]
    line = (
        altair.Chart(altair.InlineData(queue), title=_heading("GPUs that jobs waited for"))
        .mark_area(interpolate="step-after", color=QUEUE_COLOUR, opacity=0.85)
        .encode(x=_time(moments), y=_height("queued"))
        .properties(width=WIDTH, height=70)
    )
    return _svg(altair.vconcat(areas, line, spacing=18))


def order_charts(report: AuditReport, comparison: Comparison, policies: Sequence[str]) -> dict[str, str]:
    """Return by policy what the GPUs would have done over time, all over the same span."""
    outcomes = {policy: comparison.outcomes[policy] for policy in policies}
    ends = [_beyond(outcome) for outcome in outcomes.values()]
    span = [_drawn_at(report, comparison.workload.begin + SECONDS_PER_HOUR * hour) for hour in (0.0, max(ends))]
    gpus = comparison.workload.cluster.gpu_count
    return {
        policy: _svg(_stack(_begins(report, comparison, outcome), _means(outcome), order_uses(), gpus, 130, span))
        for policy, outcome in outcomes.items()
    }


def _begins(report: AuditReport, comparison: Comparison, outcome: Outcome) -> list[str]:
    hours = [point.hour for point in outcome.series] + [_beyond(outcome)]
    return [_drawn_at(report, comparison.workload.begin + SECONDS_PER_HOUR * hour) for hour in hours]


def _means(outcome: Outcome) -> Rows:
    return [{key: getattr(point, key) for key in order_uses()} for point in outcome.series]


def _beyond(outcome: Outcome) -> float:
    """Return the hour at which the last stretch of a series ends: it is taken to last as long as the one before it."""
    hours = [point.hour for point in outcome.series[-2:]]
    return hours[-1] + (hours[-1] - hours[0] or 1.0)


def order_uses() -> dict[str, tuple[str, str]]:
    """Return how GPUs are used in a replay: its words and its colour."""
    from loadfactor.replay.chart import USES as REPLAY_USES

    return {**REPLAY_USES, "idle": (REPLAY_USES["idle"][0], FREE)}


def _stack(
    moments: Sequence[str],
    parts: Sequence[Mapping[str, Any]],
    uses: Uses,
    gpus: int,
    height: int,
    span: Sequence[str] = (),
) -> Any:
    """Return uses on top of each other over `span`, which is that of the moments where none is given.

    A part lasts to the next moment, so that there is one moment more than there are parts.
    """
    import altair

    rows = [
        {"time": moment, "use": word, "rank": rank, "GPUs": round(part[key], 3)}
        for rank, (key, (word, _)) in enumerate(uses.items())
        for moment, part in zip(moments, [*parts, parts[-1]], strict=True)
    ]
    words, colours = [word for word, _ in uses.values()], [colour for _, colour in uses.values()]
    return (
        altair.Chart(altair.InlineData(rows), title=_heading("GPUs"))
        .mark_area(interpolate="step-after")
        .encode(
            x=_time(span or moments),
            y=_height("GPUs", altair.Scale(domain=[0, gpus], nice=False), stack="zero"),
            color=altair.Color("use:N", sort=words, scale=altair.Scale(domain=words, range=colours), legend=None),
            order=altair.Order("rank:Q"),
        )
        .properties(width=WIDTH, height=height)
    )


def _drawn_at(report: AuditReport, moment: float) -> str:
    """Return a moment as the wall clock's time at the window's begin would have it.

    No clock change moves it: an hour that the wall clock has twice would lie over itself.
    """
    window = report.record.window
    offset = datetime.fromtimestamp(window.begin, window.zone).utcoffset()
    seconds = moment + (offset.total_seconds() if offset is not None else 0.0)
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _time(moments: Sequence[str]) -> Any:
    import altair

    begin, end = moments[0], moments[-1]
    days = (datetime.fromisoformat(end) - datetime.fromisoformat(begin)) / timedelta(days=1)
    form = "%H:%M" if days < 2 else "%a %d" if days <= 14 else "%d %b"
    axis = altair.Axis(format=form, grid=False, labelFlush=False, tickCount="day" if 2 <= days <= 14 else 12)
    scale = altair.Scale(type="utc", nice=False, domain=[begin, end])
    return altair.X("time:T", title=None, scale=scale, axis=axis)


def heat_chart(report: AuditReport) -> str:
    """Return the share of GPUs that were held, by weekday and hour of the local clock."""
    import altair

    held: dict[tuple[int, int], list[float]] = {}
    record = report.record
    for edge, hour in zip(record.edges[:-1].tolist(), report.by_hour(), strict=True):
        share = (hour["jobs"] + hour["services"]) / (record.fleet.gpus * hour["hours"])
        held.setdefault(record.window.clock(edge), []).append(100 * share)
    rows = [
        {"day": _WEEKDAYS[day], "hour": hour, "held": round(float(np.mean(shares)), 1)}
        for (day, hour), shares in sorted(held.items())
    ]
    legend = altair.Legend(title=None, orient="top", gradientLength=200, gradientThickness=10, format=".0f", offset=6)
    squares = (
        altair.Chart(altair.InlineData(rows), title=_heading("% of the GPUs held"))
        .mark_rect()
        .encode(
            x=altair.X("hour:O", title=None, scale=altair.Scale(domain=list(range(24))), axis=_upright()),
            y=altair.Y("day:N", title=None, scale=altair.Scale(domain=list(_WEEKDAYS)), axis=_rooted()),
            color=altair.Color("held:Q", scale=altair.Scale(domain=[0, 100], scheme="viridis"), legend=legend),
        )
    )
    return _svg(squares.properties(width=WIDTH, height={"step": 17}))


def fragmentation_chart(report: AuditReport) -> str:
    """Return the share of GPU memory in free pieces too small for a block, by the size of the block."""
    shares = report.finding("fragmentation").figures["share_percent_by_block_size"]
    return _bars({str(size): share for size, share in shares.items()}, "block, in GPUs", "% of GPU memory", "#c0263b")


def waits_chart(report: AuditReport) -> str:
    """Return the 95th percentile of waits by the size of jobs."""
    waits = report.finding("waits").figures["p95_hours_by_size"]
    return _bars(waits, "GPUs of the job", "hours", QUEUE_COLOUR)


def _bars(heights: Mapping[str, float], x_title: str, heading: str, colour: str) -> str:
    import altair

    rows = [{"x": name, "y": height, "label": f"{height:,.1f}"} for name, height in heights.items()]
    base = altair.Chart(altair.InlineData(rows), title=_heading(heading)).encode(
        x=altair.X("x:N", sort=list(heights), title=x_title, axis=_upright()),
        y=_height("y"),
    )
    bars = base.mark_bar(color=colour)
    labels = base.mark_text(dy=-7, color=_INK, fontSize=11).encode(text="label:N")
    return _svg((bars + labels).properties(width=400 - AXIS_WIDTH, height=150))


def _height(field: str, scale: Any = None, **changes: Any) -> Any:
    import altair

    axis = altair.Axis(minExtent=AXIS_WIDTH, tickCount=5)
    given = {} if scale is None else {"scale": scale}
    return altair.Y(f"{field}:Q", title=None, axis=axis, **given, **changes)


def _upright() -> Any:
    import altair

    return altair.Axis(labelAngle=0, grid=False, labelOverlap=True)


def _rooted() -> Any:
    import altair

    return altair.Axis(minExtent=AXIS_WIDTH, grid=False)


def _heading(text: str) -> Any:
    """Return what the vertical axis measures, written level above it: no font makes it longer than the picture."""
    import altair

    return altair.Title(text, anchor="start", frame="bounds", fontSize=12, fontWeight="normal", color=_INK, offset=8)


def _svg(chart: Any) -> str:
    """Return the picture. Room is left at its edges: a browser's fonts may be wider than those it was measured with."""
    import vl_convert

    styled = (
        chart.configure(font=FONT, background="transparent", padding={"left": 4, "right": 24, "top": 4, "bottom": 6})
        .configure_view(stroke=None)
        .configure_axis(labelColor=_INK, titleColor=_INK, domainColor=_LINE, tickColor=_LINE, gridColor=f"{_LINE}40")
        .configure_axis(labelFontSize=12, titleFontSize=12, titleFontWeight="normal")
        .configure_legend(labelColor=_INK, titleColor=_INK, labelFontSize=12)
    )
    return str(vl_convert.vegalite_to_svg(styled.to_dict()))
