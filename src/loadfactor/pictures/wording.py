"""The words and numbers on a picture, the same on every medium."""

from __future__ import annotations

from collections.abc import Iterator

from loadfactor.model import Plan
from loadfactor.pictures.boxes import runs
from loadfactor.pictures.scene import Scene


def number(value: float) -> str:
    """Return `value` with at most two decimals and thin groups of thousands: ``1,234.5``."""
    return f"{value:,.2f}".rstrip("0").rstrip(".") if value % 1 else f"{value:,.0f}"


def percent(share: float) -> str:
    """Return a share of one as a percentage with one decimal: ``87.0 %``."""
    return f"{100 * share:.1f} %"


def counted(count: int, noun: str) -> str:
    """Return ``1 job`` or ``2 jobs``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def gpu_text(gpus: tuple[int, ...]) -> str:
    """Return GPU numbers as ranges: ``0-3, 8``."""
    return ", ".join(str(first) if until == first + 1 else f"{first}-{until - 1}" for first, until in runs(gpus))


def half_open(start: int, end: int) -> str:
    """Return steps [`start`, `end`) as people who read plan documents write them."""
    return f"[{start}, {end})"


def headline(scene: Scene) -> str:
    """Return the metrics of the plan in one line; without metrics only what the picture itself shows."""
    return " · ".join(_facts(scene))


def _facts(scene: Scene) -> Iterator[str]:
    plan, metrics = scene.plan, scene.plan.metrics
    yield f"utilization {percent(metrics.utilization if metrics else scene.utilization)}"
    if metrics:
        yield f"value {number(metrics.value)}{_proof(plan, metrics.value)}"
    shortfall = int(sum(int(drawn.shortfall.sum()) for drawn in scene.services))
    if scene.services:
        yield f"shortfall {counted(shortfall, 'GPU-step')}" if shortfall else "no shortfall"
    yield f"{len(plan.jobs):,} of {counted(len(scene.problem.jobs), 'job')} placed"
    if metrics and metrics.churn:
        yield f"churn {metrics.churn:,}"


def _proof(plan: Plan, value: float) -> str:
    if plan.optimal:
        return " (proven optimal)"
    if plan.bound is None:
        return ""
    gap = abs(plan.bound - value) / max(abs(plan.bound), 1e-9)
    return f" (at most {percent(gap)} below the best)"
