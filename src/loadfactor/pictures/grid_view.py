"""The grid as a Vega-Lite view: nodes, jobs, services and unavailable cells over time."""

from __future__ import annotations

from typing import Any

from loadfactor.pictures.clock import Clock
from loadfactor.pictures.marks import Marks, Spec
from loadfactor.pictures.palette import KIND_NAMES, KINDS, Paint, Palette
from loadfactor.pictures.rows import JOB_KEY, SERVICE_KEY, SERVICES_KEY, UNAVAILABLE_KEY, Rows
from loadfactor.pictures.scene import Scene

MAX_NUMBERED_GPUS = 64
LABEL_FONT_PIXELS = 11

# Where a box lies in pixels under the present zoom, cut to what can be seen of it.
_LEFT = "max(0, plot_width * (datum.from - x_domain[0]) / (x_domain[1] - x_domain[0]))"
_RIGHT = "min(plot_width, plot_width * (datum.until - x_domain[0]) / (x_domain[1] - x_domain[0]))"
_TOP = "max(0, grid_height * (datum.first - y_domain[0]) / (y_domain[1] - y_domain[0]))"
_BOTTOM = "min(grid_height, grid_height * (datum.until_gpu - y_domain[0]) / (y_domain[1] - y_domain[0]))"
_GPU_PIXELS = "grid_height / (y_domain[1] - y_domain[0])"


