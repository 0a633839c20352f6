"""`loadfactor worth`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Command

QUICK = ("--order", "0.5", "--points", "2", "--policy", "backfill")


def test_the_curve_as_a_document(command: Command, small: str) -> None:
    told = command("worth", small, *QUICK, "--format", "json")
    assert (told.code, told.errors) == (0, "")
    document = json.loads(told.output)
    assert document["points"][0]["gpus"] == 8
    assert document["allocator_name"] == "backfill"


def test_the_table_begins_with_the_answer(command: Command, small: str) -> None:
    told = command("worth", small, *QUICK)
    assert (told.code, told.errors) == (0, "")
    message = json.loads(command("worth", small, *QUICK, "--format", "json").output)["message"]
    assert told.output.split()[:6] == message.split()[:6]


def test_the_chart_is_written(command: Command, small: str, tmp_path: Path) -> None:
    chart = tmp_path / "worth.svg"
    assert command("worth", small, *QUICK, "--chart", str(chart)).code == 0
    assert chart.read_text(encoding="utf-8").startswith("<svg")


def test_wrong_options_are_refused(command: Command, small: str) -> None:
    for options in (("--order", "-0.4"), ("--points", "1"), ("--chart", "worth.pdf"), ("--order", "1000")):
        told = command("worth", small, *options)
        assert (told.code, told.output) == (2, "")
        assert told.errors.startswith("error: ")
