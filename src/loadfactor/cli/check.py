"""`loadfactor check`: is this plan legal, and are the figures that it claims true?"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from loadfactor.cli.console import answers, remarks
from loadfactor.cli.options import Format, FormatOption, ProblemArgument, refuse_second_standard_input

if TYPE_CHECKING:
    from rich.console import RenderableType

    from loadfactor.judge import Verdict


def check(
    problem: ProblemArgument,
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="Plan document (JSON or YAML); - reads standard input.")],
    format_: FormatOption = Format.TABLE,
) -> None:
    """Judge PLAN by the five rules and compute its metrics anew; exit code 1 if a rule or a claim does not hold."""
    refuse_second_standard_input(problem, plan)
    from loadfactor.judge import claimed_differences, judge
    from loadfactor.model import read_plan, read_problem

    described, planned = read_problem(problem), read_plan(plan)
    verdict = judge(described, planned)
    if format_ is Format.JSON:
        sys.stdout.write(json.dumps(verdict.to_document(), indent=1) + "\n")
    else:
        answers().print(_report(verdict))
    differences = claimed_differences(planned, verdict.metrics)
    for difference in differences:
        remarks().print(f"claim: {difference}", markup=False)
    if verdict.violations or differences:
        raise typer.Exit(1)


def _report(verdict: Verdict) -> RenderableType:
    from rich.console import Group
    from rich.markup import escape

    from loadfactor.cli.tables import metrics_table, table

    if verdict.legal:
        return Group("The plan keeps all five rules.", metrics_table(verdict.metrics))
    made = table(f"{len(verdict.violations)} violations", ("rule", "what is wrong"))
    for violation in verdict.violations:
        made.add_row(violation.rule, escape(violation.message))
    return Group(made, metrics_table(verdict.metrics))
