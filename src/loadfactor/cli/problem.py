"""`loadfactor problem`: build a problem from logs of jobs, curves of demand and a description of a cluster."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loadfactor.cli.console import remarks
from loadfactor.cli.files import refuse_unwritable
from loadfactor.cli.options import LARGEST_SEED, positive
from loadfactor.errors import InputError

if TYPE_CHECKING:
    from loadfactor.model import Problem
    from loadfactor.sources import ProblemRecipe

NOT_OF_THE_RECIPE = {"sample", "scenario", "output", "report", "service"}
Given = dict[str, Any]
Text = str | None
Number = float | None


def problem(
    recipe: Annotated[
        str | None, typer.Argument(metavar="RECIPE", help="Recipe document (JSON or YAML); options lie over it.")
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Use the recipe and the logs that loadfactor ships.")
    ] = False,
    scenario: Annotated[Text, typer.Option(help="One of the seven scenarios of `loadfactor bench`, as it is.")] = None,
    output: Annotated[
        Text, typer.Option(metavar="FILE", help="Write the problem to this file (.yaml or .json), not to the output.")
    ] = None,
    report: Annotated[Text, typer.Option(metavar="FILE", help="Write what became of every row, as JSON.")] = None,
    name: Annotated[Text, typer.Option(help="Name of the problem.")] = None,
    cluster: Annotated[
        Text, typer.Option(help="Cluster as NODESxGPUS:TYPE, such as 16x8:H100-80GB, or a file.")
    ] = None,
    block_sizes: Annotated[Text, typer.Option(help="power_of_two or whole_nodes.")] = None,
    jobs: Annotated[Text, typer.Option(metavar="FILE", help="Log of jobs (CSV, gzip accepted).")] = None,
    preset: Annotated[Text, typer.Option(help="Format of the log of jobs; an unknown one lists them all.")] = None,
    columns: Annotated[Text, typer.Option(help="Columns of the log of jobs: id=job_id,submit=time,...")] = None,
    zone: Annotated[Text, typer.Option(help="Time zone of the log's clock, such as Europe/Paris.")] = None,
    day: Annotated[Text, typer.Option(help="The day to plan: a date, or a number from the log's start.")] = None,
    day_zone: Annotated[Text, typer.Option(help="Time zone of the day's midnight.")] = None,
    priorities: Annotated[Text, typer.Option(help="Priorities to deal out, where the log has none: 1,2,4,8.")] = None,
    kinds: Annotated[Text, typer.Option(help="Shares of the kinds, where the log has none: training=0.6,...")] = None,
    max_jobs: Annotated[int | None, typer.Option(min=1, help="At most this many jobs, drawn with the seed.")] = None,
    scale_gpus: Annotated[Number, typer.Option(parser=positive, help="Multiply the jobs' GPUs.")] = None,
    scale_duration: Annotated[Number, typer.Option(parser=positive, help="Multiply the jobs' run times.")] = None,
    duration_unit: Annotated[Text, typer.Option(help="Seconds that one unit of the log's run times takes.")] = None,
    service: Annotated[
        list[str] | None,
        typer.Option(help="Service as id=chat,file=demand.csv,preset=servegen,requests=12,...; repeat for more."),
    ] = None,
    step_minutes: Annotated[Number, typer.Option(parser=positive, help="Minutes in a step.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Steps in the horizon.")] = None,
    finish_inside: Annotated[
        bool | None, typer.Option("--finish-inside/--open-ended", help="Whether all jobs must end in the horizon.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=LARGEST_SEED, help="Seed of everything dealt or drawn.")
    ] = None,
) -> None:
    """Build a problem document from real data: a RECIPE, options, or options laid over a recipe."""
    given = {name: value for name, value in locals().items() if name not in NOT_OF_THE_RECIPE}
    given["services"] = service or ()
    refuse_unwritable("--output", output, (".yaml", ".yml", ".json"))
    refuse_unwritable("--report", report)
    if scenario is not None:
        _refuse_company("--scenario", {**given, "sample": sample or None, "report": report})
        from loadfactor.bench import load_scenario

        _hand_over(load_scenario(scenario), output)
        return
    from loadfactor.sources import build_problem

    built, told = build_problem(_recipe(sample, given))
    for line in told.lines():
        remarks().print(line, markup=False)
    if report is not None:
        from loadfactor.model import write_document

        write_document(told.to_document(), report)
    _hand_over(built, output)


def _recipe(sample: bool, given: Given) -> ProblemRecipe:
    from loadfactor.sources import recipe_from_options, sample_recipe

    if sample:
        _refuse_company("--sample", given)
        return sample_recipe()
    if not _chosen(given):
        raise InputError.of("RECIPE", "nothing to build from is named", "name a recipe, logs, --sample or --scenario")
    return recipe_from_options(**given)


def _refuse_company(option: str, given: Given) -> None:
    chosen = _chosen(given)
    if chosen:
        fact = f"stands alone, and {', '.join(chosen)} is given too"
        raise InputError.of(option, fact, "leave one of the two out; change the written document instead")


def _chosen(given: Given) -> list[str]:
    return [name for name, value in given.items() if value is not None and value != ()]


def _hand_over(built: Problem, output: str | None) -> None:
    from loadfactor.model import to_json, write_document

    if output is None:
        sys.stdout.write(to_json(built.to_document()))
        return
    write_document(built.to_document(), output)
    remarks().print(f"{built.name}: {len(built.jobs)} jobs, {len(built.services)} services -> {output}", markup=False)
