"""The views under the grid: utilization over time, and demand against holdings for each service."""

from __future__ import annotations

from loadfactor.pictures.clock import Clock
from loadfactor.pictures.marks import Marks, Spec
from loadfactor.pictures.palette import Palette
from loadfactor.pictures.rows import Rows
from loadfactor.pictures.scene import DrawnService, Scene
from loadfactor.pictures.wording import counted, number

STRIP_PIXELS = 44
SERVICE_PIXELS = 48


class CurveViews:
    """Builds the views of one plan that share the time axis of its grid."""

    def __init__(self, scene: Scene, palette: Palette, width: int) -> None:
        self.scene = scene
        self.palette = palette
        self.rows = Rows(scene)
        self.marks = Marks(Clock(scene.problem.horizon), palette)
        self.width = width

    def utilization(self) -> Spec:
        """Return the strip that shows which share of the available GPUs works, jobs below and services above."""
        fields = ["jobs_text", "serving_text", "total_text", "steps", "clock"]
        layers = [
            self._area("total", None, self.palette.muted, opacity=0.4),
            self._area("jobs", None, self.palette.muted, opacity=0.7),
            self._hover(fields),
        ]
        title = "Utilization of the available GPUs: jobs below, services above"
        axis = {"values": [0, 0.5, 1], "format": "%"}
        return self._view(self.rows.utilization(), layers, title, axis, 1.0, STRIP_PIXELS)

    def service(self, drawn: DrawnService) -> Spec:
        """Return demand against holdings of a service: met in its hue, idle pale, shortfall red."""
        fields = ["title", "demand", "held", "shortfall", "steps", "clock"]
        hue = self.palette.service(drawn.index)
        layers = [
            self._area("held", None, hue.fill, opacity=0.45),
            self._area("served", None, hue.fill),
            self._area("needed", "served", self.palette.shortfall.fill),
            self._line("demand", hue.ink),
            self._hover(fields),
        ]
        peak = max(1, int(drawn.demand.max()), int(drawn.held.max()))
        axis = {"values": [0, peak], "format": ",d"}
        return self._view(self.rows.curve(drawn), layers, self._title(drawn), axis, float(peak), SERVICE_PIXELS)

    def _title(self, drawn: DrawnService) -> Spec:
        shortfall = int(drawn.shortfall.sum())
        facts = f"priority {number(drawn.service.priority)} · demand line, held area"
        lacking = f"shortfall {counted(shortfall, 'GPU-step')} (red)"
        return {
            "text": drawn.service.id + (f" · {lacking}" if shortfall else f" · {facts} · no shortfall"),
            "color": self.palette.shortfall.fill if shortfall else self.palette.muted,
        }

    def _view(
        self, rows: list[dict[str, object]], layers: list[Spec], title: Spec | str, axis: Spec, top: float, height: int
    ) -> Spec:
        text = title if isinstance(title, dict) else {"text": title, "color": self.palette.muted}
        value_axis = {"title": None, "grid": False, "domain": False, "ticks": False, "labelFontSize": 9, **axis}
        scale = {"domain": [0, top], "nice": False}
        return {
            "width": self.width,
            "height": height,
            "title": {
                "anchor": "start",
                "fontSize": 11,
                "fontWeight": "normal",
                "offset": 3,
                "frame": "group",
                "limit": self.width,
                **text,
            },
            "view": {"stroke": self.palette.rule},
            "data": {"values": rows},
            "encoding": {
                "x": self.marks.time(self.marks.clock_axis(labels=False)),
                "y": {"type": "quantitative", "scale": scale, "axis": value_axis},
            },
            "layer": layers,
        }

    def _area(self, high: str, low: str | None, fill: str, opacity: float = 1.0) -> Spec:
        """Return the stepped area between the fields `low` (or zero) and `high`."""
        return {
            "mark": {
                "type": "area",
                "interpolate": "step-after",
                "clip": True,
                "fill": fill,
                "opacity": opacity,
                "tooltip": None,
            },
            "encoding": {"y": {"field": high, "type": "quantitative"}, "y2": {"field": low} if low else {"datum": 0}},
        }

    def _line(self, field: str, stroke: str) -> Spec:
        return {
            "mark": {
                "type": "line",
                "interpolate": "step-after",
                "clip": True,
                "stroke": stroke,
                "strokeWidth": 1.4,
                "tooltip": None,
            },
            "encoding": {"y": {"field": field, "type": "quantitative"}},
        }

    def _hover(self, fields: list[str]) -> Spec:
        """Return what answers the pointer: an invisible box over the whole height for each stretch of the curve."""
        return {
            "mark": {"type": "rect", "clip": True, "opacity": 0},
            "encoding": {
                "x2": {"field": "until"},
                "y": {"value": 0},
                "y2": {"value": "height"},
                "tooltip": self.marks.tooltip(fields),
            },
        }
