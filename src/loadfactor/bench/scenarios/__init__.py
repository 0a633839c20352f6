"""The seven scenarios that ship with the package: problem documents of our own making, each with a short text."""

from __future__ import annotations

from importlib import resources

from loadfactor.errors import Fault, InputError
from loadfactor.model import Problem, parse_document

SCENARIO_NAMES = (
    "mixed",
    "training-heavy",
    "inference-heavy",
    "batch-backlog",
    "quantization-burst",
    "slack",
    "scale",
)


def load_scenario(name: str) -> Problem:
    """Return the shipped problem of that name; raise `InputError` listing the names that exist."""
    return Problem.from_document(parse_document(scenario_source(name), name))


def scenario_source(name: str) -> str:
    """Return the YAML text of a scenario, as it is shipped."""
    if name not in SCENARIO_NAMES:
        known = ", ".join(SCENARIO_NAMES)
        raise InputError([Fault("scenario", f"{name!r} does not ship with loadfactor", f"choose one of {known}")])
    return resources.files(__name__).joinpath(f"{name}.yaml").read_text(encoding="utf-8")


def scenario_text(name: str) -> str:
    """Return what the scenario stands for: its title, then a short text."""
    lines = [line.removeprefix("# ") for line in scenario_source(name).splitlines() if line.startswith("# ")]
    return "\n".join(lines)
