"""The worth of hardware as a picture: the value and the utilization against the number of GPUs, the price by step."""

from __future__ import annotations

from typing import Any, Literal

from loadfactor.worth.findings import Worth

Medium = Literal["html", "svg"]
Rows = list[dict[str, Any]]
WIDTH, HEIGHT, STRIP = 620, 240, 110
COLOURS = ("#8b939e", "#0a7d5c")
"""Of the baseline and of the allocator."""
PRICE_COLOUR = "#1f68b3"


def worth_chart(worth: Worth, medium: Medium = "html") -> str:
    """Return the chart as a self-contained HTML document (it needs no network) or as an SVG document."""
    import vl_convert

    specification = _chart(worth).to_dict()
    if medium == "svg":
        return str(vl_convert.vegalite_to_svg(specification))
    return str(vl_convert.vegalite_to_html(specification, bundle=True))


def _chart(worth: Worth) -> Any:
    import altair

    parts = [_lines(worth, "value", None, HEIGHT), _lines(worth, "utilization", "%", STRIP)]
    if worth.prices:
        parts.append(_prices(worth))
    title = altair.TitleParams(
        f"What GPUs are worth: {worth.problem}", subtitle=_wrapped(worth.message), anchor="start", offset=12
    )
    return altair.vconcat(*parts, title=title).resolve_scale(color="independent")


def _lines(worth: Worth, field: str, form: str | None, height: int) -> Any:
    import altair

    rows = _rows(worth)
    names, sizes = [worth.baseline_name, worth.allocator_name], [point.gpus for point in worth.points]
    axis = altair.Axis() if form is None else altair.Axis(format=form)
    base = altair.Chart(altair.InlineData(rows)).encode(
        x=altair.X(
            "GPUs:Q", axis=altair.Axis(format="d", values=sizes, labelOverlap=True), scale=altair.Scale(zero=False)
        ),
        y=altair.Y(f"{field}:Q", axis=axis),
        color=altair.Color("policy:N", title=None, scale=altair.Scale(domain=names, range=list(COLOURS))),
    )
    line = base.mark_line(strokeWidth=2)
    points = base.mark_point(filled=True, size=60).encode(tooltip=_tooltip())
    return (line + points).properties(width=WIDTH, height=height)


def _tooltip() -> list[Any]:
    import altair

    return [
        altair.Tooltip("size", type="nominal"),
        altair.Tooltip("GPUs", type="quantitative"),
        altair.Tooltip("policy", type="nominal"),
        altair.Tooltip("value", type="quantitative", format=",.1f"),
        altair.Tooltip("utilization", type="quantitative", format=".1%"),
    ]


def _rows(worth: Worth) -> Rows:
    pairs = (
        (point, name, outcome)
        for point in worth.points
        for name, outcome in ((worth.baseline_name, point.baseline), (worth.allocator_name, point.allocator))
    )
    return [
        {
            "size": point.label,
            "GPUs": point.gpus,
            "policy": name,
            "value": outcome.value,
            "utilization": outcome.utilization,
        }
        for point, name, outcome in pairs
    ]


def _prices(worth: Worth) -> Any:
    import altair

    rows = [
        {"pool": price.pool, "step": step, "until": step + 1, "worth": value}
        for price in worth.prices
        for step, value in enumerate(price.by_step)
    ]
    colours = altair.Color("pool:N", title=None, scale=altair.Scale(scheme="tableau10"))
    return (
        altair.Chart(altair.InlineData(rows))
        .mark_line(interpolate="step-after", color=PRICE_COLOUR)
        .encode(
            x=altair.X("step:Q", title="step"),
            y=altair.Y("worth:Q", title="one more GPU"),
            color=colours,
            tooltip=[
                altair.Tooltip("pool", type="nominal"),
                altair.Tooltip("step", type="quantitative"),
                altair.Tooltip("worth", type="quantitative", format=",.2f"),
            ],
        )
        .properties(width=WIDTH, height=STRIP)
    )


def _wrapped(message: str) -> list[str]:
    import textwrap

    return textwrap.wrap(message, 110)
