"""A recipe from the options of a command, alone or laid over a recipe document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from loadfactor.errors import Fault, InputError
from loadfactor.model import read_document
from loadfactor.sources.clusters import is_spec
from loadfactor.sources.recipe import ProblemRecipe

_SERVICE_SHORTHANDS = {
    "requests": "throughput.requests",
    "input_tokens": "throughput.input_tokens",
    "output_tokens": "throughput.output_tokens",
    "zone": "format.zone",
}


def recipe_from_options(
    *,
    recipe: str | Path | None = None,
    name: str | None = None,
    seed: int | None = None,
    cluster: str | None = None,
    block_sizes: str | None = None,
    jobs: str | Path | None = None,
    preset: str | None = None,
    columns: str | None = None,
    zone: str | None = None,
    day: str | None = None,
    day_zone: str | None = None,
    priorities: str | None = None,
    kinds: str | None = None,
    max_jobs: int | None = None,
    scale_gpus: float | None = None,
    scale_duration: float | None = None,
    duration_unit: str | None = None,
    services: Sequence[str] = (),
    step_minutes: float | None = None,
    steps: int | None = None,
    finish_inside: bool | None = None,
) -> ProblemRecipe:
    """Return the recipe that the options describe, laid over the document `recipe` where one is given.

    Texts are as a command line carries them: `cluster` a line such as 16x8:H100-80GB or a file; `columns`
    `id=job_id,submit=time`; `priorities` `1,2,4,8`; `kinds` `training=0.6,batch_inference=0.4` (shares); each of
    `services` `id=chat,file=demand.csv,preset=servegen,day=2,requests=12,priority=8`, where a dot reaches into a part
    (`format.columns.rate=rps`). Files named here are relative to the working directory, those in the document to it.
    Raises `InputError` with every fault at once.
    """
    document = _base(recipe)
    document |= _given(name=name, seed=seed, cluster=_cluster(cluster), block_sizes=block_sizes)
    _lay_over(document, "horizon", _given(step_minutes=step_minutes, steps=steps, finish_inside=finish_inside))
    form = _given(
        zone=zone,
        columns=_maybe(columns, "--columns"),
        duration_unit=None if duration_unit is None else _scalar(duration_unit),
    )
    chosen = _given(
        file=None if jobs is None else str(Path(jobs).absolute()),
        preset=preset,
        format=form or None,
        day=None if day is None else _scalar(day),
        day_zone=day_zone,
        priorities=None if priorities is None else [_scalar(part) for part in priorities.split(",")],
        kinds=None if kinds is None else {key: _scalar(text) for key, text in parse_pairs(kinds, "--kinds").items()},
        max_jobs=max_jobs,
        scale_gpus=scale_gpus,
        scale_duration=scale_duration,
    )
    if services:
        document["services"] = [_service(text) for text in services]
    if "day" in chosen and jobs is None and "jobs" not in document:
        asked = {"day": chosen.pop("day")}
        document["services"] = [{**asked, **service} for service in document.get("services", ())]
    _lay_over(document, "jobs", chosen)
    directory = Path() if recipe is None or str(recipe) == "-" else Path(recipe).parent
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


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _lay_over(document: dict[str, Any], part: str, given: dict[str, Any]) -> None:
    if not given:
        return
    base = document.get(part)
    if not isinstance(base, Mapping):
        document[part] = given
        return
    merged = {**base, **given}
    if isinstance(base.get("format"), Mapping) and "format" in given:
        merged["format"] = {**base["format"], **given["format"]}
    document[part] = merged


def _cluster(text: str | None) -> str | None:
    return text if text is None or is_spec(text) else str(Path(text).absolute())


def _maybe(text: str | None, path: str) -> dict[str, str] | None:
    return None if text is None else parse_pairs(text, path)


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
        is_text = last in {"id", "file", "preset", "zone", "day_zone"} or "columns" in parts
        target[last] = value if is_text else _scalar(value)
    if "file" in service:
        service["file"] = str(Path(service["file"]).absolute())
    return service
