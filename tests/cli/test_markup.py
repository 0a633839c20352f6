"""Names are shown as they are written, whatever they would mean to a terminal library."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import SMALL, Command

BRACKETS = "[/bold][red]x[link=y]"


@pytest.fixture
def odd(tmp_path: Path) -> str:
    """Return a problem in which problem, node, jobs and service are named in brackets."""
    path = tmp_path / "odd.yaml"
    text = SMALL
    for name in ("small", "node-0", "pretrain", "huge", "chat"):
        text = text.replace(f": {name}", f": '{BRACKETS} {name}'")
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "arguments",
    [
        ("allocate", "--policy", "fifo"),
        ("compare", "--policies", "fifo,backfill"),
        ("explain", "--policy", "fifo"),
        ("worth", "--policy", "fifo", "--points", "2"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_brackets_are_only_brackets(command: Command, odd: str, arguments: tuple[str, ...]) -> None:
    told = command(arguments[0], odd, *arguments[1:])
    assert (told.code, told.errors) == (0, "")
    assert BRACKETS in told.output.replace("\n", "")


def test_violations_too(command: Command, odd: str) -> None:
    plan = json.loads(command("allocate", odd, "--policy", "fifo", "--format", "json").output)
    plan["jobs"][0]["gpus"] = [0, 1, 2]
    told = command("check", odd, "-", stdin=json.dumps(plan))
    assert told.code == 1
    assert BRACKETS in told.output
