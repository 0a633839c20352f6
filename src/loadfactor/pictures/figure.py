"""One drawing for all media: the Vega-Lite specification of the pictures of one or several plans."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from loadfactor.pictures.clock import Clock
from loadfactor.pictures.curve_views import CurveViews
from loadfactor.pictures.curves import steps_per_column
from loadfactor.pictures.grid_view import GridView
from loadfactor.pictures.marks import Spec
from loadfactor.pictures.palette import Palette
from loadfactor.pictures.scene import MAX_BOXES, DrawnService, Scene
from loadfactor.pictures.wording import counted, headline

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
STATIC_WIDTH = 1000
MAX_GRID_PIXELS = 640
SERVICES_SHOWN = 8
NODE_LABEL_PIXELS = 14
STEP_LABEL_PIXELS = 40


def figure(
    scenes: Sequence[Scene], palette: Palette, width: int = STATIC_WIDTH, services: int = SERVICES_SHOWN
) -> Spec:
    """Return the specification that draws `scenes`, all of one problem, one below the other on one time axis.

    `width` is that of the grid in pixels, `services` how many services get a curve, those with the largest shortfall
    and then the largest demand first.
    """
    height = grid_pixels(scenes[0].gpu_count)
    columns = [_Column(scene, palette, width, height, services) for scene in scenes]
    drawing = (
        columns[0].views() if len(columns) == 1 else {"vconcat": [column.views() for column in columns], "spacing": 36}
    )
    return {
        "$schema": SCHEMA,
        "params": _params(scenes[0], columns[0].grid, width, height),
        **drawing,
        "config": _config(palette),
    }


def grid_pixels(gpu_count: int) -> int:
    """Return the height of the grid: 24 pixels a GPU where there are few, never more than fits a screen."""
    return max(60, min(24 * gpu_count, max(9 * gpu_count, 288), MAX_GRID_PIXELS))


class _Column:
    """The views of one plan, one below the other."""

    def __init__(self, scene: Scene, palette: Palette, width: int, height: int, services: int) -> None:
        self.scene = scene
        self.grid = GridView(scene, palette, width, height)
        self.curves = CurveViews(scene, palette, width)
        self.shown = _foremost(scene.services, services)

    def views(self) -> Spec:
        plan = self.scene.plan
        return {
            "title": {
                "text": f"{self.scene.problem.name}: {plan.policy}",
                "subtitle": [headline(self.scene), *self._notes()],
            },
            "vconcat": [self.grid.view(), self.curves.utilization(), *map(self.curves.service, self.shown)],
            "spacing": 10,
        }

    def _notes(self) -> list[str]:
        notes = []
        if self.scene.is_crowded:
            boxes = f"{self.scene.box_count:,} boxes are more than the {MAX_BOXES:,} that are drawn one by one"
            notes.append(f"{boxes}: each area is a group of GPUs and steps, the denser the busier")
        if (columns := steps_per_column(self.scene.steps)) > 1:
            notes.append(f"curves are means over {columns} steps")
        if hidden := len(self.scene.services) - len(self.shown):
            notes.append(f"{counted(hidden, 'service')} without a curve below, none with a larger shortfall")
        return notes


def _foremost(services: Sequence[DrawnService], count: int) -> list[DrawnService]:
    ranked = sorted(services, key=lambda drawn: (-int(drawn.shortfall.sum()), -int(drawn.demand.max())))
    return sorted(ranked[:count], key=lambda drawn: drawn.index)


def _params(scene: Scene, grid: GridView, width: int, height: int) -> list[Spec]:
    clock = Clock(scene.problem.horizon)
    cluster = scene.problem.cluster
    offsets = cluster.node_offsets
    levels = _halved([(first + until) / 2 for first, until in pairwise(offsets)])
    values = {
        "x_domain": [clock.position(0), clock.position(scene.steps)],
        "y_domain": [0, scene.gpu_count],
        "plot_width": width,
        "grid_height": height,
        "node_names": [node.name for node in cluster.nodes],
        "node_levels": levels,
        "legend_keys": [key for key, _, _ in grid.entries()],
        "legend_names": [name for _, name, _ in grid.entries()],
    }
    step = clock.position(1) - clock.position(0)
    nodes_seen = f"{len(cluster.nodes)} * (y_domain[1] - y_domain[0]) / {scene.gpu_count}"
    expressions = {
        "node_level": f"clamp(ceil(log({nodes_seen} * {NODE_LABEL_PIXELS} / grid_height) / LN2), 0, {len(levels) - 1})",
        "raw_stride": f"max(1, (x_domain[1] - x_domain[0]) / {step} * {STEP_LABEL_PIXELS} / plot_width)",
        "stride_base": "pow(10, floor(log(raw_stride) / LN10))",
        "stride_excess": "raw_stride / stride_base",
        "step_stride": "stride_base * (stride_excess <= 1 ? 1 : stride_excess <= 2 ? 2 : stride_excess <= 5 ? 5 : 10)",
    }
    return [
        *({"name": name, "value": value} for name, value in values.items()),
        *({"name": name, "expr": expression} for name, expression in expressions.items()),
    ]


def _halved(values: list[float]) -> list[list[float]]:
    """Return `values`, every second of them, every fourth and so on, for axes that show fewer the farther one is."""
    levels = [values]
    while len(levels[-1]) > 1:
        levels.append(levels[-1][::2])
    return levels


def _config(palette: Palette) -> Spec:
    axis = {"labelColor": palette.muted, "titleColor": palette.muted, "titleFontWeight": "normal", "labelFontSize": 10}
    title = {"color": palette.text, "subtitleColor": palette.muted, "fontSize": 15, "subtitleFontSize": 12}
    return {
        "background": palette.surface,
        "font": FONT,
        "axis": axis,
        "title": {**title, "anchor": "start", "subtitlePadding": 4, "offset": 8},
        "legend": {"labelColor": palette.text, "labelFontSize": 11, "symbolSize": 130},
        "aria": False,
    }
