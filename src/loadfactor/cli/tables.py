"""The tables that several commands print."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from loadfactor.model import Metrics, Plan, Problem
from loadfactor.pictures.terminal import terminal_grid
from loadfactor.policies import relative_gap

LONGEST_TABLE = 20


def table(title: str, columns: Sequence[str], numeric: Sequence[str] = ()) -> Table:
    """Return an empty table with these columns, the `numeric` ones flush right."""
    made = Table(title=Text(title), title_justify="left", title_style="bold")
    for column in columns:
        made.add_column(Text(column), justify="right" if column in numeric else "left")
    return made


def metric_rows(metrics: Metrics) -> list[tuple[str, str]]:
    """Return label and figure of every metric of a plan."""
    return [
        ("utilization", f"{metrics.utilization:.1%}"),
        ("value", f"{metrics.value:,.2f}"),
        ("  batch reward", f"{metrics.batch_reward:,.2f}"),
        ("  shortfall penalty", f"{metrics.shortfall_penalty:,.2f}"),
        ("shortfall (GPU-steps)", f"{metrics.shortfall_gpu_steps:,}"),
        ("jobs finished", f"{metrics.jobs_finished:,}"),
        ("churn (GPUs swapped)", f"{metrics.churn:,}"),
    ]


def metrics_table(metrics: Metrics) -> Table:
    """Return the metrics of a plan, one a row."""
    made = table("Metrics", ("metric", "figure"), numeric=("figure",))
    for label, figure in metric_rows(metrics):
        made.add_row(label, figure)
    return made


def plan_report(problem: Problem, plan: Plan) -> RenderableType:
    """Return what `allocate` prints: the grid, placements, what was left out and why, metrics, and what is proven."""
    parts: list[RenderableType] = [terminal_grid(problem, plan), placements_table(problem, plan)]
    if plan.unplaced:
        parts.append(unplaced_table(plan))
    if plan.metrics is not None:
        parts += [metrics_table(plan.metrics), Text(proof_line(plan))]
    return Group(*parts)


def placements_table(problem: Problem, plan: Plan) -> Table:
    """Return the placed jobs in order of their start."""
    columns = ("job", "kind", "priority", "start", "end", "GPUs")
    made = table(f"Plan of {plan.policy!r} for {plan.problem!r}", columns, ("priority", "start", "end"))
    jobs = {job.id: job for job in problem.jobs}
    for placement in sorted(plan.jobs, key=lambda placed: (placed.start, placed.gpus))[:LONGEST_TABLE]:
        job = jobs[placement.id]
        steps = (str(placement.start), str(placement.end))
        made.add_row(escape(job.id), job.kind, f"{job.priority:g}", *steps, gpu_ranges(placement.gpus))
    made.caption = _rest(len(plan.jobs))
    return made


def unplaced_table(plan: Plan) -> Table:
    """Return the jobs that the plan leaves out, each with the reason."""
    made = table("Left out", ("job", "reason"))
    for unplaced in plan.unplaced[:LONGEST_TABLE]:
        made.add_row(escape(unplaced.id), escape(unplaced.reason))
    made.caption = _rest(len(plan.unplaced))
    return made


def proof_line(plan: Plan) -> str:
    """Return what the policy proved about the plan, and how long it took."""
    seconds = "" if plan.solve_seconds is None else f" (decided in {plan.solve_seconds * 1000:,.1f} ms)"
    if plan.bound is None:
        return f"No bound: {plan.policy} proves nothing{seconds}."
    return f"Bound {plan.bound:,.2f}: {proof(plan)}{seconds}."


def proof(plan: Plan) -> str:
    """Return in a few words how good the plan is proven to be."""
    if plan.bound is None or plan.metrics is None:
        return "nothing"
    return (
        "proven optimal" if plan.optimal else f"within {relative_gap(plan.metrics.value, plan.bound):.3%} of the best"
    )


def gpu_ranges(gpus: Sequence[int]) -> str:
    """Return GPU numbers as ranges: 0, 1, 2, 5 gives `0-2, 5`."""
    ranges: list[tuple[int, int]] = []
    for gpu in sorted(gpus):
        if ranges and gpu == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], gpu)
        else:
            ranges.append((gpu, gpu))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def _rest(count: int) -> str | None:
    hidden = count - LONGEST_TABLE
    return f"… and {hidden:,} more; `--format json` has them all" if hidden > 0 else None
