"""Sweeps: one recipe in many variants, every variant under every policy, spread over processes, and resumable.

Results are lines of JSON, one for each point, appended as they come. A point is known by its policy and everything in
its recipe, so whoever runs a sweep again with the same file runs only the points that are missing, and after a change
of the recipe all of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from loadfactor.errors import Fault, InputError
from loadfactor.replay.build import build_scenario
from loadfactor.replay.options import put
from loadfactor.replay.recipe import ReplayRecipe
from loadfactor.replay.report import outcome_of

MOST_POINTS = 100_000
Result = dict[str, Any]
Runner = Callable[[Sequence["Point"]], Iterator[Result]]
"""Runs points, and yields their results in the order in which they are done."""


@dataclass(frozen=True)
class Point:
    """One variant under one policy: the recipe as a document, its directory, and what was varied in it.

    `key` is what the point is known by.
    """

    document: Mapping[str, Any]
    directory: str
    policy: str
    varied: Mapping[str, Any]
    key: str

    def recipe(self) -> ReplayRecipe:
        """Return the recipe of the variant; raise `InputError` where it is none."""
        return ReplayRecipe.from_document(self.document, Path(self.directory))


def parse_variation(text: str) -> tuple[str, list[Any]]:
    """Return the field and its values in `load=1.0,1.4`; a dot reaches into a part (`knowledge.quantile=0.8,0.95`)."""
    field, equals, values = text.partition("=")
    parts = [part.strip() for part in values.split(",")]
    if not (field.strip() and equals and all(parts)):
        raise InputError.of("--vary", f"{text!r} names no field with values", "write it as load=1.0,1.4,1.8")
    read = [_scalar(part) for part in parts]
    if len(set(map(repr, read))) < len(read):
        raise InputError.of("--vary", f"{text!r} has a value twice", "name it once")
    return field.strip(), read


def points_of(document: Mapping[str, Any], directory: Path, variations: Mapping[str, Sequence[Any]]) -> list[Point]:
    """Return every combination of the variations under every policy; each is checked before any is run.

    Raises `InputError` where a variant is no recipe, and where there are more than MOST_POINTS points.
    """
    count = 1
    for values in variations.values():
        count *= len(values)
    if count > MOST_POINTS:
        raise InputError.of("--vary", f"{count:,} variants, and at most {MOST_POINTS:,} are run", "vary less at once")
    points = []
    for values in product(*variations.values()):
        varied = dict(zip(variations, values, strict=True))
        variant: dict[str, Any] = dict(document)
        for place, value in varied.items():
            put(variant, place, value)
        recipe = ReplayRecipe.from_document(variant, directory)
        points += [Point(variant, str(directory), policy, varied, _key(recipe, policy)) for policy in recipe.policies]
    return points


def run_point(point: Point) -> Result:
    """Replay one point; return its key, its measures, and how long it took."""
    measures = outcome_of(build_scenario(point.recipe()), point.policy).measures
    document = measures.to_document()
    timing = document.pop("timing")
    return {
        "key": point.key,
        "varied": dict(point.varied),
        "policy": point.policy,
        "measures": document,
        "timing": timing,
    }


def read_results(path: Path, points: Sequence[Point]) -> dict[str, Result]:
    """Return the results in the file that belong to `points`, by key; a line cut off at the end is none.

    Raises `InputError` for a line in the middle that is no result, and where the file has results but none of these.
    """
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    results: dict[str, Result] = {}
    for number, line in enumerate(lines, start=1):
        result = _read_line(line)
        if result is not None:
            results[result["key"]] = result
        elif line.strip() and number < len(lines):  # only a line without its newline can have been cut off
            fact = "is no line of a sweep"
            raise InputError.of(f"{path.name}:{number}", fact, "name another --output, or remove the line")
    wanted = {point.key for point in points}
    if results and not wanted & results.keys():
        fact = f"{path.name!r} has {len(results)} results, and none is of this sweep"
        raise InputError.of("--output", fact, "name another file")
    return {key: result for key, result in results.items() if key in wanted}


def run_sweep(
    points: Sequence[Point], path: Path, runner: Runner, progress: Callable[[int, int], None] | None = None
) -> list[Result]:
    """Run the points that the file does not have yet, append each result when it is there, and return all in order.

    `progress` is told how many points are done, and how many there are.
    """
    known = read_results(path, points)
    missing = [point for point in points if point.key not in known]
    _end_last_line(path)
    if progress is not None:
        progress(len(known), len(points))
    with path.open("a", encoding="utf-8") as file:
        for result in runner(missing) if missing else ():
            file.write(json.dumps(result, sort_keys=True) + "\n")
            file.flush()
            known[result["key"]] = result
            if progress is not None:
                progress(len(known), len(points))
    return [known[point.key] for point in points]


def _end_last_line(path: Path) -> None:
    """Cut off what a line without its newline left at the end of the file."""
    if not path.exists():
        return
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(content.rfind(b"\n") + 1)


def _read_line(line: str) -> Result | None:
    try:
        result = json.loads(line)
    except ValueError:
        return None
    fields = {"key", "varied", "policy", "measures", "timing"}
    return result if isinstance(result, dict) and fields <= result.keys() else None


def _key(recipe: ReplayRecipe, policy: str) -> str:
    chosen = recipe.model_dump_json(exclude={"policies"})
    return f"{policy} {sha256(chosen.encode()).hexdigest()[:24]}"


def _scalar(text: str) -> Any:
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    if isinstance(value, list | dict) or value is None:
        raise InputError([Fault("--vary", f"{text!r} is no plain value", "write numbers or words, joined by commas")])
    return value
