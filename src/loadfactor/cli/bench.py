"""`loadfactor bench`: how good are the plans, and how long do they take?"""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from loadfactor.cli.console import answers
from loadfactor.cli.options import Format, FormatOption, TimeLimitOption


def bench(
    cases: Annotated[
        list[str] | None, typer.Argument(metavar="[CASE]...", help="Cases, or beginnings of their names; all if none.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The seven scenarios only, in less than a minute.")] = False,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Decisions that a time is the median of.")] = 100,
    time_limit: TimeLimitOption = 30.0,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Measure every policy: value, distance from the proven bound and decision time in one row, case by case."""
    from loadfactor.bench import BenchmarkOptions, run_benchmark
    from loadfactor.bench.progress import progress_bar
    from loadfactor.bench.view import benchmark_view

    options = BenchmarkOptions(quick, tuple(cases or ()), repeats, time_limit)
    with progress_bar() as told:
        report = run_benchmark(options, told)
    if format_ is Format.JSON:
        sys.stdout.write(json.dumps(report.to_document(), indent=1) + "\n")
    else:
        answers().print(benchmark_view(report))
    if report.faults:
        raise typer.Exit(1)
