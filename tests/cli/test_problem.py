"""`loadfactor problem`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loadfactor.bench import SCENARIO_NAMES, load_scenario
from loadfactor.model import Problem, read_problem
from tests.cli.conftest import Command


def test_the_sample_becomes_a_problem(command: Command, tmp_path: Path) -> None:
    target, report = tmp_path / "day.yaml", tmp_path / "report.json"
    told = command("problem", "--sample", "--output", str(target), "--report", str(report))
    assert (told.code, told.output) == (0, "")
    assert "rows read" in told.errors
    problem = read_problem(target)
    assert problem.jobs
    assert problem.services
    assert json.loads(report.read_text(encoding="utf-8"))["problem"] == problem.name


def test_without_an_output_the_document_is_the_output(command: Command, tmp_path: Path) -> None:
    target = tmp_path / "day.json"
    command("problem", "--sample", "--output", str(target))
    told = command("problem", "--sample")
    assert told.code == 0
    assert Problem.from_document(json.loads(told.output)) == read_problem(target)


def test_options_alone(command: Command, tmp_path: Path) -> None:
    log = tmp_path / "jobs.csv"
    log.write_text("id,at,seconds,gpus\na,2026-03-02T09:00:00,7200,4\nb,2026-03-02T11:30:00,3600,1\n", encoding="utf-8")
    told = command(
        *("problem", "--name", "mine", "--cluster", "2x8:H100-80GB", "--jobs", str(log), "--zone", "Europe/Paris"),
        *("--columns", "id=id,submit=at,duration=seconds,gpus=gpus", "--day", "2026-03-02", "--seed", "1"),
    )
    assert told.code == 0, told.errors
    problem = Problem.from_document(json.loads(told.output))
    assert {job.id for job in problem.jobs} == {"a", "b"}
    assert problem.cluster.gpu_count == 16


def test_every_fault_of_the_options_is_told(command: Command) -> None:
    told = command("problem", "--preset", "nobody", "--jobs", "missing.csv")
    assert (told.code, told.output) == (2, "")
    assert "'nobody' is no preset; choose one of helios-venus" in told.errors


def test_nothing_to_build_from_is_refused(command: Command) -> None:
    told = command("problem")
    assert (told.code, told.output) == (2, "")
    assert told.errors == "error: RECIPE: nothing to build from is named; name a recipe, logs, --sample or --scenario\n"


def test_the_sample_stands_alone(command: Command) -> None:
    told = command("problem", "--sample", "--seed", "3")
    assert (told.code, told.output) == (2, "")
    assert told.errors.startswith("error: --sample: stands alone, and seed is given too; ")


def test_an_output_of_an_unknown_kind_is_refused(command: Command, tmp_path: Path) -> None:
    told = command("problem", "--sample", "--output", str(tmp_path / "day.csv"))
    assert (told.code, told.output) == (2, "")
    assert "ends in none of .yaml, .yml, .json" in told.errors


@pytest.mark.parametrize("name", SCENARIO_NAMES)
def test_every_scenario_can_be_had(command: Command, name: str) -> None:
    told = command("problem", "--scenario", name)
    assert (told.code, told.errors) == (0, "")
    assert Problem.from_document(json.loads(told.output)) == load_scenario(name)


def test_an_unknown_scenario_is_refused(command: Command) -> None:
    told = command("problem", "--scenario", "nobody")
    assert (told.code, told.output) == (2, "")
    assert "choose one of mixed, training-heavy" in told.errors


def test_a_scenario_stands_alone(command: Command) -> None:
    told = command("problem", "--scenario", "mixed", "--sample")
    assert (told.code, told.output) == (2, "")
    assert told.errors.startswith("error: --scenario: stands alone, and sample is given too; ")
