"""Reading a log of jobs: gangs, doubled ids, impossible rows, and every bad row with its line."""

from __future__ import annotations

import pytest

from loadfactor.errors import InputError
from loadfactor.sources import JobFormat, read_jobs
from loadfactor.sources.jobs import bad_row_count
from tests.sources.logs import SIMPLE_JOBS, jobs_text

STARTED = JobFormat(columns={"submit": "submit", "start": "start", "end": "end", "gpus": "gpus"}, times="seconds")


def test_bad_rows_are_listed_with_their_lines_and_the_others_kept() -> None:
    text = jobs_text(
        "a,2026-03-03 00:00:00,60,1",
        "b,yesterday,60,many",
        "c,,60,1",
        "d,2026-03-03 00:00:00,60",
        "e,2026-03-03 00:00:00,60,1",
    )
    log = read_jobs(text.encode(), SIMPLE_JOBS, "jobs.csv")
    assert log.frame["id"].to_list() == ["a", "e"]
    assert [str(fault).split(";")[0] for fault in log.bad_rows] == [
        "jobs.csv:3: submit is 'yesterday', which is no moment that existed",
        "jobs.csv:3: gpus is 'many', which is no number of 0 or more",
        "jobs.csv:4: states no moment at which it was submitted or started",
        "jobs.csv:5: has 3 cells, and the table has 4 columns",
    ]
    assert (log.rows_read, bad_row_count(log.bad_rows)) == (5, 3)


def test_an_end_before_the_start_is_a_bad_row() -> None:
    log = read_jobs(b"submit,start,end,gpus\n0,10,5,1\n0,10,25,1\n", STARTED, "log")
    assert log.bad_rows[0].fact == "ends 5 s before it starts"
    assert log.frame["duration_s"].to_list() == [15]


def test_jobs_without_an_id_are_named_after_their_line() -> None:
    log = read_jobs(b"submit,start,end,gpus\n0,10,25,1\n0,10,,1\n", STARTED, "log")
    assert log.frame.select("id", "duration_s").rows() == [("line-2", 15), ("line-3", None)]


def test_a_second_row_of_an_id_gets_an_id_of_its_own() -> None:
    rows = [f"{name},2026-03-03 00:00:00,60,1" for name in "aba"]
    log = read_jobs(jobs_text(*rows).encode(), SIMPLE_JOBS, "log")
    assert log.frame["id"].to_list() == ["a", "b", "a#2"]


def test_the_tasks_of_a_gang_are_one_job() -> None:
    form = SIMPLE_JOBS.model_copy(update={"times": "seconds", "same_id": "sum"})
    log = read_jobs(jobs_text("a,100,50,4", "b,0,1,1", "a,90,30,2").encode(), form, "log")
    assert log.frame.select("id", "submit_s", "duration_s", "gpus").rows() == [("a", 90, 60, 6), ("b", 0, 1, 1)]
    assert log.merged == 1


def test_cells_that_say_nothing_are_no_bad_cells() -> None:
    log = read_jobs(jobs_text("a,2026-03-03 00:00:00,Unknown,None").encode(), SIMPLE_JOBS, "log")
    assert log.bad_rows == ()
    assert log.frame.select("duration_s", "gpus").rows() == [(None, None)]


def test_control_characters_stay_out_of_ids() -> None:
    log = read_jobs(jobs_text("a\x1bb,2026-03-03 00:00:00,60,1").encode(), SIMPLE_JOBS, "log")
    assert log.frame["id"].to_list() == ["a?b"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"submit": "s", "duration": "d"}, "columns: no column for gpus; add gpus=COLUMN"),
        ({"gpus": "g", "duration": "d"}, "columns: no column for submit or start; add submit=COLUMN or start=COLUMN"),
        ({"gpus": "g", "submit": "s", "end": "e"}, "columns: no column for the run time; add duration=COLUMN, or both"),
        ({"gpus": "g", "submit": "s", "duration": "d", "size": "x"}, "columns.size"),
    ],
)
def test_a_format_that_cannot_do_is_refused(columns: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        JobFormat(columns=columns)
    assert message in str(caught.value)


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(InputError, match="zone: 'Mars/Base' is no time zone that is known; name a zone of the IANA"):
        JobFormat(columns=SIMPLE_JOBS.columns, zone="Mars/Base")
