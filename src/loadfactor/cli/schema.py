"""`loadfactor schema`: the JSON Schema of the two documents."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class DocumentName(StrEnum):
    """The two documents."""

    PROBLEM = "problem"
    PLAN = "plan"


def schema(document: Annotated[DocumentName, typer.Argument(help="Which of the two documents.")]) -> None:
    """Print the JSON Schema (draft 2020-12) of the problem or the plan document, for editors and other programs."""
    sys.stdout.write(json.dumps(schema_of(document), indent=1) + "\n")


def schema_of(document: DocumentName) -> dict[str, Any]:
    """Return the schema of a document: every field, type and limit; what only whole documents can contradict is not.

    The contradictions between fields (two jobs of one id, a block on unavailable GPUs) are for `allocate` and `check`.
    """
    from loadfactor.model import Plan, Problem

    noun = Problem if document is DocumentName.PROBLEM else Plan
    made = noun.model_json_schema(by_alias=True)
    if document is DocumentName.PROBLEM:
        _admit_a_bare_number_of_gpus(made["$defs"])
        _ask_for_duration_or_work(made["$defs"]["Job"])
    return {"$schema": DIALECT, **made}


def _admit_a_bare_number_of_gpus(definitions: dict[str, Any]) -> None:
    """`gpus: 4` is short for `gpus: {min: 4, max: 4}`; the model unfolds it before pydantic looks at the fields."""
    mapping = definitions["GpuRange"]
    number = {key: value for key, value in mapping["properties"]["min"].items() if key != "title"}
    described = {key: mapping.pop(key) for key in ("title", "description") if key in mapping}
    definitions["GpuRange"] = {**described, "anyOf": [number, mapping]}


def _ask_for_duration_or_work(job: dict[str, Any]) -> None:
    """Exactly one of the two is given, and is not null."""
    given = [{"required": [name], "properties": {name: {"not": {"type": "null"}}}} for name in ("duration", "work")]
    job["oneOf"] = given
