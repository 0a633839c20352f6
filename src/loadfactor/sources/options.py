"""A recipe from the options of a command, alone or laid over a recipe document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

import yaml

from loadfactor.errors import Fault, InputError
from loadfactor.model import read_document
from loadfactor.model.documents import STANDARD_INPUT
from loadfactor.sources.clusters import is_spec
from loadfactor.sources.recipe import ProblemRecipe

_SERVICE_SHORTHANDS = {
    "requests": "throughput.requests",
    "input_tokens": "throughput.input_tokens",
    "output_tokens": "throughput.output_tokens",
    "zone": "format.zone",
}


class RecipeOptions(TypedDict, total=False):
    """What a command may state, as text where a command line carries text; None stands for what is not stated.

    `cluster` is a line such as 16x8:H100-80GB or a file, `columns` is `id=job_id,submit=time`, `priorities` `1,2,4,8`,
    `kinds` shares such as `training=0.6,batch_inference=0.4`. Each of `services` is
    `id=chat,file=demand.csv,preset=servegen,day=2,requests=12,priority=8`, where a dot reaches into a part
    (`format.columns.rate=rps`). Without jobs, `day` is that of every service that states none.
    """

    recipe: str | Path | None
    name: str | None
    seed: int | None
    cluster: str | None
    block_sizes: str | None
    jobs: str | Path | None
    preset: str | None
    columns: str | None
    zone: str | None
    day: str | None
    day_zone: str | None
    priorities: str | None
    kinds: str | None
    max_jobs: int | None
    scale_gpus: float | None
    scale_duration: float | None
    duration_unit: str | None
    services: Sequence[str]
    step_minutes: float | None
    steps: int | None
    finish_inside: bool | None


def recipe_from_options(**options: Unpack[RecipeOptions]) -> ProblemRecipe:
    """Return the recipe that the options describe, laid over the document `recipe` where one is given.

    Files named by options are relative to the working directory, those in the document to it. Raises `InputError` with
    every fault at once.
    """
    recipe = options.get("recipe")
    document = _base(recipe)
    if services := options.get("services"):
        document["services"] = [_service(text) for text in services]
    for option, value in options.items():
        if option in _PLACES and value is not None:
            place, read = _PLACES[option]
            _put(document, place, read(value))
    _pass_day_to_services(document)
    directory = Path() if recipe is None or str(recipe) == STANDARD_INPUT else Path(recipe).parent
    return ProblemRecipe.from_document(document, directory)


def parse_pairs(text: str, path: str) -> dict[str, str]:
    """Return the mapping in `a=b,c=d`; raise `InputError` naming `path` for a part that is no pair or comes twice."""
    pairs = [part.partition("=") for part in text.split(",")]
    remedy = "write NAME=VALUE, joined by commas"
    faults = [
        Fault(path, f"{key + equals + value!r} is no pair", remedy)
        for key, equals, value in pairs
        if not (equals and key.strip() and value.strip())
    ]
    names = [key.strip() for key, _, _ in pairs]
    repeated = sorted({name for name in names if names.count(name) > 1})
    faults += [Fault(path, f"{name!r} appears twice", "name it once") for name in repeated]
    if faults:
        raise InputError(faults)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _base(recipe: str | Path | None) -> dict[str, Any]:
    if recipe is None:
        return {}
    document = read_document(recipe)
    if not isinstance(document, Mapping):
        raise InputError.of(str(recipe), "is no mapping of fields", "see docs/real-input.md for a recipe")
    return dict(document)


def _put(document: dict[str, Any], place: str, value: Any) -> None:
    """Put `value` at the dotted `place`, leaving the mappings that are shared with others as they are."""
    *parts, last = place.split(".")
    for part in parts:
        inner = document.get(part)
        document[part] = dict(inner) if isinstance(inner, Mapping) else {}
        document = document[part]
    document[last] = value


def _pass_day_to_services(document: dict[str, Any]) -> None:
    jobs = document.get("jobs")
    if isinstance(jobs, dict) and set(jobs) == {"day"}:
        document["services"] = [{**jobs, **service} for service in document.get("services", ())]
        del document["jobs"]


def _plain(value: Any) -> Any:
    return value


def _file(value: str | Path) -> str:
    return str(Path(value).absolute())


def _cluster(text: str) -> str:
    return text if is_spec(text) else _file(text)


def _numbers(text: str) -> list[Any]:
    return [_scalar(part) for part in text.split(",")]


def _shares(text: str) -> dict[str, Any]:
    return {kind: _scalar(share) for kind, share in parse_pairs(text, "--kinds").items()}


def _scalar(text: str) -> Any:
    """Return a number, a date or true and false where `text` reads as one in YAML, else the text itself."""
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return text
    return text if isinstance(value, list | dict) or value is None else value


def _service(text: str) -> dict[str, Any]:
    service: dict[str, Any] = {}
    for key, value in parse_pairs(text, "--service").items():
        *parts, last = _SERVICE_SHORTHANDS.get(key, key).split(".")
        target = service
        for part in parts:
            target = target.setdefault(part, {})
            if not isinstance(target, dict):
                raise InputError.of("--service", f"{part!r} is both a value and a part", "name it in one way")
        is_text = last in {"id", "file", "preset", "zone", "day_zone"} or ("columns" in parts and value != "null")
        target[last] = value if is_text else None if value == "null" else _scalar(value)
    if "file" in service:
        service["file"] = _file(service["file"])
    return service


# Where each option goes in a recipe's document, and how its text is read.
_PLACES: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "name": ("name", _plain),
    "seed": ("seed", _plain),
    "cluster": ("cluster", _cluster),
    "block_sizes": ("block_sizes", _plain),
    "jobs": ("jobs.file", _file),
    "preset": ("jobs.preset", _plain),
    "columns": ("jobs.format.columns", lambda text: parse_pairs(text, "--columns")),
    "zone": ("jobs.format.zone", _plain),
    "duration_unit": ("jobs.format.duration_unit", _scalar),
    "day": ("jobs.day", _scalar),
    "day_zone": ("jobs.day_zone", _plain),
    "priorities": ("jobs.priorities", _numbers),
    "kinds": ("jobs.kinds", _shares),
    "max_jobs": ("jobs.max_jobs", _plain),
    "scale_gpus": ("jobs.scale_gpus", _plain),
    "scale_duration": ("jobs.scale_duration", _plain),
    "step_minutes": ("horizon.step_minutes", _plain),
    "steps": ("horizon.steps", _plain),
    "finish_inside": ("horizon.finish_inside", _plain),
}
