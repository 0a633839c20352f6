"""Small pieces of Vega-Lite that all views share: axes, encodings, tooltips.

User text never becomes part of a Vega expression: expressions are constants of this package, and texts reach them as
the values of parameters and fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loadfactor.pictures.clock import Clock
from loadfactor.pictures.palette import Palette

Spec = dict[str, Any]

TOOLTIP_NAMES = {
    "title": "title",
    "what": "Cells",
    "kind": "Kind",
    "priority": "Priority",
    "size": "Size (GPUs)",
    "gpus": "GPUs",
    "steps": "Steps [start, end)",
    "clock": "Clock (UTC)",
    "submit": "Submitted",
    "waited": "Waited",
    "held": "Held",
    "demand": "Demand",
    "shortfall": "Shortfall",
    "jobs_text": "Jobs",
    "serving_text": "Services",
    "total_text": "Utilization",
}


class Marks:
    """Builds encodings for one clock and one palette."""

    def __init__(self, clock: Clock, palette: Palette) -> None:
        self.clock = clock
        self.palette = palette

    def time(self, axis: Spec | None = None) -> Spec:
        """Return the encoding of a row's first step; the scale follows the parameter `x_domain`."""
        return {
            "field": "from",
            **self._time_type(),
            "scale": {**self._time_scale(), "domain": {"expr": "x_domain"}, "nice": False},
            "axis": axis,
        }

    def clock_axis(self, *, labels: bool = True) -> Spec:
        """Return the axis of clock times, or of steps where the horizon has no start."""
        axis: Spec = {"title": None, "grid": True, "gridColor": self.palette.rule, "labels": labels, "ticks": labels}
        axis |= {"tickCount": {"expr": "max(2, plot_width / 75)"}, "domain": False, "labelOverlap": True}
        if not self.clock.has_start:
            return {**axis, "tickMinStep": 1, "format": ",d", "title": "step" if labels else None}
        label = (
            "[utcFormat(datum.value, '%H:%M'), utchours(datum.value) == 0 ? utcFormat(datum.value, '%a %e %b') : '']"
        )
        return {**axis, "labelExpr": label, "labelOverlap": "parity"}

    def step_axis(self) -> Spec | None:
        """Return the axis above the grid that counts steps, or None where the clock axis already does."""
        if not self.clock.has_start:
            return None
        step = self.clock.position(1) - self.clock.position(0)
        origin = self.clock.position(0)
        values = f"sequence({origin}, {self.clock.position(self.clock.horizon.steps)} + 1, {step} * step_stride)"
        return {
            "orient": "top",
            "title": "step",
            "titleAnchor": "start",
            "titleX": -6,
            "titleY": -6,
            "titleAlign": "right",
            "titleFontSize": 10,
            "values": {"expr": values},
            "labelExpr": f"format((datum.value - {origin}) / {step}, ',d')",
            "grid": False,
            "domain": False,
            "tickSize": 3,
        }

    def spans(self) -> Spec:
        """Return the encodings of a box in time and GPUs."""
        return {
            "x": self.time(),
            "x2": {"field": "until"},
            "y": self.gpus(),
            "y2": {"field": "until_gpu"},
        }

    def gpus(self, axis: Spec | None = None) -> Spec:
        """Return the encoding of a row's first GPU, GPU 0 on top; the scale follows the parameter `y_domain`."""
        scale = {"domain": {"expr": "y_domain"}, "nice": False, "zero": False, "reverse": True}
        return {"field": "first", "type": "quantitative", "scale": scale, "axis": axis}

    def tooltip(self, fields: Sequence[str]) -> list[Spec]:
        """Return the tooltip that shows `fields` under their names."""
        return [{"field": field, "type": "nominal", "title": TOOLTIP_NAMES[field]} for field in fields]

    def _time_type(self) -> Spec:
        return {"type": "temporal"} if self.clock.has_start else {"type": "quantitative"}

    def _time_scale(self) -> Spec:
        return {"type": "utc"} if self.clock.has_start else {"zero": False}
