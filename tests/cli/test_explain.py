"""`loadfactor explain`."""

from __future__ import annotations

import json

from tests.cli.conftest import Command

FIFO = ("--policy", "fifo")


def test_everything_is_explained(command: Command, small: str) -> None:
    told = command("explain", small, *FIFO)
    assert (told.code, told.errors) == (0, "")
    assert all(name in told.output for name in ("job huge", "job sweep", "job pretrain", "service chat"))


def test_one_job_as_a_document(command: Command, small: str) -> None:
    told = command("explain", small, "huge", *FIFO, "--format", "json")
    assert (told.code, told.errors) == (0, "")
    document = json.loads(told.output)
    assert [job["id"] for job in document["jobs"]] == ["huge"]
    assert document["jobs"][0]["status"] == "unplaced"


def test_a_plan_from_a_file(command: Command, small: str) -> None:
    plan = command("allocate", small, *FIFO, "--format", "json").output
    told = command("explain", small, "--plan", "-", *FIFO, stdin=plan)
    assert (told.code, told.errors) == (0, "")
    assert told.output == command("explain", small, *FIFO).output


def test_an_unknown_job_is_refused(command: Command, small: str) -> None:
    told = command("explain", small, "nobody", *FIFO)
    assert (told.code, told.output) == (2, "")
    assert told.errors == (
        "error: job: 'nobody' is neither a job nor a service of 'small'; choose from pretrain, sweep, huge, chat\n"
    )


def test_an_illegal_plan_is_refused(command: Command, small: str) -> None:
    plan = json.loads(command("allocate", small, *FIFO, "--format", "json").output)
    plan["jobs"][0]["gpus"] = [0, 1, 2]
    told = command("explain", small, "--plan", "-", *FIFO, stdin=json.dumps(plan))
    assert (told.code, told.output) == (2, "")
    assert "explain a legal plan" in told.errors


def test_two_documents_on_standard_input_are_refused(command: Command) -> None:
    assert command("explain", "-", "--plan", "-").code == 2
