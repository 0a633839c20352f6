"""`loadfactor sweep`: one replay in many variants, on all cores, resumable."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from loadfactor.cli.console import answers
from loadfactor.cli.files import refuse_unwritable
from loadfactor.cli.options import Format, FormatOption
from loadfactor.cli.progress import counts_told
from loadfactor.errors import InputError


def sweep(
    recipe: Annotated[str | None, typer.Argument(metavar="RECIPE", help="Recipe of a replay.")] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Use the week and the logs that loadfactor ships.")] = False,
    vary: Annotated[
        list[str] | None, typer.Option(metavar="FIELD=VALUES", help="Vary a field: load=1.0,1.4; repeat for more.")
    ] = None,
    policies: Annotated[str | None, typer.Option(metavar="NAMES", help="Policies, joined by commas.")] = None,
    output: Annotated[str, typer.Option(metavar="FILE", help="Append results to this file (.jsonl).")] = "sweep.jsonl",
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; one for each core if not given.")] = None,
    ray: Annotated[str | None, typer.Option("--ray", metavar="ADDRESS", help="Run on this Ray cluster.")] = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Replay RECIPE with every combination of the varied fields; what the output file has already is not run again."""
    refuse_unwritable("--output", output, (".jsonl",))
    if ray is not None and workers is not None:
        raise InputError.of("--workers", "is given beside --ray, which spreads the work itself", "leave one out")
    from loadfactor.replay.options import names_in, read_base, sample_replay
    from loadfactor.replay.runners import processes, ray_cluster
    from loadfactor.replay.sweep import parse_variation, points_of, run_sweep

    if sample == (recipe is not None):
        raise InputError.of("RECIPE", "one recipe is needed", "name a recipe, or give --sample")
    document, directory = read_base(str(sample_replay()) if sample else recipe)
    if policies is not None:
        document["policies"] = names_in(policies)
    variations = dict(map(parse_variation, vary or ()))
    if len(variations) < len(vary or ()):
        raise InputError.of("--vary", "names a field twice", "list all of its values in one --vary")
    points = points_of(document, directory.absolute(), variations)
    with counts_told("replays") as progress:
        runner = processes(workers) if ray is None else ray_cluster(ray)
        results = run_sweep(points, Path(output), runner, progress)
    if format_ is Format.JSON:
        sys.stdout.write(json.dumps(results, indent=1) + "\n")
        return
    from loadfactor.replay.sweep_view import sweep_view

    answers().print(sweep_view(results))