class GridView:
    """Builds the view of one plan's grid."""

    def __init__(self, scene: Scene, palette: Palette, width: int, height: int) -> None:
        self.scene = scene
        self.palette = palette
        self.rows = Rows(scene)
        self.marks = Marks(Clock(scene.problem.horizon), palette)
        self.width = width
        self.height = height

    def view(self) -> Spec:
        """Return the view; its size follows the parameters `plot_width` and `grid_height`."""
        return {
            "width": self.width,
            "height": self.height,
            "view": {"stroke": self.palette.node_rule, "fill": self.palette.surface},
            "layer": [
                self._bands(),
                self._node_rules(),
                *self._unavailable(),
                *([self._groups()] if self.scene.is_crowded else [self._services(), self._jobs(), self._labels()]),
            ],
            "resolve": {"axis": {"x": "independent", "y": "independent"}},
        }

    def _bands(self) -> Spec:
        """Return every other node shaded, and with it the axes of nodes and steps."""
        nodes = self.rows.nodes()
        fill = self.palette.band if len(nodes) > 1 else self.palette.surface
        return {
            "data": {"values": nodes[1::2] or nodes},
            "mark": {"type": "rect", "clip": True, "fill": fill, "tooltip": None},
            "encoding": {
                **self.marks.spans(),
                "x": self.marks.time(self.marks.step_axis()),
                "y": self.marks.gpus(self._node_axis()),
            },
        }

    def _node_axis(self) -> Spec:
        """Return the axis of node names, as many of them as find room."""
        return {
            "orient": "left",
            "values": {"expr": "node_levels[node_level]"},
            "labelExpr": "node_names[indexof(node_levels[0], datum.value)]",
            "labelLimit": 110,
            "labelOverlap": "greedy",
            "labelColor": self.palette.text,
            "title": None,
            "grid": False,
            "ticks": False,
            "domain": False,
            "offset": 20 if self.scene.gpu_count <= MAX_NUMBERED_GPUS else 2,
        }

    def _unavailable(self) -> list[Spec]:
        paint = self.palette.unavailable
        step_pixels, gpu_pixels = self.width / self.scene.steps, self.height / self.scene.gpu_count
        area = self._area(self.rows.unavailable(), ["title", "what"], stroke=None)
        lines = {
            "data": {"values": self.rows.hatching(step_pixels, gpu_pixels)},
            "mark": {"type": "rule", "clip": True, "stroke": paint.ink, "strokeWidth": 0.8, "tooltip": None},
            "encoding": self.marks.spans(),
        }
        return [area, lines] if self.scene.unavailable else []

    def _services(self) -> Spec:
        fields = ["title", "kind", "priority", "gpus", "steps", "clock", "held", "demand", "shortfall"]
        layer = self._area(self.rows.services(), fields, stroke=None)
        # neighbouring boxes of a service overlap by a hair, or renderers leave a seam between them
        overlap = {"expr": f"{_GPU_PIXELS} < 4 ? 0 : 0.5"}
        layer["mark"] |= {"x2Offset": overlap, "y2Offset": overlap}
        return layer

    def _jobs(self) -> Spec:
        fields = ["title", "kind", "priority", "size", "gpus", "steps", "clock", "submit", "waited"]
        layer = self._area(self.rows.jobs(), fields, stroke=self.palette.surface)
        if self.scene.gpu_count <= MAX_NUMBERED_GPUS:
            layer["encoding"]["y"]["axis"] = self._gpu_axis()
        layer["encoding"]["x"]["axis"] = self.marks.clock_axis()
        return layer

    def _groups(self) -> Spec:
        """Return the layer of a crowded grid: groups of cells, each as dense as it is busy."""
        layer = self._area(self.rows.groups(), ["total_text", "gpus", "steps", "clock"], stroke=None)
        layer["encoding"]["x"]["axis"] = self.marks.clock_axis()
        shade = {"domain": [0, 1], "range": [0.1, 1]}
        layer["encoding"]["fillOpacity"] = {"field": "busy", "type": "quantitative", "scale": shade, "legend": None}
        return layer

    def _gpu_axis(self) -> Spec:
        return {
            "orient": "left",
            "values": [gpu + 0.5 for gpu in range(self.scene.gpu_count)],
            "labelExpr": "format(datum.value - 0.5, 'd')",
            "labelFontSize": 9,
            "labelOverlap": "parity",
            "labelSeparation": 2,
            "title": None,
            "grid": False,
            "ticks": False,
            "domain": False,
        }

    def _area(self, rows: list[dict[str, Any]], tooltip: list[str], stroke: str | None) -> Spec:
        """Return a layer of boxes; their outline vanishes where a GPU takes fewer than four pixels."""
        mark: Spec = {"type": "rect", "clip": True}
        if stroke:
            mark |= {"stroke": stroke, "strokeWidth": {"expr": f"{_GPU_PIXELS} < 4 ? 0 : 1"}}
        return {
            "data": {"values": rows},
            "mark": mark,
            "encoding": {
                **self.marks.spans(),
                "fill": {"field": "key", "type": "nominal", "scale": self._scale(), "legend": self._legend()},
                "tooltip": self.marks.tooltip(tooltip),
            },
        }

    def _labels(self) -> Spec:
        """Return the layer of ids, each in the middle of what can be seen of its box, and only where it fits."""
        width, height = f"({_RIGHT} - {_LEFT})", f"({_BOTTOM} - {_TOP})"
        return {
            "data": {"values": self.rows.labels()},
            "mark": {
                "type": "text",
                "clip": True,
                "tooltip": None,
                # an empty text costs nothing, a measured one does
                "text": {"expr": f"{width} < 24 || {height} < 8 ? '' : datum.label"},
                "fontSize": {"expr": f"min({LABEL_FONT_PIXELS}, 0.9 * {height})"},
                "baseline": "middle",
                "limit": {"expr": f"max(1, {width} - 6)"},
                "x": {"expr": f"({_LEFT} + {_RIGHT}) / 2"},
                "y": {"expr": f"({_TOP} + {_BOTTOM}) / 2"},
            },
            "encoding": {"color": {"field": "key", "type": "nominal", "scale": self._scale(ink=True), "legend": None}},
        }

    def _node_rules(self) -> Spec:
        return {
            "data": {"values": self.rows.nodes()[1:]},
            "mark": {
                "type": "rule",
                "clip": True,
                "stroke": self.palette.node_rule,
                "strokeWidth": {"expr": f"clamp({_GPU_PIXELS} / 8, 0.05, 1)"},
                "tooltip": None,
            },
            "encoding": {
                "x": self.marks.time(),
                "x2": {"field": "until"},
                "y": self.marks.gpus(),
            },
        }

    def _scale(self, *, ink: bool = False) -> Spec:
        paints = [paint for _, _, paint in self.entries()]
        return {
            "domain": [key for key, _, _ in self.entries()],
            "range": [paint.ink if ink else paint.fill for paint in paints],
        }

    def _legend(self) -> Spec:
        return {
            "title": None,
            "orient": "top",
            "direction": "horizontal",
            "columns": max(1, self.width // 110),
            "symbolType": "square",
            "symbolStrokeWidth": 0.7,
            "symbolStrokeColor": self.palette.node_rule,
            "labelExpr": "legend_names[indexof(legend_keys, datum.value)]",
            "labelLimit": 110,
        }

    def entries(self) -> list[tuple[str, str, Paint]]:
        """Return key, name and paint of everything that the legend explains."""
        kinds = {job.kind for job in self.scene.problem.jobs}
        entries = [(JOB_KEY + kind, KIND_NAMES[kind], self.palette.kinds[kind]) for kind in KINDS if kind in kinds]
        if self.scene.is_crowded and self.scene.services:
            entries.append((SERVICES_KEY, "Services", self.palette.service(0)))
        for drawn in () if self.scene.is_crowded else self.scene.services:
            key = f"{SERVICE_KEY}{drawn.index}"
            entries.append((key, drawn.service.id, self.palette.service(drawn.index)))
        if self.scene.unavailable:
            entries.append((UNAVAILABLE_KEY, "Unavailable", self.palette.unavailable))
        entries.append(("idle", "Idle", Paint(self.palette.surface, self.palette.muted)))
        if self.scene.services:
            entries.append(("shortfall", "Shortfall", self.palette.shortfall))
        return entries
