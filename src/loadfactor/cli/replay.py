"""`loadfactor replay`: policies over weeks of a trace in a virtual world, side by side."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loadfactor.cli.console import answers, remarks
from loadfactor.cli.files import refuse_unwritable, write_file
from loadfactor.cli.options import LARGEST_SEED, Format, FormatOption, positive
from loadfactor.cli.progress import shares_told
from loadfactor.errors import InputError

if TYPE_CHECKING:
    from loadfactor.replay.recipe import ReplayRecipe

NOT_OF_THE_RECIPE = {"recipe", "sample", "html", "output", "bound", "timing", "format_"}
Text = str | None
Number = float | None


def replay(
    recipe: Annotated[Text, typer.Argument(metavar="RECIPE", help="Recipe document; options lie over it.")] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Use the week and the logs that loadfactor ships.")] = False,
    jobs: Annotated[list[str] | None, typer.Option(metavar="FILE", help="Log of jobs; repeat to merge more.")] = None,
    jobs_preset: Annotated[list[str] | None, typer.Option(help="Format of each log of jobs.")] = None,
    demand: Annotated[list[str] | None, typer.Option(metavar="FILE", help="Log of demand; repeat for more.")] = None,
    demand_preset: Annotated[list[str] | None, typer.Option(help="Format of each log of demand.")] = None,
    cluster: Annotated[Text, typer.Option(help="Cluster as NODESxGPUS:TYPE, such as 135x8:V100, or a file.")] = None,
    block_sizes: Annotated[Text, typer.Option(help="power_of_two or whole_nodes.")] = None,
    load: Annotated[Number, typer.Option(parser=positive, help="Let jobs come so many times as fast.")] = None,
    jobs_share: Annotated[Number, typer.Option(parser=positive, help="Keep this share of the jobs.")] = None,
    peak_share: Annotated[Number, typer.Option(parser=positive, help="Share of services at their peak.")] = None,
    first_day: Annotated[int | None, typer.Option(min=0, help="First day of the logs of jobs.")] = None,
    days: Annotated[int | None, typer.Option(min=1, help="Days of the logs of jobs.")] = None,
    policies: Annotated[Text, typer.Option(metavar="NAMES", help="Policies, joined by commas.")] = None,
    run_times: Annotated[Text, typer.Option(help="Known of run times: limit, learnt or perfect.")] = None,
    forecast: Annotated[Text, typer.Option(help="Known of demand: seasonal or perfect.")] = None,
    iterations: Annotated[int | None, typer.Option(min=0, help="Search steps of `fast` at every decision.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=LARGEST_SEED, help="Seed of all that is drawn.")] = None,
    html: Annotated[Text, typer.Option("--html", metavar="FILE", help="Write a page with pictures.")] = None,
    output: Annotated[Text, typer.Option(metavar="FILE", help="Write the report to this file too, as JSON.")] = None,
    bound: Annotated[bool, typer.Option("--bound", help="Compute what no policy could have exceeded.")] = False,
    timing: Annotated[bool, typer.Option("--timing/--no-timing", help="Whether to tell how long it took.")] = True,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Replay traces in a virtual world under several policies, and set what came of it side by side."""
    given = {name: value for name, value in locals().items() if name not in NOT_OF_THE_RECIPE}
    refuse_unwritable("--html", html, (".html",))
    refuse_unwritable("--output", output, (".json",))
    chosen = _recipe(recipe, sample, given)
    from loadfactor.replay.build import build_scenario
    from loadfactor.replay.report import replay_report

    scenario = build_scenario(chosen)
    with shares_told() as progress:
        report = replay_report(scenario, progress, bound)
    from loadfactor.model import to_json

    document = to_json(report.to_document(timing))
    if output is not None:
        write_file("--output", output, document)
    if html is not None:
        from loadfactor.replay.html_page import html_report

        write_file("--html", html, html_report(report, timing))
        remarks().print(f"page -> {html}", markup=False)
    if format_ is Format.JSON:
        sys.stdout.write(document)
        return
    from loadfactor.replay.view import replay_view

    answers().print(replay_view(report, timing))


def _recipe(recipe: str | None, sample: bool, given: dict[str, Any]) -> ReplayRecipe:
    from loadfactor.replay.options import recipe_of, sample_replay

    if sample and recipe is not None:
        raise InputError.of("--sample", "is a recipe of its own, and RECIPE is given too", "leave one of the two out")
    if not sample and recipe is None and not given["jobs"]:
        raise InputError.of("RECIPE", "nothing to replay is named", "name a recipe, logs with --jobs, or --sample")
    return recipe_of(str(sample_replay()) if sample else recipe, given)
