"""`loadfactor allocate`: make a plan for a problem."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from loadfactor.cli.console import answers, remarks
from loadfactor.cli.drawing import PICTURE_SUFFIXES, draw
from loadfactor.cli.files import refuse_unwritable
from loadfactor.cli.options import (
    BudgetOption,
    Format,
    FormatOption,
    IterationsOption,
    PolicyOption,
    ProblemArgument,
    SeedOption,
    TimeLimitOption,
)

if TYPE_CHECKING:
    from loadfactor.allocator import Decision
    from loadfactor.model import Problem


def allocate(
    problem: ProblemArgument,
    policy: PolicyOption = "fast",
    budget_ms: BudgetOption = 5.0,
    iterations: IterationsOption = None,
    time_limit: TimeLimitOption = 30.0,
    seed: SeedOption = 0,
    output: Annotated[str | None, typer.Option(metavar="PLAN", help="Write the plan to this file too.")] = None,
    picture: Annotated[
        str | None, typer.Option("--picture", metavar="FILE", help="Draw the plan into this .svg, .png or .html.")
    ] = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Make a plan for PROBLEM: which job runs when and where, and which GPUs every service holds."""
    refuse_unwritable("--output", output)
    refuse_unwritable("--picture", picture, PICTURE_SUFFIXES)
    from loadfactor.model import to_json, write_document

    described = _read(problem, policy, format_)
    from loadfactor.allocator import decide
    from loadfactor.cli.progress import progress_of
    from loadfactor.policies import Effort

    with progress_of(policy) as progress:
        effort = Effort(budget_ms, iterations, time_limit, seed, progress)
        decision = decide(described, policy, effort)
    _warn_if_replaced(decision, policy)
    document = decision.plan.to_document()
    if output is not None:
        write_document(document, output)
    if picture is not None:
        draw(described, [decision.plan], "--picture", picture)
    if format_ is Format.JSON:
        sys.stdout.write(to_json(document))
        return
    from loadfactor.cli.tables import plan_report

    answers().print(plan_report(described, decision.plan))


def _read(path: str, policy: str, format_: Format) -> Problem:
    """Return the problem; people see that it was read while numba and the solver are still being loaded."""
    from loadfactor.model import read_problem
    from loadfactor.policies import require_policy

    require_policy(policy)
    problem = read_problem(path)
    if format_ is Format.TABLE:
        answers().print(size_line(problem), markup=False)
        sys.stdout.flush()
    return problem


def size_line(problem: Problem) -> str:
    """Return in a line what there is to plan."""
    from loadfactor.pictures.wording import counted

    cluster, horizon = problem.cluster, problem.horizon
    jobs, services = counted(len(problem.jobs), "job"), counted(len(problem.services), "service")
    gpus, nodes = counted(cluster.gpu_count, "GPU"), counted(len(cluster.nodes), "node")
    steps, minutes = counted(horizon.steps, "step"), f"{horizon.step_minutes:g}"
    return f"{problem.name}: {jobs} and {services} on {gpus} in {nodes}, {steps} of {minutes} minutes"


def _warn_if_replaced(decision: Decision, policy: str) -> None:
    if decision.replaced is None:
        return
    first = decision.replaced.violations[0]
    remarks().print(
        f"warning: the plan of {policy!r} breaks {first}; this is the plan of {decision.plan.policy!r} instead",
        markup=False,
    )
