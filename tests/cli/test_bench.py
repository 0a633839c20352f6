"""`loadfactor bench`."""

from __future__ import annotations

import json

from tests.cli.conftest import Command

QUICK = ("slack", "--quick", "--repeats", "2", "--time-limit", "5")


def test_the_document_holds_every_policy(command: Command) -> None:
    told = command("bench", *QUICK, "--format", "json")
    assert (told.code, told.errors) == (0, "")
    (section,) = json.loads(told.output)["sections"]
    assert {row["policy"] for row in section["rows"]} == {"fifo", "backfill", "fast", "full"}
    assert {row["case"] for row in section["rows"]} == {"slack"}


def test_the_table_names_machine_case_and_gap(command: Command) -> None:
    told = command("bench", *QUICK)
    assert (told.code, told.errors) == (0, "")
    assert all(word in told.output for word in ("slack", "gap", "median ms", "Python"))


def test_an_unknown_case_is_refused(command: Command) -> None:
    told = command("bench", "nobody", "--quick")
    assert (told.code, told.output) == (2, "")
    assert "no case is called 'nobody'" in told.errors
