"""What the examples in the pages do when the tests run them.

A fenced block of `python` runs, of `console` too: every line behind `$ ` is a command, and the lines below it are what
it prints (`...` stands for anything). A comment `<!-- file: NAME -->` in front of a block saves the block under that
name. Every page runs in an empty directory of its own, its blocks in order.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sybil import Document, Example, Region

FILE_BLOCK = re.compile(r"<!-- file: (?P<name>[\w.-]+) -->\s*```\w*\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
EXIT_CODE = re.compile(r"\s+# exit code (\d+)$")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
LOADFACTOR = [sys.executable, "-c", "from loadfactor.cli import main; main()"]


def files(document: Document) -> Iterable[Region]:
    """Yield a region for every block that is to be saved."""
    for found in FILE_BLOCK.finditer(document.text):
        start = found.start()
        yield Region(start, start + len("<!-- file"), (found["name"], found["body"]), _save)


def run_console(example: Example) -> str | None:
    """Run the commands of a console block; return what differs, or None."""
    for command, expected in commands_in(example.parsed):
        wanted = EXIT_CODE.search(command)
        shown = _run(EXIT_CODE.sub("", command))
        told = shown.stdout + shown.stderr
        if shown.returncode != int(wanted[1] if wanted else 0):
            return f"`{command}` left with exit code {shown.returncode}:\n{told}"
        if expected and not doctest.OutputChecker().check_output(expected, told, FLAGS):
            return f"`{command}` printed\n{told}\nand not\n{expected}"
    return None


def commands_in(block: str) -> Iterator[tuple[str, str]]:
    """Yield every command of a console block, with what it is said to print."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        joined = part.replace("\\\n", " ")
        command, _, expected = joined.partition("\n")
        yield command.strip(), expected


def _run(command: str) -> subprocess.CompletedProcess[str]:
    """Run a command line of the pages: `loadfactor ...`, with `| loadfactor ...` and `> FILE` at most."""
    line, _, target = command.partition(" > ")
    told = ""
    for part in line.split(" | "):
        name, *arguments = shlex.split(part)
        assert name == "loadfactor", f"the pages run loadfactor only, not {name}"
        environment = {key: value for key, value in os.environ.items() if key not in {"COLUMNS", "FORCE_COLOR"}}
        shown = subprocess.run(
            [*LOADFACTOR, *arguments], input=told, capture_output=True, text=True, check=False, env=environment
        )
        told = shown.stdout
    if target:
        Path(target.strip()).write_text(told, encoding="utf-8")
        shown.stdout = ""
    return shown


def _save(example: Example) -> None:
    name, body = example.parsed
    Path(name).write_text(body, encoding="utf-8")


def enter_directory(namespace: dict[str, Any]) -> None:
    """Go to an empty directory before the first block of a page."""
    namespace["_came_from"] = Path.cwd()
    namespace["_directory"] = tempfile.TemporaryDirectory()
    os.chdir(namespace["_directory"].name)


def leave_directory(namespace: dict[str, Any]) -> None:
    """Return from it behind the last."""
    os.chdir(namespace["_came_from"])
    namespace["_directory"].cleanup()
