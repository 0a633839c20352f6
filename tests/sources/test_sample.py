"""The day that the package ships: reproduced byte for byte, contended, and good to look at."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from loadfactor.allocator import allocate
from loadfactor.judge import judge
from loadfactor.model import Problem
from loadfactor.sources import build_problem, sample_directory, sample_recipe

SCRIPT = Path(__file__).parents[2] / "tools" / "make_sample_data.py"


@pytest.fixture(scope="module")
def problem() -> Problem:
    return build_problem(sample_recipe())[0]


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_sample_data", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_script_makes_the_shipped_logs_byte_for_byte() -> None:
    made = load_script().made_files()
    shipped = {path.name: path.read_bytes() for path in sample_directory().glob("*.csv")}
    assert {name: content.encode() for name, content in made.items()} == shipped


def test_it_can_be_looked_at(problem: Problem) -> None:
    assert problem.cluster.gpu_count == 64
    assert problem.horizon.steps == 48
    assert 40 <= len(problem.jobs) <= 80
    assert {job.kind for job in problem.jobs} == {"training", "batch_inference", "quantization"}
    assert len({job.priority for job in problem.jobs}) >= 3
    assert any(job.running for job in problem.jobs)
    assert len(problem.services) == 2
    assert all(service.held for service in problem.services)


def test_it_is_contended(problem: Problem) -> None:
    plan = allocate(problem, "fifo")
    assert judge(problem, plan).violations == ()
    assert len(plan.unplaced) >= 10
    assert plan.metrics is not None
    assert plan.metrics.shortfall_gpu_steps == 0


def test_its_report_tells_the_lost_counters_and_the_padding() -> None:
    _, report = build_problem(sample_recipe())
    assert report.jobs is not None
    assert report.jobs.padded_jobs > 0
    assert [service.zero_bins for service in report.services] == [0, 3]
    assert [service.held_bins for service in report.services] == [0, 3]


def test_the_problem_survives_its_document(problem: Problem) -> None:
    assert Problem.from_document(problem.to_document()) == problem


def test_the_same_recipe_gives_the_same_problem(problem: Problem) -> None:
    assert build_problem(sample_recipe())[0] == problem
