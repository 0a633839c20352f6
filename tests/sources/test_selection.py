"""Which jobs a day holds, in steps and blocks, and that every row of the log is accounted for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadfactor.errors import InputError
from loadfactor.model import Job, Problem
from loadfactor.sources import BuildReport, JobsReport, build_problem
from tests.sources.logs import jobs_text, recipe_with


def built(directory: Path, *rows: str, **changes: Any) -> tuple[Problem, JobsReport]:
    columns = changes.pop("columns", "id,submit,seconds,gpus")
    problem, report = build_problem(recipe_with(directory, jobs=jobs_text(*rows, columns=str(columns)), **changes))
    assert report.jobs is not None
    assert_accounted(report)
    return problem, report.jobs


def assert_accounted(report: BuildReport) -> None:
    jobs = report.jobs
    assert jobs is not None
    told = jobs.bad_rows + jobs.merged + jobs.outside + jobs.submitted + jobs.waiting + jobs.running
    assert jobs.rows_read == told + sum(entry.jobs for entry in jobs.left_out)


def left_out(report: JobsReport) -> dict[str, int]:
    return {entry.reason: entry.jobs for entry in report.left_out}


def only(problem: Problem) -> Job:
    (job,) = problem.jobs
    return job


@pytest.mark.parametrize(
    ("moment", "step"),
    [("2026-03-03 00:00:00", 0), ("2026-03-03 00:00:01", 1), ("2026-03-03 01:00:00", 1), ("2026-03-03 22:59:59", 23)],
)
def test_a_job_is_never_planned_before_it_was_submitted(tmp_path: Path, moment: str, step: int) -> None:
    problem, _ = built(tmp_path, f"a,{moment},60,1")
    assert only(problem).submit == step


@pytest.mark.parametrize(("seconds", "steps"), [(1, 1), (3600, 1), (3601, 2), (7200, 2), (200_000, 56)])
def test_run_times_are_rounded_up_to_whole_steps(tmp_path: Path, seconds: int, steps: int) -> None:
    problem, _ = built(tmp_path, f"a,2026-03-03 05:00:00,{seconds},1")
    assert only(problem).duration == steps


def test_the_half_open_day(tmp_path: Path) -> None:
    rows = ("ended,2026-03-02 22:00:00,7200,1", "first,2026-03-03 00:00:00,60,1", "next,2026-03-04 00:00:00,60,1")
    problem, report = built(tmp_path, *rows)
    assert only(problem).id == "first"
    assert report.outside == 2


def test_a_job_that_runs_at_midnight_is_inherited(tmp_path: Path) -> None:
    problem, report = built(tmp_path, "a,2026-03-02 22:00:00,9000,3")
    job = only(problem)
    assert job.running is not None
    assert (job.running.remaining, job.running.gpus, job.submit, job.duration) == (1, (0, 1, 2), 0, 1)
    assert (report.running, report.running_gpu_hours, report.padded_jobs) == (1, 1.5, 0)


def test_a_known_start_tells_waiting_from_running(tmp_path: Path) -> None:
    columns = {"id": "id", "submit": "submit", "start": "start", "duration": "seconds", "gpus": "gpus"}
    rows = ("w,2026-03-02 22:00:00,2026-03-03 07:00:00,60,1", "r,2026-03-02 22:00:00,2026-03-02 23:30:00,3600,1")
    problem, report = built(
        tmp_path, *rows, columns="id,submit,start,seconds,gpus", **{"jobs.format": {"zone": "UTC", "columns": columns}}
    )
    assert [(job.id, job.submit, job.running is not None) for job in problem.jobs] == [("r", 0, True), ("w", 0, False)]
    assert (report.waiting, report.running, report.submitted) == (1, 1, 0)


@pytest.mark.parametrize(("block_sizes", "asked", "given"), [
    ("power_of_two", 3, 4), ("power_of_two", 8, 8), ("power_of_two", 12, 16), ("power_of_two", 24, 32),
    ("whole_nodes", 3, 4), ("whole_nodes", 12, 16), ("whole_nodes", 20, 24), ("whole_nodes", 24, 24),
])  # fmt: skip
def test_padding_to_the_next_block(tmp_path: Path, block_sizes: str, asked: int, given: int) -> None:
    problem, report = built(tmp_path, f"a,2026-03-03 05:00:00,7200,{asked}", cluster="4x8", block_sizes=block_sizes)
    assert only(problem).gpus.min == only(problem).gpus.max == given
    assert report.padding_gpu_hours == 2 * (given - asked)


def test_padding_knows_nodes_of_six(tmp_path: Path) -> None:
    problem, report = built(tmp_path, "a,2026-03-03 05:00:00,60,3", "b,2026-03-03 05:00:00,60,5", cluster="2x6")
    assert only(problem).gpus.min == 4
    assert left_out(report) == {"needs more GPUs than any block of this cluster has": 1}  # 8 is neither in nor of nodes


def test_shares_of_a_gpu_are_rounded_up_and_reported(tmp_path: Path) -> None:
    problem, report = built(tmp_path, "a,2026-03-03 05:00:00,3600,0.25")
    assert (only(problem).gpus.min, report.padding_gpu_hours) == (1, 0.75)


def test_what_is_left_out_and_why(tmp_path: Path) -> None:
    rows = (
        "kept,2026-03-03 05:00:00,60,1",
        "cpu,2026-03-03 05:00:00,60,0",
        "instant,2026-03-03 05:00:00,0,1",
        "unknown,2026-03-03 05:00:00,,1",
        "big,2026-03-03 05:00:00,3600,17",
        "late,2026-03-03 23:00:01,60,1",
    )
    problem, report = built(tmp_path, *rows)
    assert only(problem).id == "kept"
    assert left_out(report) == {
        "uses no GPU": 1,
        "the log states no run time": 1,
        "ran for no time": 1,
        "needs more GPUs than any block of this cluster has": 1,
        "submitted within the last step, when nothing can start": 1,
    }
    big = next(entry for entry in report.left_out if "any block" in entry.reason)
    assert (big.gpu_hours, big.lines) == (17.0, (6,))


def test_running_jobs_without_room_are_left_out(tmp_path: Path) -> None:
    rows = [f"{name},2026-03-02 22:00:00,36000,8" for name in "abc"]
    problem, report = built(tmp_path, *rows)
    assert [job.id for job in problem.jobs] == ["a", "b"]
    assert left_out(report) == {"running at the start of the day, and the cluster has no room left for it": 1}


def test_running_jobs_are_cut_where_all_ends_must_lie_inside(tmp_path: Path) -> None:
    row = "a,2026-03-02 22:00:00,360000,1"
    open_ended, _ = built(tmp_path, row)
    inside, report = built(tmp_path, row, **{"horizon.finish_inside": True})
    assert only(open_ended).duration == 98
    assert (only(inside).duration, report.cut_jobs) == (24, 1)


def test_kinds_and_priorities_of_the_log_beat_the_draw(tmp_path: Path) -> None:
    columns = {"id": "id", "submit": "submit", "duration": "seconds", "gpus": "gpus", "kind": "k", "priority": "p"}
    form = {"zone": "UTC", "columns": columns, "kinds": {"Evaluation": "batch_inference"}}
    rows = [
        f"{kind},2026-03-03 05:00:00,60,1,{kind},{p}"
        for kind, p in (("Evaluation", 3), ("quantization", ""), ("Other", 0))
    ]
    problem, _ = built(
        tmp_path, *rows, columns="id,submit,seconds,gpus,k,p", **{"jobs.format": form, "jobs.priorities": [7]}
    )
    found = [(job.kind, job.priority) for job in problem.jobs]
    assert found == [("batch_inference", 3), ("quantization", 7), ("training", 0)]


def test_draws_depend_on_the_seed_and_the_id_alone(tmp_path: Path) -> None:
    rows = [f"job-{number},2026-03-03 05:00:00,60,1" for number in range(200)]
    draw = {"jobs.priorities": [1, 2, 4, 8], "jobs.kinds": {"training": 3, "quantization": 1}}

    def drawn(*kept: str, seed: int = 0) -> dict[str, tuple[str, float]]:
        problem, _ = built(tmp_path, *kept, **{**draw, "seed": seed})
        return {job.id: (job.kind, job.priority) for job in problem.jobs}

    whole = drawn(*rows)
    assert drawn(*reversed(rows[50:90])) == {job: value for job, value in whole.items() if 50 <= int(job[4:]) < 90}
    assert drawn(*rows, seed=1) != whole
    counts = [sum(priority == wanted for _, priority in whole.values()) for wanted in (1, 2, 4, 8)]
    assert min(counts) > 30
    assert 120 < sum(kind == "training" for kind, _ in whole.values()) < 180


def test_a_sample_is_a_subset_and_grows(tmp_path: Path) -> None:
    rows = [f"job-{number},2026-03-03 05:00:00,60,1" for number in range(50)]

    def sample(most: int, seed: int = 0) -> set[str]:
        problem, report = built(tmp_path, *rows, **{"jobs.max_jobs": most, "seed": seed})
        assert report.left_out[0].reason == f"not drawn into the sample of {most} jobs"
        return {job.id for job in problem.jobs}

    assert len(sample(10)) == 10
    assert sample(10) < sample(20)
    assert sample(10) != sample(10, seed=1)


def test_scaling(tmp_path: Path) -> None:
    changes = {"jobs.scale_gpus": 0.5, "jobs.scale_duration": 3.0}
    problem, _ = built(tmp_path, "a,2026-03-03 05:00:00,3600,8", **changes)
    assert (only(problem).gpus.min, only(problem).duration) == (4, 3)


def test_a_scaled_run_time_may_reach_into_the_day(tmp_path: Path) -> None:
    problem, _ = built(tmp_path, "a,2026-03-02 22:00:00,3600,1", **{"jobs.scale_duration": 3.0})
    assert only(problem).running is not None


def test_numbers_beyond_every_limit_are_no_traceback(tmp_path: Path) -> None:
    columns = {"id": "id", "submit": "submit", "duration": "seconds", "gpus": "gpus", "priority": "p"}
    form = {"times": "epoch_seconds", "zone": "UTC", "columns": columns, "gpus_unit": 10.0}
    cells = ("18000,60,0.1,1e9", "18000,1e300,0.1,1", "18000,60,1e300,1", "18000,60,1e308,1", "1e300,1e300,1,1")
    rows = ["kept,18000,60,0.1,1", *(f"j,{cell}" for cell in cells)]
    changes = {"jobs.format": form, "jobs.day": 0, "columns": "id,submit,seconds,gpus,p"}
    problem, report = built(tmp_path, *rows, **changes)
    assert only(problem).id == "kept"
    assert (sum(left_out(report).values()), report.bad_rows, report.outside) == (3, 1, 1)


def test_a_day_without_jobs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"none of its 1 rows belongs to the day 2026-03-03.*from 2026-01-01 to 2026-01-01"
    ):
        built(tmp_path, "a,2026-01-01 22:00:00,60,1")


def test_a_day_of_which_nothing_is_left_says_why(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"every job of the day .* is left out \(1 uses no GPU\)"):
        built(tmp_path, "a,2026-03-03 22:00:00,60,0")


def test_a_log_of_bad_rows_alone_names_them(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"jobs.csv:2: submit is 'x', which is no moment.*\n.*jobs.csv:3: submit is 'y'"
    ):
        built(tmp_path, "a,x,60,1", "b,y,60,1")


def test_a_short_day_has_23_steps_and_its_local_midnight(tmp_path: Path) -> None:
    rows = ("a,2026-03-29 00:30:00,60,1", "b,2026-03-29 03:30:00,60,1", "gone,2026-03-29 02:30:00,60,1")
    problem, report = built(tmp_path, *rows, **{"jobs.day": "2026-03-29", "jobs.format.zone": "Europe/Berlin"})
    assert problem.horizon.steps == 23
    assert problem.horizon.start is not None
    assert problem.horizon.start.isoformat() == "2026-03-28T23:00:00+00:00"
    assert [job.submit for job in problem.jobs] == [1, 3]
    assert report.bad_rows == 1


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.integers(-40, 30), st.integers(0, 50_000), st.floats(0, 20)), min_size=1, max_size=40),
    st.sampled_from(["power_of_two", "whole_nodes"]),
)
def test_every_row_is_accounted_for_and_the_problem_is_sound(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, float]], block_sizes: str
) -> None:
    directory = tmp_path_factory.mktemp("logs")
    text = [f"job,{172_800 + 3600 * hour},{seconds},{gpus:.2f}" for hour, seconds, gpus in rows]
    columns = {"id": "id", "submit": "submit", "duration": "seconds", "gpus": "gpus"}
    form = {"times": "seconds", "columns": columns}
    try:
        built(
            directory, *text, **{"jobs.format": form, "jobs.day": 2, "block_sizes": block_sizes, "cluster": "1x4,2x8"}
        )
    except InputError as error:
        assert "belongs to the day" in str(error) or "is left out" in str(error)  # noqa: PT017
