"""The pictures of an audit as SVG: the waterfall, the week by hour, the heat map, blocks and waits by size."""

from __future__ import annotations

from typing import Any

from loadfactor.audit.report import AuditReport
from loadfactor.audit.wording import waterfall_rows

WIDTH, STRIP, FONT = 860, 110, "system-ui, 'Segoe UI', Roboto, Arial, sans-serif"
USES = {
    "jobs": ("jobs", "#1f68b3"),
    "services": ("services", "#0a7d5c"),
    "order": ("free, waiting work would have fitted", "#c0263b"),
    "shape": ("free, in pieces too small", "#e0777f"),
    "limit": ("free, a limit held work back", "#d99a2b"),
    "no_work": ("free, no work waited", "#c3cad3"),
    "unavailable": ("unavailable", "#5a6069"),
}
"""How GPUs were used, from the bottom of the picture to the top: its words and its colour."""
_INK = "#808890"
"""Text of the pictures: dark enough on white and light enough on the dark page."""
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_PARTS = {"installed": "#808890", "useful": "#0a7d5c", "held": "#0a7d5c", "of_unknown_activity": "#7fb8a4"}


def waterfall_chart(report: AuditReport) -> str:
    """Return the way from installed to useful GPU-hours, a bar for every loss where it is taken off."""
    import altair

    rows, left = [], report.record.installed_hours
    for key, name, hours in waterfall_rows(report):
        whole = key in _PARTS
        begin = 0.0 if whole else left - hours
        left = left if whole else begin
        rows.append({
            "part": name, "from": begin, "to": begin + hours, "colour": _PARTS.get(key, "#c0263b"),
            "label": f"{hours:,.0f} ({100 * report.record.share(hours):.1f} %)",
        })  # fmt: skip
    order = [str(row["part"]) for row in rows]
    base = altair.Chart(altair.InlineData(rows)).encode(
        y=altair.Y("part:N", sort=order, title=None, axis=altair.Axis(labelLimit=280))
    )
    bars = base.mark_bar(height=15).encode(
        x=altair.X("from:Q", title="GPU-hours", axis=altair.Axis(grid=False)),
        x2="to:Q",
        color=altair.Color("colour:N", scale=None),
    )
    words = base.mark_text(align="left", dx=6, color=_INK).encode(x="to:Q", text="label:N")
    return _svg((bars + words).properties(width=WIDTH - 330, height={"step": 22}))


def week_chart(report: AuditReport) -> str:
    """Return what the GPUs did in every hour of the window, and below it the GPUs that jobs waited for."""
    import altair

    hours = report.by_hour()
    rows = [
        {"time": _wall_clock(hour["begin"]), "use": word, "rank": rank, "GPUs": hour[key] / hour["hours"]}
        for rank, (key, (word, _)) in enumerate(USES.items())
        for hour in hours
    ]
    words, colours = [word for word, _ in USES.values()], [colour for _, colour in USES.values()]
    time = altair.X("time:T", title=None, axis=altair.Axis(format="%a %d", grid=False, tickCount="day"))
    areas = (
        altair.Chart(altair.InlineData(rows))
        .mark_area(interpolate="step-after")
        .encode(
            x=time,
            y=altair.Y("GPUs:Q", stack="zero", scale=altair.Scale(domain=[0, report.record.fleet.gpus])),
            color=altair.Color("use:N", sort=words, scale=altair.Scale(domain=words, range=colours), legend=None),
            order=altair.Order("rank:Q"),
        )
        .properties(width=WIDTH - 60, height=230)
    )
    queue = [{"time": _wall_clock(hour["begin"]), "GPUs waited for": hour["queued"] / hour["hours"]} for hour in hours]
    line = (
        altair.Chart(altair.InlineData(queue))
        .mark_area(interpolate="step-after", color="#b5651d", opacity=0.85)
        .encode(x=time, y=altair.Y("GPUs waited for:Q"))
        .properties(width=WIDTH - 60, height=STRIP)
    )
    return _svg(altair.vconcat(areas, line, spacing=14))


def _wall_clock(told: str) -> str:
    """Return a moment of the report as local time without its offset, which is how pictures label it."""
    return told[:16].replace(" ", "T")


def heat_chart(report: AuditReport) -> str:
    """Return the share of GPUs that were held, by weekday and hour of the local clock."""
    import altair

    held: dict[tuple[int, int], list[float]] = {}
    record = report.record
    for edge, hour in zip(record.edges[:-1].tolist(), report.by_hour(), strict=True):
        held.setdefault(record.window.clock(edge), []).append(
            100 * (hour["jobs"] + hour["services"]) / (record.fleet.gpus * hour["hours"])
        )
    rows = [
        {"day": _WEEKDAYS[day], "hour": hour, "held": sum(shares) / len(shares)}
        for (day, hour), shares in sorted(held.items())
    ]
    squares = (
        altair.Chart(altair.InlineData(rows))
        .mark_rect()
        .encode(
            x=altair.X("hour:O", title="hour of the day", axis=altair.Axis(labelAngle=0)),
            y=altair.Y("day:N", sort=list(_WEEKDAYS), title=None),
            color=altair.Color(
                "held:Q",
                scale=altair.Scale(domain=[0, 100], scheme="viridis"),
                legend=altair.Legend(title="% of GPUs held"),
            ),
        )
    )
    return _svg(squares.properties(width=WIDTH - 180, height={"step": 22}))


def fragmentation_chart(report: AuditReport) -> str:
    """Return the share of GPU memory in free pieces too small for a block, by the size of the block."""
    shares = report.finding("fragmentation").figures["share_percent_by_block_size"]
    rows = [{"block": str(size), "percent": share} for size, share in shares.items()]
    return _bars(rows, "block", "percent", "block, in GPUs", "% of GPU memory in smaller free pieces", "#c0263b")


def waits_chart(report: AuditReport) -> str:
    """Return the 95th percentile of waits by the size of jobs."""
    waits = report.finding("waits").figures["p95_hours_by_size"]
    rows = [{"size": size, "hours": hours} for size, hours in waits.items()]
    return _bars(rows, "size", "hours", "GPUs of the job", "one job in twenty waited longer, hours", "#b5651d")


def _bars(rows: list[dict[str, Any]], x: str, y: str, x_title: str, y_title: str, colour: str) -> str:
    import altair

    bars = (
        altair.Chart(altair.InlineData(rows))
        .mark_bar(color=colour)
        .encode(
            x=altair.X(f"{x}:O", sort=[row[x] for row in rows], title=x_title, axis=altair.Axis(labelAngle=0)),
            y=altair.Y(f"{y}:Q", title=y_title),
        )
    )
    return _svg(bars.properties(width={"step": 34}, height=170))


def _svg(chart: Any) -> str:
    import vl_convert

    styled = (
        chart.configure(font=FONT, background="transparent")
        .configure_view(stroke=None)
        .configure_axis(labelColor=_INK, titleColor=_INK, domainColor=_INK, tickColor=_INK, gridColor="#80889040")
        .configure_legend(labelColor=_INK, titleColor=_INK)
    )
    return str(vl_convert.vegalite_to_svg(styled.to_dict()))
