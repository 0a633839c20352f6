"""`loadfactor worth`: what more GPUs would be worth, and whether they are what is missing."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from loadfactor.cli.console import answers
from loadfactor.cli.files import refuse_unwritable, write_file
from loadfactor.cli.options import (
    BudgetOption,
    Format,
    FormatOption,
    IterationsOption,
    PolicyOption,
    ProblemArgument,
    SeedOption,
    TimeLimitOption,
    positive,
)
from loadfactor.cli.progress import steps_told


def worth(
    problem: ProblemArgument,
    order: Annotated[
        float, typer.Option("--order", parser=positive, metavar="SHARE", help="GPUs on order: 0.4 for 40 % more.")
    ] = 0.4,
    points: Annotated[int, typer.Option("--points", min=2, max=100, help="Sizes on the curve.")] = 9,
    policy: PolicyOption = "fast",
    budget_ms: BudgetOption = 5.0,
    iterations: IterationsOption = None,
    time_limit: TimeLimitOption = 30.0,
    seed: SeedOption = 0,
    chart: Annotated[
        str | None, typer.Option("--chart", metavar="FILE", help="Draw the curve into this file (.html or .svg).")
    ] = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Show value and utilization against the number of GPUs, under fifo and the policy: hardware or planning?"""
    refuse_unwritable("--chart", chart, (".html", ".svg"))
    from loadfactor.model import read_problem
    from loadfactor.policies import Effort
    from loadfactor.worth import worth as assess
    from loadfactor.worth.view import worth_view

    described = read_problem(problem)
    effort = Effort(budget_ms, iterations, time_limit, seed)
    with steps_told() as say:
        assessed = assess(described, policy_name=policy, effort=effort, order=order, curve_points=points, progress=say)
    if chart is not None:
        from loadfactor.worth.chart import worth_chart

        write_file("--chart", chart, worth_chart(assessed, "svg" if chart.lower().endswith(".svg") else "html"))
    if format_ is Format.JSON:
        sys.stdout.write(json.dumps(assessed.to_document(), indent=1) + "\n")
        return
    answers().print(worth_view(assessed))
