"""The tables of a page: metrics side by side, every placement, every shortfall. They say all that the drawing shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape

from loadfactor.model import Job, Metrics
from loadfactor.pictures.clock import Clock
from loadfactor.pictures.curves import service_runs
from loadfactor.pictures.palette import KIND_NAMES
from loadfactor.pictures.scene import DrawnJob, DrawnService, Scene
from loadfactor.pictures.wording import counted, gpu_text, half_open, number, percent

NOT_KNOWN = "&ndash;"

METRICS: Sequence[tuple[str, Callable[[Metrics], float], Callable[[float], str]]] = (
    ("utilization", lambda metrics: metrics.utilization, percent),
    ("value", lambda metrics: metrics.value, number),
    ("batch reward", lambda metrics: metrics.batch_reward, number),
    ("shortfall penalty", lambda metrics: metrics.shortfall_penalty, number),
    ("shortfall (GPU-steps)", lambda metrics: metrics.shortfall_gpu_steps, number),
    ("jobs finished", lambda metrics: metrics.jobs_finished, number),
    ("churn (GPUs)", lambda metrics: metrics.churn, number),
)


def comparison_table(scenes: Sequence[Scene]) -> str:
    """Return the metrics of every plan, a row each, and how each later plan differs from the first."""
    heads = ["Policy", *(name for name, _, _ in METRICS), "jobs placed", "proven bound"]
    rows = [_metric_row(scene) for scene in scenes]
    rows += [_difference_row(scenes[0], scene) for scene in scenes[1:]]
    return _table("Metrics of the plans", heads, rows, numbers_from=1)


def details(scenes: Sequence[Scene]) -> str:
    """Return the foldable tables of all placements, and of the services of each plan."""
    jobs = len(scenes[0].problem.jobs)
    folded = [_folded(f"Placements of {counted(jobs, 'job')}", _placements(scenes))]
    for scene in scenes:
        if scene.services:
            folded.append(_folded(f"Services under {scene.plan.policy}", _services(scene)))
    return "\n".join(folded)


def _metric_row(scene: Scene) -> list[str]:
    metrics = scene.plan.metrics
    values = [text(of(metrics)) if metrics else NOT_KNOWN for _, of, text in METRICS]
    return [escape(scene.plan.policy), *values, f"{len(scene.jobs):,}", _bound(scene)]


def _difference_row(first: Scene, later: Scene) -> list[str]:
    before, after = first.plan.metrics, later.plan.metrics
    name = f"{escape(later.plan.policy)} against {escape(first.plan.policy)}"
    if before is None or after is None:
        return [name, *[NOT_KNOWN] * len(METRICS), _difference(len(first.jobs), len(later.jobs), number), ""]
    values = [_difference(of(before), of(after), text) for _, of, text in METRICS]
    return [name, *values, _difference(len(first.jobs), len(later.jobs), number), ""]


def _difference(before: float, after: float, text: Callable[[float], str]) -> str:
    """Return the difference with its sign; in points for shares, with the relative change for everything else."""
    if text is percent:
        return f"{100 * (after - before):+.1f} points"
    change = after - before
    if not change:
        return "same"
    sign = "+" if change > 0 else "&minus;"
    relative = f" ({100 * change / abs(before):+.1f} %)" if before else ""
    return f"{sign}{text(abs(change))}{relative}"


def _bound(scene: Scene) -> str:
    if scene.plan.bound is None:
        return NOT_KNOWN
    return number(scene.plan.bound) + (" (reached)" if scene.plan.optimal else "")


def _placements(scenes: Sequence[Scene]) -> str:
    heads = ["Job", "Kind", "Priority", "Submitted", *(escape(scene.plan.policy) for scene in scenes)]
    placed = [{drawn.job.id: drawn for drawn in scene.jobs} for scene in scenes]
    reasons = [{each.id: each.reason for each in scene.plan.unplaced} for scene in scenes]
    rows = []
    for job in scenes[0].problem.jobs:
        cells = [
            _placement(scenes[0], drawn[job.id]) if job.id in drawn else _not_placed(why.get(job.id, ""))
            for drawn, why in zip(placed, reasons, strict=True)
        ]
        rows.append([*_job_facts(job), *cells])
    return _table("When and where every job runs", heads, rows)


def _job_facts(job: Job) -> list[str]:
    submitted = "already running" if job.running else f"step {job.submit}"
    return [escape(job.id), KIND_NAMES[job.kind], number(job.priority), submitted]


def _placement(scene: Scene, drawn: DrawnJob) -> str:
    placement = drawn.placement
    clock = Clock(scene.problem.horizon).range_text(placement.start, placement.end)
    size = counted(len(placement.gpus), "GPU")
    parts = [f"steps {half_open(placement.start, placement.end)}", clock, f"{size}: {gpu_text(placement.gpus)}"]
    if drawn.waited_steps:
        parts.append(f"waited {counted(drawn.waited_steps, 'step')}")
    return escape(", ".join(filter(None, parts)))


def _not_placed(reason: str) -> str:
    return f'<span class="bad">not placed</span> {escape(reason)}'


def _services(scene: Scene) -> str:
    heads = ["Service", "Priority", "Peak demand (GPUs)", "Most held (GPUs)", "Shortfall"]
    return _table("Demand, holdings and shortfall", heads, [_service_row(drawn) for drawn in scene.services])


def _service_row(drawn: DrawnService) -> list[str]:
    total = int(drawn.shortfall.sum())
    lacking = f'<span class="bad">{counted(total, "GPU-step")}</span>: {escape("; ".join(_lacks(drawn)))}'
    return [
        escape(drawn.service.id),
        number(drawn.service.priority),
        f"{int(drawn.demand.max()):,}",
        f"{int(drawn.held.max()):,}",
        lacking if total else "none",
    ]


def _lacks(drawn: DrawnService) -> Iterator[str]:
    for run in service_runs(drawn):
        if shortfall := run.values[-1]:
            yield f"{number(shortfall)} in steps {half_open(run.start, run.end)}"


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>\n{content}\n</details>"


def _table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], numbers_from: int | None = None) -> str:
    """Return a table of cells that are HTML already; columns from `numbers_from` on are set flush right."""

    def kind(column: int) -> str:
        return ' class="number"' if numbers_from is not None and column >= numbers_from else ""

    head = "".join(f'<th scope="col"{kind(at)}>{cell}</th>' for at, cell in enumerate(heads))
    body = "\n".join(
        f'<tr><th scope="row">{row[0]}</th>'
        + "".join(f"<td{kind(at)}>{cell}</td>" for at, cell in enumerate(row[1:], start=1))
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table><caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )
