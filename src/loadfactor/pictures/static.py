"""The picture of a plan as SVG and PNG, made without a browser."""

from __future__ import annotations

from loadfactor.model import Plan, Problem
from loadfactor.pictures.figure import figure
from loadfactor.pictures.palette import LIGHT
from loadfactor.pictures.scene import scene_of


def svg_picture(problem: Problem, plan: Plan) -> str:
    """Return the grid, utilization and services of `plan` as an SVG document.

    Raises `InputError` if the plan speaks of jobs, services, GPUs or steps that `problem` does not have.
    """
    import vl_convert

    return vl_convert.vegalite_to_svg(figure([scene_of(problem, plan)], LIGHT))


def png_picture(problem: Problem, plan: Plan, scale: float = 2.0) -> bytes:
    """Return the same picture as a PNG image, `scale` device pixels to a pixel of the SVG."""
    import vl_convert

    return vl_convert.vegalite_to_png(figure([scene_of(problem, plan)], LIGHT), scale=scale)
