"""Recipes: what lies over a preset, options that lie over a document, and every fault at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loadfactor.errors import InputError
from loadfactor.sources import JOB_PRESETS, ProblemRecipe, build_problem, parse_pairs, read_recipe, recipe_from_options
from tests.sources.logs import demand_text, jobs_text, recipe_with

JOBS: dict[str, Any] = {"file": "jobs.csv", "preset": "helios-venus", "day": "2020-05-14"}


def recipe(**changes: Any) -> ProblemRecipe:
    return ProblemRecipe.from_document({"cluster": "2x8", "jobs": JOBS} | changes)


def test_what_is_given_lies_over_the_preset() -> None:
    given = {"zone": "UTC", "columns": {"kind": "k", "capped": None}, "layout": {"separator": ";"}}
    jobs = recipe(jobs=JOBS | {"format": given}).jobs
    assert jobs is not None
    assert jobs.format.zone == "UTC"
    assert set(jobs.format.columns) == {"id", "submit", "duration", "gpus", "kind"}
    assert (jobs.format.layout.separator, jobs.format.layout.quoted) == (";", True)


def test_a_recipe_survives_its_own_document() -> None:
    first = recipe(services=[{"id": "a", "file": "d", "preset": "servegen", "peak_share": 0.4}])
    assert ProblemRecipe.from_document(first.model_dump(mode="json")) == first


def test_files_are_relative_to_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("nodes: [{name: a, gpus: 4}]", encoding="utf-8")
    (tmp_path / "recipe.yaml").write_text(
        "cluster: mine.yaml\njobs: {file: jobs.csv, preset: helios-venus, day: 2020-05-14}\n", encoding="utf-8"
    )
    found = read_recipe(tmp_path / "recipe.yaml")
    assert found.cluster.gpu_count == 4
    assert found.jobs is not None
    assert found.jobs.file == tmp_path / "jobs.csv"


def test_every_fault_is_told_at_once() -> None:
    service = {"id": "a", "file": "d", "preset": "servegen", "peak_share": 0.4, "headroom": 0.2}
    jobs = JOBS | {"preset": "helios", "extra": 1}
    with pytest.raises(InputError) as caught:
        recipe(cluster="2x8:", jobs=jobs, services=[service], seed=-1)
    told = [str(fault) for fault in caught.value.faults]
    assert any(line.startswith("seed: is -1") for line in told)
    assert any(line.startswith("cluster: '2x8:' is no part of a cluster") for line in told)
    assert any(line.startswith("jobs: 'helios' is no preset; choose one of helios-venus, helios-raw") for line in told)
    assert any(line.startswith("services[0]: both headroom and peak_share are given") for line in told)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"jobs": None}, "neither jobs nor services are given; name a log of jobs or of demand"),
        ({"jobs": {"file": "x", "day": 0}}, "jobs: neither preset nor format is given; choose a preset (helios-venus"),
        ({"jobs": JOBS | {"kinds": {"training": 0}}}, "jobs.kinds: the shares are all 0"),
        ({"jobs": JOBS | {"kinds": {"trainig": 1}}}, "jobs.kinds.trainig"),
        ({"jobs": JOBS | {"day": "noon"}}, "jobs.day: 'noon' is no day; write 2020-05-14"),
        ({"jobs": JOBS | {"day_zone": "Mars"}}, "jobs.day_zone: 'Mars' is no time zone that is known"),
        (
            {"jobs": JOBS | {"preset": "gavel", "day": 0}},
            "jobs.format.duration_unit: the log's 'total_steps' is not in seconds",
        ),
        ({"jobs": JOBS | {"format": {"columns": {"gpus": None}}}}, "jobs.format.columns: no column for gpus"),
        ({"services": [{"id": "a", "file": "d", "preset": "servegen"}]}, "neither throughput nor peak_share is given"),
        (
            {"services": [{"id": "a", "file": "d", "preset": "servegen", "throughput": {}}]},
            "services[0].throughput: states nothing; give requests, input_tokens or output_tokens",
        ),
        (
            {"jobs": None, "services": [{"id": "a", "file": "d", "preset": "servegen", "peak_share": 1.0}]},
            "a service has no day, and there are no jobs to take it from",
        ),
        ({"cluster": "nowhere.yaml"}, "nowhere.yaml: cannot be read"),
    ],
)
def test_what_is_no_recipe_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        recipe(**changes)
    assert message in str(caught.value)


def test_a_column_that_no_declared_header_names() -> None:
    form = {"columns": {"kind": "colour"}, "duration_unit": 1.0}
    with pytest.raises(
        InputError, match=r"columns.kind: 'colour' is not in the declared header; name one of type, comm"
    ):
        recipe(jobs=JOBS | {"preset": "gavel", "day": 0, "format": form})


def test_options_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("jobs.csv").write_text(jobs_text("a,2026-03-03 05:00:00,60,1"), encoding="utf-8")
    Path("d.csv").write_text(demand_text("0,5", "3600,6"), encoding="utf-8")
    found = recipe_from_options(
        cluster="2x8:A100-40GB",
        jobs="jobs.csv",
        columns="id=id,submit=submit,duration=seconds,gpus=gpus",
        zone="UTC",
        day="2026-03-03",
        priorities="1,2.5",
        kinds="quantization=1",
        max_jobs=5,
        seed=3,
        step_minutes=30.0,
        steps=12,
        name="mine",
        services=[
            "id=007,file=d.csv,format.columns.time=t_s,format.columns.rate=rate,format.times=seconds,day=0,requests=2,held=true"
        ],
    )
    problem, _ = build_problem(found)
    assert (problem.name, problem.horizon.steps, problem.jobs[0].kind) == ("mine", 12, "quantization")
    assert problem.jobs[0].priority in {1.0, 2.5}
    assert (problem.services[0].id, problem.services[0].demand[:3]) == ("007", (3, 3, 4))
    assert problem.services[0].held == (13, 14, 15)


def test_options_lie_over_a_document(tmp_path: Path) -> None:
    document = tmp_path / "r.yaml"
    document.write_text(
        "name: base\ncluster: 2x8\nhorizon: {steps: 5, step_minutes: 10}\n"
        "jobs: {file: j.csv, preset: helios-venus, format: {zone: UTC}, day: 2020-05-14}\n",
        encoding="utf-8",
    )
    found = recipe_from_options(recipe=document, steps=7, day="2020-05-15", columns="kind=k", name=None)
    assert (found.name, found.horizon.steps, found.horizon.step_minutes) == ("base", 7, 10)
    assert found.jobs is not None
    assert found.jobs.file == tmp_path / "j.csv"
    assert (found.jobs.format.zone, found.jobs.format.columns["kind"]) == ("UTC", "k")
    assert found.jobs.day == recipe(jobs=JOBS | {"day": "2020-05-15"}).jobs.day  # type: ignore[union-attr]


def test_a_day_without_jobs_is_that_of_the_services() -> None:
    found = recipe_from_options(cluster="2x8", day="3", services=["id=a,file=d,preset=servegen,peak_share=0.5"])
    assert (found.jobs, found.services[0].day) == (None, 3.0)


def test_a_null_takes_a_column_of_the_preset_away() -> None:
    service = "id=a,file=d,preset=servegen,day=0,peak_share=0.5,format.columns.coverage=null"
    found = recipe_from_options(cluster="2x8", services=[service])
    assert set(found.services[0].format.columns) == {"time", "rate", "input_tokens", "output_tokens"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id", "--columns: 'id' is no pair; write NAME=VALUE, joined by commas"),
        ("id=,gpus=x", "--columns: 'id=' is no pair"),
        ("id=a,id=b", "--columns: 'id' appears twice; name it once"),
    ],
)
def test_what_is_no_list_of_pairs_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_pairs(text, "--columns")
    assert message in str(caught.value)


def test_services_take_the_day_of_the_jobs_in_their_zone(tmp_path: Path) -> None:
    demand = demand_text("2026-03-02 16:00:00,5", "2026-03-02 17:00:00,9", "2026-03-03 00:00:00,1")
    form = {"zone": "UTC", "columns": {"time": "t_s", "rate": "rate"}}
    changes = {"jobs.format.zone": "Asia/Shanghai", "services.format": form, "services.day": None}
    built = recipe_with(tmp_path, jobs=jobs_text("a,2026-03-03 05:00:00,60,1"), demand=demand, **changes)
    problem, report = build_problem(built)
    assert problem.services[0].demand[:3] == (5, 9, 9)
    assert problem.services[0].demand[8] == 1
    assert report.services[0].missing_bins == 21


def test_every_preset_says_what_is_odd_about_it() -> None:
    assert all(preset.oddities for preset in JOB_PRESETS.values())
