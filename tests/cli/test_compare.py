"""`loadfactor compare`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from loadfactor.judge import judge
from loadfactor.model import Plan, read_problem
from tests.cli.conftest import Command

BASELINES = ("--policies", "fifo,backfill")


def test_the_table(command: Command, small: str, snapshot: SnapshotAssertion) -> None:
    told = command("compare", small, *BASELINES)
    assert (told.code, told.errors) == (0, "")
    assert "\n".join(line.rstrip() for line in told.output.splitlines()) == snapshot


def test_the_plans_as_a_document(command: Command, small: str) -> None:
    told = command("compare", small, "--policies", "fifo,fast,full", "--format", "json")
    assert (told.code, told.errors) == (0, "")
    plans = [Plan.from_document(plan) for plan in json.loads(told.output)["plans"]]
    assert [plan.policy for plan in plans] == ["fifo", "fast", "full"]
    assert all(judge(read_problem(small), plan).legal for plan in plans)
    values = [plan.metrics.value for plan in plans if plan.metrics is not None]
    assert values[0] <= values[1] <= values[2]


@pytest.mark.parametrize(("kind", "begins"), [("html", b"<!"), ("svg", b"<svg"), ("png", b"\x89PNG")])
def test_pictures_are_written(command: Command, small: str, tmp_path: Path, kind: str, begins: bytes) -> None:
    target = tmp_path / f"compared.{kind}"
    told = command("compare", small, *BASELINES, f"--{kind}", str(target))
    assert told.code == 0
    assert target.read_bytes().lstrip()[:4].lower().startswith(begins.lower())
    assert [path.name for path in tmp_path.iterdir() if "compared" in path.name] == [target.name]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ("--policies", "fifo,"),
            "error: --policies: 'fifo,' has an empty or a repeated name; write it as fifo,fast\n",
        ),
        (
            ("--policies", "fifo,fifo"),
            "error: --policies: 'fifo,fifo' has an empty or a repeated name; write it as fifo,fast\n",
        ),
        (
            ("--policies", "fifo,nobody"),
            "error: policy: 'nobody' is not registered; choose one of backfill, fast, fifo, full\n",
        ),
        (("--html", "page.svg"), "error: --html: 'page.svg' ends in none of .html; choose one of these endings\n"),
    ],
)
def test_wrong_options_are_refused(command: Command, small: str, options: tuple[str, ...], line: str) -> None:
    told = command("compare", small, *options)
    assert (told.code, told.output, told.errors) == (2, "", line)
