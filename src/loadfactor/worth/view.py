"""How the worth of hardware looks in the terminal: the verdict, the curve, the price of a GPU by step."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from loadfactor.worth.findings import GpuPrice, GrowthPoint, Worth

BAR_CELLS = 28
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LEVELS = " ▁▂▃▄▅▆▇█"
_STYLES = {"planning": "bold green", "hardware": "bold yellow", "both": "bold yellow", "neither": "bold cyan"}


def worth_view(worth: Worth) -> RenderableType:
    """Return `worth` for a console."""
    parts: list[RenderableType] = [Text(worth.message, style=_STYLES[worth.verdict]), Text(), _curve(worth)]
    if worth.bound is not None:
        parts.append(Text(f"No plan on today's GPUs can be worth more than {worth.bound:,.1f}."))
    return Group(*parts, *_prices(worth))


def _curve(worth: Worth) -> Table:
    table = Table(title=Text(f"Value against GPUs: {worth.problem}"), title_justify="left", title_style="bold")
    for column in ("size", "GPUs", "policy", "value", "utilization", "short", ""):
        table.add_column(column, justify="right" if column in {"GPUs", "value", "utilization", "short"} else "left")
    low, high = _range(worth)
    for point in worth.points:
        _rows(table, worth, point, low, high)
    caption = f"nodes added: {worth.added_node}; short: GPU-steps of unmet demand; bars from {low:,.0f}"
    table.caption = Text(caption)
    return table


def _rows(table: Table, worth: Worth, point: GrowthPoint, low: float, high: float) -> None:
    pairs = ((worth.baseline_name, point.baseline, "dim"), (worth.allocator_name, point.allocator, "green"))
    for index, (name, outcome, style) in enumerate(pairs):
        table.add_row(
            "" if index else point.label,
            "" if index else f"{point.gpus:,}",
            name,
            f"{outcome.value:,.1f}",
            f"{outcome.utilization:.1%}",
            f"{outcome.shortfall_gpu_steps:,}",
            Text(bar((outcome.value - low) / (high - low)), style=style),
            end_section=index == 1,
        )


def _range(worth: Worth) -> tuple[float, float]:
    values = [outcome.value for point in worth.points for outcome in (point.baseline, point.allocator)]
    low, high = min(0.0, *values), max(values)
    return low, high if high > low else low + 1.0


def bar(share: float) -> str:
    """Return a bar of `share` of BAR_CELLS cells, to an eighth of a cell."""
    eighths = round(max(0.0, min(1.0, share)) * BAR_CELLS * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _prices(worth: Worth) -> Iterator[RenderableType]:
    if not worth.prices:
        yield Text("The price of a GPU was not computed: the linear relaxation is too large or its time was up.")
        return
    yield Text("One more GPU is worth, by the prices of the linear relaxation:", style="bold")
    for price in worth.prices:
        yield Text(f"  {price.pool}: {price.whole_horizon:,.1f} for the whole horizon; {_peak(worth, price)}")
        yield Text(f"  {sparkline(price.by_step)}", style="green")


def _peak(worth: Worth, price: GpuPrice) -> str:
    most = max(price.by_step)
    if most <= 0:
        return "nothing at any step"
    step = price.by_step.index(most)
    return f"most at {_when(worth, step)}: {most:,.2f}"


def _when(worth: Worth, step: int) -> str:
    if worth.horizon_start is None:
        return f"step {step}"
    moment = datetime.fromisoformat(worth.horizon_start) + timedelta(minutes=worth.step_minutes * step)
    return f"step {step} ({moment:%a} {moment.day} {moment:%b %H:%M} UTC)"


def sparkline(values: tuple[float, ...]) -> str:
    """Return one character a value, its height in eighths of the largest; a blank for nothing."""
    most = max(values, default=0.0)
    if most <= 0:
        return " " * len(values)
    # whatever is worth something shows at least the lowest bar
    return "".join(_LEVELS[0 if value <= 1e-9 * most else max(1, round(8 * value / most))] for value in values)
