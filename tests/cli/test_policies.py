"""`loadfactor policies`."""

from __future__ import annotations

import json

from tests.cli.conftest import Command


def test_ours_are_listed_and_load(command: Command) -> None:
    told = command("policies", "--format", "json")
    assert (told.code, told.errors) == (0, "")
    listed = {row["name"]: row for row in json.loads(told.output)["policies"]}
    assert set(listed) >= {"fifo", "backfill", "fast", "full"}
    assert [name for name, row in listed.items() if not row["loads"]] == []


def test_the_table_names_each(command: Command) -> None:
    told = command("policies")
    assert told.code == 0
    assert all(name in told.output for name in ("fifo", "backfill", "fast", "full"))
