"""The results of a sweep as a table: a row for every variant and policy, mean and spread over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from loadfactor.replay.sweep import Result

SEED = "seed"
FIGURES: Mapping[str, tuple[tuple[str, ...], str, float]] = {
    "utilization, %": (("utilization",), "{:.1f}", 100.0),
    "value": (("value",), "{:,.0f}", 1.0),
    "objective": (("objective",), "{:,.0f}", 1.0),
    "wait mean, h": (("wait_hours", "mean"), "{:,.2f}", 1.0),
    "p95": (("wait_hours", "p95"), "{:,.1f}", 1.0),
    "unmet, %": (("shortfall", "share_of_demand"), "{:.2f}", 100.0),
    "starved": (("jobs", "starved"), "{:,.0f}", 1.0),
    "churn": (("churn",), "{:,.0f}", 1.0),
}
"""Title of a column: where the figure lies in the measures, how it is written, and what it is multiplied by."""


def sweep_view(results: Sequence[Result]) -> RenderableType:
    """Return the table; behind ± stands the standard deviation over seeds, where there are two or more."""
    varied = [name for name in results[0]["varied"] if name != SEED] if results else []
    made = Table(title=Text(_title(results)), title_justify="left", title_style="bold")
    for name in (*varied, "policy"):
        made.add_column(Text(name))
    for name in FIGURES:
        made.add_column(Text(name), justify="right")
    last: tuple[Any, ...] | None = None
    for group, members in grouped(results).items():
        if last is not None and last[:-1] != group[:-1]:
            made.add_section()
        made.add_row(*(Text(str(part)) for part in group), *(Text(_cell(name, members)) for name in FIGURES))
        last = group
    return Group(made)


def grouped(results: Sequence[Result]) -> dict[tuple[Any, ...], list[Result]]:
    """Return the results that differ in nothing but the seed together, by what was varied else and the policy."""
    groups: dict[tuple[Any, ...], list[Result]] = {}
    for result in results:
        others = tuple(value for name, value in result["varied"].items() if name != SEED)
        groups.setdefault((*others, result["policy"]), []).append(result)
    return groups


def _title(results: Sequence[Result]) -> str:
    seeds = len({result["varied"].get(SEED) for result in results})
    return f"{len(results)} replays" + (f"; mean ± standard deviation over {seeds} seeds" if seeds > 1 else "")


def _cell(name: str, members: Sequence[Result]) -> str:
    path, form, factor = FIGURES[name]
    figures = [factor * _at(member["measures"], path) for member in members]
    told = form.format(fmean(figures))
    return told if len(figures) < 2 else f"{told} ± {form.format(stdev(figures))}"


def _at(measures: Mapping[str, Any], path: Sequence[str]) -> float:
    found: Any = measures
    for part in path:
        found = found[part]
    return float(found)
