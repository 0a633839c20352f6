"""`loadfactor check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import Command


@pytest.fixture
def plan(command: Command, small: str) -> dict[str, Any]:
    """Return a legal plan for the small problem, as a document."""
    document: dict[str, Any] = json.loads(command("allocate", small, "--policy", "fifo", "--format", "json").output)
    return document


def test_a_legal_plan(command: Command, small: str, plan: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    told = command("check", small, "-", stdin=json.dumps(plan))
    assert (told.code, told.errors) == (0, "")
    assert _trimmed(told.output) == snapshot


def test_json_is_the_verdict_alone(command: Command, small: str, plan: dict[str, Any]) -> None:
    told = command("check", small, "-", "--format", "json", stdin=json.dumps(plan))
    assert (told.code, told.errors) == (0, "")
    assert json.loads(told.output) == {"violations": [], "metrics": plan["metrics"]}


def test_every_broken_rule_is_told(
    command: Command, small: str, plan: dict[str, Any], snapshot: SnapshotAssertion
) -> None:
    pretrain = next(job for job in plan["jobs"] if job["id"] == "pretrain")
    pretrain.update(gpus=[1, 2, 3, 4], start=1, end=4)
    plan["services"][0]["gpus"][3] = [0, 1, 2, 3]
    told = command("check", small, "-", stdin=json.dumps(plan))
    assert told.code == 1
    assert _trimmed(told.output) == snapshot
    told = command("check", small, "-", "--format", "json", stdin=json.dumps(plan))
    assert told.code == 1
    assert {violation["rule"] for violation in json.loads(told.output)["violations"]} >= {"R1", "R3", "R4"}


def test_a_false_claim_is_told(command: Command, small: str, plan: dict[str, Any]) -> None:
    plan["metrics"]["value"] += 1
    told = command("check", small, "-", "--format", "json", stdin=json.dumps(plan))
    assert told.code == 1
    assert json.loads(told.output)["violations"] == []
    assert told.errors.startswith("claim: value is claimed to be ")


def test_standard_input_carries_one_document_only(command: Command) -> None:
    told = command("check", "-", "-")
    assert (told.code, told.output) == (2, "")
    assert told.errors == "error: -: standard input can carry one document only; name a file for the others\n"


def test_a_faulty_plan_is_refused_with_every_fault(command: Command, small: str, tmp_path: Path) -> None:
    faulty = tmp_path / "plan.json"
    faulty.write_text('{"problem": "small", "jobs": [{"id": "pretrain", "start": -1, "end": 2, "gpus": []}], "x": 1}')
    told = command("check", small, str(faulty))
    assert (told.code, told.output) == (2, "")
    assert told.errors.splitlines() == [
        "error: policy: is missing; add it",
        "error: jobs[0].start: is -1, and must be at least 0; raise it",
        "error: jobs[0].gpus: has 0 entries and needs at least 1; add some",
        "error: x: is not a field of this document; remove it or correct its name",
    ]


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())
