"""The arguments and options that several commands share."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Annotated

import typer

from loadfactor.errors import InputError

LARGEST_SEED = 2**31 - 1  # the exact solver's seed is a 32-bit integer


class Format(StrEnum):
    """How a command prints its answer."""

    TABLE = "table"
    JSON = "json"


def positive(text: str | float) -> float:
    """Return the number in `text`, which must be finite and above 0."""
    try:
        number = float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None
    if not (number > 0 and math.isfinite(number)):
        raise typer.BadParameter(f"{text} is not a finite number above 0")
    return number


ProblemArgument = Annotated[
    str, typer.Argument(metavar="PROBLEM", help="Problem document (JSON or YAML); - reads standard input.")
]
PolicyOption = Annotated[str, typer.Option("--policy", help="Who makes the plan; see `loadfactor policies`.")]
BudgetOption = Annotated[
    float, typer.Option("--budget-ms", parser=positive, metavar="MS", help="Milliseconds that `fast` may search.")
]
IterationsOption = Annotated[
    int | None,
    typer.Option("--iterations", min=1, help="Search steps of `fast` instead of a time: the same plan every time."),
]
TimeLimitOption = Annotated[
    float, typer.Option("--time-limit", parser=positive, metavar="SECONDS", help="Seconds that `full` may search.")
]
SeedOption = Annotated[
    int, typer.Option("--seed", min=0, max=LARGEST_SEED, help="Seed of everything random in the search.")
]
FormatOption = Annotated[Format, typer.Option("--format", help="A table to read, or one JSON document alone.")]


def refuse_second_standard_input(*sources: str) -> None:
    """Raise `InputError` where more than one document is to come from standard input."""
    if sources.count("-") > 1:
        raise InputError.of("-", "standard input can carry one document only", "name a file for the others")
