"""`loadfactor compare`: the same problem under several policies, in figures and as pictures."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from loadfactor.cli.console import answers
from loadfactor.cli.drawing import draw
from loadfactor.cli.files import refuse_unwritable
from loadfactor.cli.options import (
    BudgetOption,
    Format,
    FormatOption,
    IterationsOption,
    ProblemArgument,
    SeedOption,
    TimeLimitOption,
)
from loadfactor.cli.progress import progress_of
from loadfactor.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from loadfactor.model import Plan, Problem
    from loadfactor.policies import Effort


def compare(
    problem: ProblemArgument,
    policies: Annotated[str, typer.Option(metavar="NAMES", help="Policies, joined by commas.")] = "fifo,fast",
    html: Annotated[str | None, typer.Option("--html", metavar="FILE", help="Page with hover and zoom.")] = None,
    svg: Annotated[str | None, typer.Option("--svg", metavar="FILE", help="Picture as SVG.")] = None,
    png: Annotated[str | None, typer.Option("--png", metavar="FILE", help="Picture as PNG.")] = None,
    budget_ms: BudgetOption = 5.0,
    iterations: IterationsOption = None,
    time_limit: TimeLimitOption = 30.0,
    seed: SeedOption = 0,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Plan PROBLEM with several policies and set their plans side by side, in figures and as pictures."""
    names = _names(policies)
    pictures = {"--html": html, "--svg": svg, "--png": png}
    for option, target in pictures.items():
        refuse_unwritable(option, target, (option.replace("--", "."),))
    from loadfactor.model import read_problem
    from loadfactor.policies import Effort

    described = read_problem(problem)
    plans = [_plan(described, name, Effort(budget_ms, iterations, time_limit, seed)) for name in names]
    for option, target in pictures.items():
        if target is not None:
            draw(described, plans, option, target)
    if format_ is Format.JSON:
        document = {"problem": described.name, "plans": [plan.to_document() for plan in plans]}
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
        return
    answers().print(comparison_table(described, plans))


def _names(policies: str) -> list[str]:
    names = [name.strip() for name in policies.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise InputError.of("--policies", f"{policies!r} has an empty or a repeated name", "write it as fifo,fast")
    from loadfactor.policies import policy

    for name in names:
        policy(name)
    return names


def _plan(problem: Problem, name: str, effort: Effort) -> Plan:
    from dataclasses import replace

    from loadfactor.allocator import decide

    with progress_of(name) as progress:
        return decide(problem, name, replace(effort, progress=progress)).plan


def comparison_table(problem: Problem, plans: Sequence[Plan]) -> Table:
    """Return the metrics of each plan as a column; the gain is over the first."""
    from rich.text import Text

    from loadfactor.cli.tables import metric_rows, proof, table

    names = [plan.policy for plan in plans]
    made = table(f"{problem.name}: {len(plans)} policies", ("", *names), numeric=names)
    columns = [metric_rows(plan.metrics) for plan in plans if plan.metrics is not None]
    for index, (label, _) in enumerate(columns[0]):
        made.add_row(label, *(column[index][1] for column in columns))
    values = [plan.metrics.value for plan in plans if plan.metrics is not None]
    gains = ["-" if values[0] == 0 else f"{(value - values[0]) / abs(values[0]):+.1%}" for value in values]
    made.add_row(Text(f"value, against {names[0]}"), *gains)
    made.add_row("proven", *(proof(plan) for plan in plans))
    return made
