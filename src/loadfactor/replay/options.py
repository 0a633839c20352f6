"""A recipe of a replay from the options of a command, alone or laid over a recipe document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loadfactor.errors import Fault, InputError
from loadfactor.model import read_document
from loadfactor.replay.recipe import ReplayRecipe
from loadfactor.sources import sample_directory
from loadfactor.sources.clusters import is_spec

_PLACES = {
    "block_sizes": "block_sizes",
    "load": "load",
    "jobs_share": "sample",
    "peak_share": "peak_share",
    "first_day": "first_day",
    "days": "days",
    "run_times": "knowledge.run_times",
    "forecast": "knowledge.forecast",
    "iterations": "iterations",
    "seed": "seed",
}
"""Where each plain option goes in a recipe's document."""


def sample_replay() -> Path:
    """Return the recipe of the week that the package ships."""
    return sample_directory() / "replay.yaml"


def recipe_of(recipe: str | None, options: Mapping[str, Any]) -> ReplayRecipe:
    """Return the recipe that `options` describe, laid over the document `recipe` where one is given.

    Files named by options are relative to the working directory. Raises `InputError` with every fault at once.
    """
    document, directory = read_base(recipe)
    for name, place in _PLACES.items():
        if options.get(name) is not None:
            put(document, place, options[name])
    if options.get("cluster") is not None:
        text = options["cluster"]
        document["cluster"] = text if is_spec(text) else str(Path(text).absolute())
    if options.get("policies") is not None:
        document["policies"] = names_in(options["policies"])
    if options.get("jobs"):
        document["jobs"] = _logs("--jobs", options["jobs"], options.get("jobs_preset") or ())
    if options.get("demand"):
        document["services"] = _logs("--demand", options["demand"], options.get("demand_preset") or ("servegen",))
        for number, service in enumerate(document["services"], start=1):
            service["id"] = f"service-{number}"
    return ReplayRecipe.from_document(document, directory)


def read_base(recipe: str | None) -> tuple[dict[str, Any], Path]:
    """Return the document of a recipe, to be changed, and the directory that its files are relative to."""
    if recipe is None:
        return {}, Path()
    document = read_document(recipe)
    if not isinstance(document, Mapping):
        raise InputError.of(recipe, "is no mapping of fields", "see docs/replay.md for a recipe")
    return dict(document), Path() if recipe == "-" else Path(recipe).parent


def put(document: dict[str, Any], place: str, value: Any) -> None:
    """Put `value` at the dotted `place`, leaving the mappings that are shared with others as they are."""
    *parts, last = place.split(".")
    for part in parts:
        inner = document.get(part)
        document[part] = dict(inner) if isinstance(inner, Mapping) else {}
        document = document[part]
    document[last] = value


def names_in(text: str) -> list[str]:
    """Return the names in `text`, which are joined by commas."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError.of("--policies", f"{text!r} has an empty name", "write it as priority+peak,fast")
    return names


def _logs(option: str, names: Sequence[str], presets: Sequence[str]) -> list[dict[str, Any]]:
    """Return a part of the recipe for every file; one preset serves all, more are dealt out in order."""
    if len(presets) not in (1, len(names)):
        remedy = f"give {option}-preset once for all files, or once for each of them"
        raise InputError([Fault(f"{option}-preset", f"{len(presets)} for {len(names)} files", remedy)])
    dealt = list(presets) * (len(names) if len(presets) == 1 else 1)
    return [
        {"file": str(Path(name).absolute()), "preset": preset}
        | ({"prefix": f"{number}-"} if option == "--jobs" and len(names) > 1 else {})
        for number, (name, preset) in enumerate(zip(names, dealt, strict=True), start=1)
    ]
