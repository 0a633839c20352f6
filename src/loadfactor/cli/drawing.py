"""Pictures of plans, into a file whose ending says of which kind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from loadfactor.cli.files import write_file

if TYPE_CHECKING:
    from loadfactor.model import Plan, Problem

PICTURE_SUFFIXES = (".svg", ".png", ".html")
PIXELS_OF_A_PIXEL = 2.0  # sharp on a dense screen


def draw(problem: Problem, plans: Sequence[Plan], option: str, target: str) -> None:
    """Draw the plans, all of one problem, into `target`; `option` is what asked for it."""
    suffix = Path(target).suffix.lower()
    write_file(option, target, _page(problem, plans) if suffix == ".html" else _still(problem, plans, suffix))


def _page(problem: Problem, plans: Sequence[Plan]) -> str:
    from loadfactor.pictures import html_picture

    names = ", ".join(plan.policy for plan in plans)
    return html_picture(problem, plans, f"{problem.name}: {names}")


def _still(problem: Problem, plans: Sequence[Plan], suffix: str) -> str | bytes:
    import vl_convert

    from loadfactor.pictures.figure import figure
    from loadfactor.pictures.palette import LIGHT
    from loadfactor.pictures.scene import scene_of

    specification = figure([scene_of(problem, plan) for plan in plans], LIGHT)
    if suffix == ".svg":
        return str(vl_convert.vegalite_to_svg(specification))
    return bytes(vl_convert.vegalite_to_png(specification, scale=PIXELS_OF_A_PIXEL))
