"""The picture as SVG and PNG: everything is on it, nothing in it is active, and it follows the schema of Vega-Lite."""

from __future__ import annotations

import json
import struct
from typing import Any
from xml.etree import ElementTree

import pytest

from loadfactor.model import Plan
from loadfactor.pictures import png_picture, svg_picture
from loadfactor.pictures.figure import figure
from loadfactor.pictures.palette import DARK, LIGHT, VARIABLES, Palette
from loadfactor.pictures.scene import MAX_BOXES, scene_of

from .examples import SMALL, made_up, small_plan, small_problem

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def svg() -> str:
    return svg_picture(small_problem(), small_plan())


def texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own document
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def test_every_placed_job_service_and_node_is_named(svg: str) -> None:
    shown = texts(svg)
    names = {placement.id for placement in small_plan().jobs} | {"chat", "search", "node-0", "node-1"}
    assert names <= set(shown)
    assert "too-big" not in shown


def test_shortfall_unavailable_and_clock_are_marked(svg: str) -> None:
    shown = texts(svg)
    assert "chat · shortfall 4 GPU-steps (red)" in shown
    assert svg.count(LIGHT.shortfall.fill) == 4, "an area for each service, one title, the legend"
    assert LIGHT.unavailable.ink in svg
    assert "12:00" in " ".join(shown)
    assert any(text.startswith("utilization 60.0 %") for text in shown)


def test_svg_holds_nothing_active_or_remote() -> None:
    name = "<script>alert(1)</script>"
    jobs = [{**SMALL["jobs"][0], "id": name}]
    placed = [{"id": name, "start": 0, "end": 20, "gpus": [0, 1, 2, 3]}]
    problem = small_problem(name='"><img src=x onerror=alert(1)>', jobs=jobs, services=[])
    svg = svg_picture(problem, Plan.from_document({"problem": "p", "policy": "</text>&", "jobs": placed}))
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own document
    assert name in texts(svg)
    kinds = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert kinds <= {"svg", "g", "path", "text", "tspan", "line", "rect", "defs", "clipPath", "title", "desc"}
    assert not [
        key for element in root.iter() for key in element.attrib if key.startswith("on") or key.endswith("href")
    ]


def test_png_is_as_large_as_the_scale_says() -> None:
    small, large = (png_picture(small_problem(), small_plan(), scale=scale) for scale in (1.0, 2.0))
    assert small[:8] == large[:8] == b"\x89PNG\r\n\x1a\n"
    sizes = [struct.unpack(">II", image[16:24]) for image in (small, large)]
    assert sizes[0][0] > 1000
    for one, two in zip(*sizes, strict=True):
        assert abs(two - 2 * one) <= 2


def test_a_crowded_plan_is_drawn_in_groups_and_says_so() -> None:
    problem, plan = made_up(1280, 100, 20, 96)
    everyone = tuple(
        each.model_copy(update={"gpus": tuple(held[step % 2 :: 2] for step, held in enumerate(each.gpus))})
        for each in plan.services
    )
    scene = scene_of(problem, plan.model_copy(update={"services": everyone}))
    assert scene.box_count > MAX_BOXES
    spec = json.dumps(figure([scene], LIGHT))
    assert f"{scene.box_count:,} boxes are more than" in spec
    assert len(spec) < 4_000_000


def test_a_long_horizon_averages_its_curves_and_says_so() -> None:
    assert "curves are means over 17 steps" in json.dumps(figure([scene_of(*made_up(1, 5, 1, 10_000))], LIGHT))


@pytest.mark.parametrize("plans", [1, 2])
@pytest.mark.parametrize("start", ["2026-12-01T00:00:00Z", None])
def test_the_drawing_is_valid_vega_lite(plans: int, start: str | None) -> None:
    altair = pytest.importorskip("altair", reason="Altair brings the schema of Vega-Lite")
    spec: dict[str, Any] = figure([scene_of(*made_up(3, 9, 2, 30, start=start))] * plans, LIGHT)
    altair.VConcatChart.from_dict(spec)


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_labels_can_be_read_on_every_area(palette: Palette) -> None:
    """The contrast ratio of WCAG 2.2, section 1.4.3: at least 4.5 to 1 for text of this size."""
    paints = [palette.shortfall, *palette.kinds.values(), *palette.services]
    worst = min(contrast(paint.fill, paint.ink) for paint in paints)
    assert worst >= 4.5
    assert contrast(palette.surface, palette.muted) >= 4.5


def test_the_palette_of_the_page_names_every_role() -> None:
    roles = dict(LIGHT.roles())
    assert dict(DARK.roles()).keys() == roles.keys()
    assert {value.removeprefix("var(--").removesuffix(")") for _, value in VARIABLES.roles()} == roles.keys()


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return float(0.2126 * red + 0.7152 * green + 0.0722 * blue)
