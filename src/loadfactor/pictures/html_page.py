"""The picture of one or several plans as one HTML file that needs no network."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template

from loadfactor.errors import InputError
from loadfactor.model import Plan, Problem
from loadfactor.pictures.figure import figure
from loadfactor.pictures.marks import Spec
from loadfactor.pictures.palette import DARK, LIGHT, VARIABLES, Palette
from loadfactor.pictures.scene import Scene, scene_of
from loadfactor.pictures.tables import comparison_table, details
from loadfactor.pictures.wording import counted, headline

SERVICES_SHOWN = 24


def html_picture(problem: Problem, plans: Sequence[Plan], title: str) -> str:
    """Return a page that draws `plans`, all made for `problem`, with their metrics and placements as tables.

    The page is complete in itself: its Content-Security-Policy forbids every request and every script but its own.
    Raises `InputError` if there is no plan, or one that `problem` has no such jobs, services, GPUs or steps for.
    """
    if not plans:
        raise InputError.of("plans", "there is no plan to draw", "give at least one")
    scenes = [scene_of(problem, plan) for plan in plans]
    library, script = _library(), _page_file("script.js")
    return Template(_page_file("page.html")).substitute(
        title=escape(title),
        introduction=escape(_introduction(problem)),
        style=_style_sheet(),
        comparison=comparison_table(scenes),
        description=escape(_description(scenes)),
        plans=len(scenes),
        tables=details(scenes),
        specification=_inert_json(figure(scenes, VARIABLES, services=SERVICES_SHOWN)),
        library=library,
        script=script,
        script_hashes=" ".join(map(_hash_source, (library, script))),
    )


def _introduction(problem: Problem) -> str:
    cluster, horizon = problem.cluster, problem.horizon
    size = f"{counted(cluster.gpu_count, 'GPU')} in {counted(len(cluster.nodes), 'node')}"
    time = f"{counted(horizon.steps, 'step')} of {horizon.step_minutes:g} minutes"
    demand = f"{counted(len(problem.jobs), 'job')} and {counted(len(problem.services), 'service')}"
    return f"{problem.name}: {size}, {time}, {demand}."


def _description(scenes: Sequence[Scene]) -> str:
    told = "; ".join(f"{scene.plan.policy}: {headline(scene)}" for scene in scenes)
    return (
        f"Grid of GPUs and time, with utilization and demand curves below. {told}. Tables below say the same in text."
    )


@cache
def _library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub forgets that the snippet is optional
    return bundle


@cache
def _page_file(name: str) -> str:
    return (files("loadfactor.pictures") / "page" / name).read_text(encoding="utf-8")


def _style_sheet() -> str:
    dark = f"@media screen and (prefers-color-scheme: dark) {{ {_custom_properties(DARK)} }}"
    return "\n".join([_custom_properties(LIGHT), dark, _page_file("style.css")])


def _custom_properties(palette: Palette) -> str:
    return ":root { " + " ".join(f"--{name}: {colour};" for name, colour in palette.roles()) + " }"


def _inert_json(spec: Spec) -> str:
    """Return `spec` as JSON that cannot end the element that it stands in, whatever texts it holds."""
    text = json.dumps(spec, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash_source(script: str) -> str:
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
