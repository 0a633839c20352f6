"""`loadfactor allocate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from loadfactor.judge import judge
from loadfactor.model import Plan, read_plan, read_problem
from tests.cli.conftest import SMALL, Command

EVERY_POLICY = ("fifo", "backfill", "fast", "full")


def test_the_table(command: Command, small: str, snapshot: SnapshotAssertion) -> None:
    told = command("allocate", small, "--policy", "fifo")
    assert (told.code, told.errors) == (0, "")
    lines = [line.rstrip() for line in told.output.splitlines() if "decided in" not in line]
    assert "\n".join(lines) == snapshot
    assert "No bound: fifo proves nothing (decided in" in told.output


def test_the_file_is_known_to_be_read_before_the_plan_is_made(command: Command, small: str) -> None:
    first = command("allocate", small).output.splitlines()[0]
    assert first == "small: 3 jobs and 1 service on 8 GPUs in 2 nodes, 6 steps of 60 minutes"


def test_an_unknown_policy_prints_nothing_but_the_refusal(command: Command, small: str) -> None:
    told = command("allocate", small, "--policy", "fastest")
    assert (told.code, told.output) == (2, "")
    assert "choose one of backfill, fast, fifo, full" in told.errors


@pytest.mark.parametrize("policy", EVERY_POLICY)
def test_json_is_the_plan_document_alone(command: Command, small: str, policy: str) -> None:
    told = command("allocate", small, "--policy", policy, "--format", "json")
    assert (told.code, told.errors) == (0, "")
    plan = Plan.from_document(json.loads(told.output))
    assert plan.policy == policy
    assert judge(read_problem(small), plan).legal
    assert set(json.loads(told.output)) == set(Plan.model_fields)


@pytest.mark.parametrize("policy", EVERY_POLICY)
def test_the_written_plan_is_the_printed_one(command: Command, small: str, tmp_path: Path, policy: str) -> None:
    target = tmp_path / "plan.json"
    told = command("allocate", small, "--policy", policy, "--output", str(target), "--format", "json")
    assert read_plan(target) == Plan.from_document(json.loads(told.output))


def test_the_same_seed_and_iterations_make_the_same_plan(command: Command, small: str) -> None:
    options = ("--policy", "fast", "--iterations", "50", "--seed", "7", "--format", "json")
    first, second = (json.loads(command("allocate", small, *options).output) for _ in range(2))
    first.pop("solve_seconds")
    second.pop("solve_seconds")
    assert first == second


def test_the_problem_may_come_from_standard_input(command: Command) -> None:
    told = command("allocate", "-", "--policy", "fifo", "--format", "json", stdin=SMALL)
    assert told.code == 0
    assert json.loads(told.output)["problem"] == "small"


def test_full_says_what_it_proved(command: Command, small: str) -> None:
    told = command("allocate", small, "--policy", "full", "--time-limit", "20")
    assert told.code == 0
    assert "proven optimal" in told.output


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ("--policy", "nobody"),
            "error: policy: 'nobody' is not registered; choose one of backfill, fast, fifo, full\n",
        ),
        (
            ("--budget-ms", "-1"),
            "error: --budget-ms: -1 is not a finite number above 0; see `loadfactor allocate --help`\n",
        ),
        (
            ("--budget-ms", "nan"),
            "error: --budget-ms: nan is not a finite number above 0; see `loadfactor allocate --help`\n",
        ),
        (
            ("--time-limit", "0"),
            "error: --time-limit: 0 is not a finite number above 0; see `loadfactor allocate --help`\n",
        ),
        (("--time-limit", "soon"), "error: --time-limit: 'soon' is not a number; see `loadfactor allocate --help`\n"),
        (
            ("--format", "xml"),
            "error: --format: 'xml' is not one of 'table', 'json'; see `loadfactor allocate --help`\n",
        ),
    ],
)
def test_a_wrong_option_is_refused(command: Command, small: str, options: tuple[str, ...], line: str) -> None:
    told = command("allocate", small, *options)
    assert (told.code, told.output, told.errors) == (2, "", line)


@pytest.mark.parametrize("options", [("--seed", "-1"), ("--iterations", "0"), ("--seed", "1e9"), ("--iterations", "x")])
def test_numbers_out_of_range_are_refused(command: Command, small: str, options: tuple[str, ...]) -> None:
    told = command("allocate", small, *options)
    assert (told.code, told.output) == (2, "")
    assert told.errors.startswith(f"error: {options[0]}: ")
    assert told.errors.endswith("; see `loadfactor allocate --help`\n")


def test_nothing_is_planned_for_a_target_that_cannot_be_written(command: Command, small: str, tmp_path: Path) -> None:
    told = command("allocate", small, "--output", str(tmp_path / "missing" / "plan.json"))
    assert told.code == 2
    assert told.errors.endswith("does not exist; create it first\n")
    told = command("allocate", small, "--output", str(tmp_path))
    assert told.errors.endswith("is a directory; name a file in it\n")


@pytest.mark.parametrize(("kind", "begins"), [("html", b"<!"), ("svg", b"<svg"), ("png", b"\x89PNG")])
def test_the_plan_is_drawn(command: Command, small: str, tmp_path: Path, kind: str, begins: bytes) -> None:
    target = tmp_path / f"plan.{kind}"
    told = command("allocate", small, "--policy", "fifo", "--picture", str(target))
    assert (told.code, told.errors) == (0, "")
    assert target.read_bytes().lstrip().startswith(begins)


def test_a_picture_of_an_unknown_kind_is_refused(command: Command, small: str) -> None:
    told = command("allocate", small, "--picture", "plan.pdf")
    assert (told.code, told.output) == (2, "")
    expected = "error: --picture: 'plan.pdf' ends in none of .svg, .png, .html; choose one of these endings\n"
    assert told.errors == expected
