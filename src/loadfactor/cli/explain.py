"""`loadfactor explain`: why every job and service is where it is, and what would change that."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from loadfactor.cli.console import answers
from loadfactor.cli.options import (
    BudgetOption,
    Format,
    FormatOption,
    IterationsOption,
    PolicyOption,
    ProblemArgument,
    SeedOption,
    TimeLimitOption,
    refuse_second_standard_input,
)


def explain(
    problem: ProblemArgument,
    job: Annotated[str | None, typer.Argument(metavar="JOB", help="A job or service; all of them if none.")] = None,
    plan: Annotated[
        str | None, typer.Option("--plan", metavar="PLAN", help="Explain this plan instead of one of the policy's.")
    ] = None,
    policy: PolicyOption = "fast",
    budget_ms: BudgetOption = 5.0,
    iterations: IterationsOption = None,
    time_limit: TimeLimitOption = 30.0,
    seed: SeedOption = 0,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Say why each JOB is where it is: who is in its way, by which rule, and which change would place it."""
    refuse_second_standard_input(problem, *([] if plan is None else [plan]))
    from loadfactor.allocator import decide
    from loadfactor.explain import explain as explained
    from loadfactor.explain.view import explanation_view
    from loadfactor.model import read_plan, read_problem
    from loadfactor.policies import Effort

    described = read_problem(problem)
    effort = Effort(budget_ms, iterations, time_limit, seed)
    planned = read_plan(plan) if plan is not None else decide(described, policy, effort).plan
    explanation = explained(described, planned, job, policy_name=policy, effort=effort)
    if format_ is Format.JSON:
        sys.stdout.write(json.dumps(explanation.to_document(), indent=1) + "\n")
        return
    answers().print(explanation_view(explanation))
