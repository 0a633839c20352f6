"""From arguments to an exit code: what goes wrong becomes a line on standard error, never a traceback."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import typer

from loadfactor.cli.application import application
from loadfactor.errors import Fault, IllegalPlanError, InputError

SHOW_TRACEBACK = "LOADFACTOR_TRACEBACK"


class ExitCode(IntEnum):
    """What the process says to its caller."""

    DONE = 0
    NO = 1  # the question was understood, and the answer is no
    WRONG_INPUT = 2
    OUR_FAULT = 70  # EX_SOFTWARE of sysexits.h
    INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def run(arguments: Sequence[str]) -> int:
    """Run the command that `arguments` name and return its exit code."""
    logging.getLogger("loadfactor").addHandler(logging.NullHandler())  # the commands say themselves what matters
    try:
        outcome = typer.main.get_command(application()).main(
            list(arguments) or ["--help"], prog_name="loadfactor", standalone_mode=False
        )
        sys.stdout.flush()
        return int(outcome or ExitCode.DONE)
    except InputError as error:
        return _refuse(error.faults)
    except typer.TyperException as error:
        return _refuse([_fault_of_usage(error)])
    except (KeyboardInterrupt, typer.Abort):
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last door: whatever arrives here is a bug, and is told as one
        return _confess(error)


def _refuse(faults: Sequence[Fault]) -> int:
    for fault in faults:
        sys.stderr.write(f"error: {fault}\n")
    return ExitCode.WRONG_INPUT


def _fault_of_usage(error: typer.TyperException) -> Fault:
    """Return what was wrong with the command line itself."""
    context, parameter = getattr(error, "ctx", None), getattr(error, "param", None)
    command = context.command_path if context is not None else "loadfactor"
    fact = error.format_message().removeprefix("Value error, ")
    if parameter is None:
        return Fault(command, fact.rstrip("."), f"see `{command} --help`")
    if not isinstance(error, typer.BadParameter) or not error.message:
        fact = "is missing"
    else:
        fact = error.message.removeprefix("Value error, ")
    return Fault(_name_of(parameter), fact.rstrip("."), f"see `{command} --help`")


def _name_of(parameter: Any) -> str:
    """Return an option by its long name and an argument in capitals, as the help shows them."""
    if parameter.param_type_name == "option":
        return str(max(parameter.opts, key=len))
    return str(parameter.metavar or parameter.name.upper())


def _confess(error: Exception) -> int:
    if os.environ.get(SHOW_TRACEBACK):
        raise error
    what = "a plan of our own breaks a rule" if isinstance(error, IllegalPlanError) else type(error).__name__
    story = " ".join(str(error).split())
    sys.stderr.write(
        f"internal error: {what}: {story}; this is a bug in loadfactor, not in your input: please report it "
        f"with the command and its documents (with {SHOW_TRACEBACK}=1 the command shows where it happened)\n"
    )
    return ExitCode.OUR_FAULT
