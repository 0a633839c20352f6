"""The table of contents of the command: every command by name, each from a file of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from loadfactor.cli.allocate import allocate
from loadfactor.cli.audit import audit
from loadfactor.cli.bench import bench
from loadfactor.cli.check import check
from loadfactor.cli.compare import compare
from loadfactor.cli.explain import explain
from loadfactor.cli.policies import policies
from loadfactor.cli.problem import problem
from loadfactor.cli.replay import replay
from loadfactor.cli.schema import schema
from loadfactor.cli.sweep import sweep
from loadfactor.cli.worth import worth

COMMANDS = (allocate, audit, bench, check, compare, explain, problem, policies, replay, schema, sweep, worth)


def application() -> typer.Typer:
    """Return the application with all of its commands."""
    app = typer.Typer(
        name="loadfactor",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(loadfactor)
    for command in COMMANDS:
        app.command()(command)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"loadfactor {version('loadfactor')}")
        raise typer.Exit


def loadfactor(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Decide which GPU workload runs, when, and on which GPUs of a cluster, and prove how good the plan is."""
