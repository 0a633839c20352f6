"""`loadfactor schema`."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.cli.conftest import SMALL, Command


@pytest.mark.parametrize("document", ["problem", "plan"])
def test_the_schema_is_one(command: Command, document: str) -> None:
    told = command("schema", document)
    assert (told.code, told.errors) == (0, "")
    Draft202012Validator.check_schema(json.loads(told.output))


def test_what_we_read_and_write_fits_the_schema(command: Command, small: str) -> None:
    assert _faults(command, "problem", _small()) == []
    plan = json.loads(command("allocate", small, "--policy", "fifo", "--format", "json").output)
    assert _faults(command, "plan", plan) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"gpus": "four"},
        {"gpus": {"min": 1}},
        {"gpus": 0},
        {"duration": None},
        {"work": 4},
        {"priority": -1},
        {"kind": "interactive"},
        {"unheard_of": 1},
    ],
    ids=str,
)
def test_what_we_refuse_does_not_fit(command: Command, wrong: dict[str, Any]) -> None:
    document = _small()
    document["jobs"][0].update(wrong)
    assert _faults(command, "problem", document) != []


def test_an_unknown_document_is_refused(command: Command) -> None:
    told = command("schema", "recipe")
    assert (told.code, told.output) == (2, "")
    assert told.errors == "error: DOCUMENT: 'recipe' is not one of 'problem', 'plan'; see `loadfactor schema --help`\n"


def _small() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(SMALL)
    document["horizon"]["start"] = "2026-12-01T00:00:00Z"
    return document


def _faults(command: Command, name: str, document: Any) -> list[str]:
    schema = json.loads(command("schema", name).output)
    return [fault.message for fault in Draft202012Validator(schema).iter_errors(document)]
