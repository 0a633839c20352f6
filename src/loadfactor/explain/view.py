"""How an explanation looks in the terminal: short, the verdict first, then who, then what would help."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loadfactor.explain.findings import Change, Explanation, JobExplanation, ServiceExplanation

MOST_LINES = 5
_STYLES = {"unplaced": "bold red", "on_time": "green", "running": "green"}


def explanation_view(explanation: Explanation) -> RenderableType:
    """Return `explanation` as text for a console: first what is left out or short, then what is late, then the rest."""
    jobs = sorted(explanation.jobs, key=lambda job: _RANK[job.status])
    services = sorted(explanation.services, key=lambda service: -service.penalty)
    parts = [*(_service(service, explanation) for service in services), *(_job(job, explanation) for job in jobs)]
    title = Text(f"{explanation.problem}: the plan of {explanation.plan_policy!r} explained", style="bold")
    return Group(title, *parts)


_RANK = {"unplaced": 0, "later_and_smaller": 1, "later": 2, "smaller": 3, "on_time": 4, "running": 5}


def _job(job: JobExplanation, explanation: Explanation) -> RenderableType:
    head = Text.assemble((f"job {job.id} ", _STYLES.get(job.status, "yellow")), job.summary)
    return Group(head, *_indented(_job_lines(job, explanation)))


def _job_lines(job: JobExplanation, explanation: Explanation) -> Iterator[tuple[str, str]]:
    if job.status in {"on_time", "running"}:
        return
    for blocker in job.blockers[:MOST_LINES]:
        yield blocker.rule, blocker.message
    if len(job.blockers) > MOST_LINES:
        yield "", f"and {len(job.blockers) - MOST_LINES} more in the way"
    if job.making_way is not None:
        yield "way", job.making_way.message
    if job.searched:
        yield from _changes(job.changes, job.refuted, "would place it", explanation)
    elif job.status == "unplaced":
        yield "", f"name it to search what would place it: loadfactor explain PROBLEM {job.id}"


def _service(service: ServiceExplanation, explanation: Explanation) -> RenderableType:
    style = "bold red" if service.shortfall_gpu_steps else "green"
    head = Text.assemble((f"service {service.id} ", style), service.summary)
    return Group(head, *_indented(_service_lines(service, explanation)))


def _service_lines(service: ServiceExplanation, explanation: Explanation) -> Iterator[tuple[str, str]]:
    for shortfall in sorted(service.shortfalls, key=lambda item: -item.penalty)[:MOST_LINES]:
        yield shortfall.rule or "", shortfall.message
        for blocker in shortfall.blockers[:2]:
            yield "", f"  {blocker.rule} {blocker.message}"
    if len(service.shortfalls) > MOST_LINES:
        yield "", f"and {len(service.shortfalls) - MOST_LINES} more times"
    if service.searched:
        yield from _changes(service.changes, service.refuted, "would meet its demand", explanation)
    elif service.shortfall_gpu_steps:
        yield "", f"name it to search what would mend it: loadfactor explain PROBLEM {service.id}"


def _changes(
    changes: tuple[Change, ...], refuted: tuple[str, ...], effect: str, explanation: Explanation
) -> Iterator[tuple[str, str]]:
    if not changes:
        tried = "; ".join(refuted) or "none applies"
        yield "try", f"no single change of these {effect} (planned with {explanation.verified_with!r}): {tried}"
    for number, change in enumerate(changes[:MOST_LINES], start=1):
        yield f"{number}.", change.message


def _indented(lines: Iterator[tuple[str, str]]) -> Iterator[RenderableType]:
    """Yield the lines as a grid, so that what is wrapped stays behind its label."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=3, style="bold cyan")
    grid.add_column()
    for label, message in lines:
        grid.add_row(label, Text(message))
    if grid.row_count:
        yield Padding(grid, (0, 0, 0, 2))
