"""The shipped scenarios are what their script makes, and have the published figures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from loadfactor.bench import PUBLISHED, SCENARIO_NAMES, load_scenario, scenario_text
from loadfactor.bench.scenarios import scenario_source
from loadfactor.errors import InputError
from loadfactor.judge import judge
from loadfactor.model import Metrics, Problem
from loadfactor.policies import Effort, policy

ROOT = Path(__file__).resolve().parents[2]
MAKER = ROOT / "tools" / "make_scenarios.py"
# Utilized cells and value of the optimum, as the maker of the scenarios proved them with a model of its own.
PROMISED = [
    ("mixed", 141, 527.71),
    ("training-heavy", 167, 876.41),
    ("inference-heavy", 139, 247.04),
    ("batch-backlog", 158, 424.04),
    ("quantization-burst", 143, 294.84),
    ("slack", 101, 138.38),
    ("scale", 690, 1239.70),
]
CONTENDED = [name for name in SCENARIO_NAMES if PUBLISHED[name].contended]


def judged(problem: Problem, name: str) -> Metrics:
    """Return the judge's metrics of the plan of a policy, which must be legal."""
    verdict = judge(problem, policy(name).plan(problem))
    assert verdict.legal, verdict.violations
    return verdict.metrics


def cells(problem: Problem) -> int:
    return problem.cluster.gpu_count * problem.horizon.steps


def test_the_script_reproduces_the_files_byte_for_byte(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(MAKER), "--output", str(tmp_path)], check=True)
    assert sorted(path.stem for path in tmp_path.iterdir()) == sorted(SCENARIO_NAMES)
    for name in SCENARIO_NAMES:
        assert (tmp_path / f"{name}.yaml").read_bytes() == scenario_source(name).encode(), name


def test_the_promised_optima_are_proven_again() -> None:
    outcome = subprocess.run([sys.executable, str(MAKER), "--check"], check=False, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert len(outcome.stdout.splitlines()) == len(SCENARIO_NAMES)


def test_a_seed_that_does_not_meet_its_figures_is_refused() -> None:
    outcome = subprocess.run(
        [sys.executable, str(MAKER), "mixed", "--search", "3"], check=False, capture_output=True, text=True
    )
    assert (outcome.returncode, outcome.stdout) == (1, "mixed: no seed in range(0, 3) is acceptable\n")


@pytest.mark.parametrize(("name", "expected"), [("mixed", 99), ("training-heavy", 103), ("scale", 690)])
def test_fifo_has_exactly_the_published_cells(name: str, expected: int) -> None:
    problem = load_scenario(name)
    assert judged(problem, "fifo").utilization * cells(problem) == pytest.approx(expected, abs=1e-9)
    assert PUBLISHED[name].fifo_cells == expected


@pytest.mark.parametrize("name", SCENARIO_NAMES)
def test_fifo_lies_in_the_published_band(name: str) -> None:
    metrics = judged(load_scenario(name), "fifo")
    assert PUBLISHED[name].fifo_utilization.holds(metrics.utilization)
    assert metrics.jobs_finished == (PUBLISHED[name].jobs_finished or metrics.jobs_finished)


@pytest.mark.parametrize("name", SCENARIO_NAMES)
def test_size_and_workload_are_believable(name: str) -> None:
    problem = load_scenario(name)
    assert problem.name == name
    assert (problem.cluster.gpu_count, problem.horizon.steps) == ((64, 24) if name == "scale" else (8, 24))
    assert {job.kind for job in problem.jobs} == {"training", "batch_inference", "quantization"}
    assert len({job.priority for job in problem.jobs}) >= 3
    assert len({job.submit for job in problem.jobs}) >= 4
    for service in problem.services:
        swaps = [abs(later - now) for now, later in zip(service.demand, service.demand[1:], strict=False)]
        assert max(swaps) <= service.max_swap + 1


@pytest.mark.parametrize("name", CONTENDED)
def test_contended_scenarios_have_moldable_jobs_and_a_day_curve(name: str) -> None:
    problem = load_scenario(name)
    assert any(job.work is not None for job in problem.jobs)
    assert any(max(service.demand) >= min(service.demand) + 2 for service in problem.services)


@pytest.mark.parametrize("name", SCENARIO_NAMES)
def test_a_text_says_what_the_scenario_stands_for(name: str) -> None:
    text = scenario_text(name)
    assert 200 < len(text) < 900
    assert "tools/make_scenarios.py" in text


def test_an_unknown_scenario_is_refused_with_the_names_that_exist() -> None:
    with pytest.raises(
        InputError, match=r"^scenario: 'mixd' does not ship with loadfactor; choose one of mixed, train"
    ):
        load_scenario("mixd")


@pytest.mark.parametrize(("name", "cells_used", "value"), PROMISED)
def test_full_proves_the_promised_optimum_on_its_own(name: str, cells_used: int, value: float) -> None:
    problem = load_scenario(name)
    plan = policy("full").plan(problem, Effort(time_limit_seconds=60.0))
    verdict = judge(problem, plan)
    assert (verdict.legal, plan.optimal) == (True, True)
    assert verdict.metrics.value == pytest.approx(value, abs=0.005)
    assert verdict.metrics.utilization * cells(problem) == pytest.approx(cells_used, abs=1e-9)


def test_five_scenarios_are_contended() -> None:
    assert len(CONTENDED) == 5
