"""Intervals of any scheduler's log as the table of jobs that problems and replays are built from."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadfactor.errors import InputError
from loadfactor.sources import JOB_PRESETS, JobFormat, build_problem, job_log_of, read_jobs, recipe_from_options
from loadfactor.sources.facts import JobInterval, JobState, LeftOut, Reading

HOUR = 3600.0
LOG = b"""JobID|User|JobName|Account|State|Submit|Start|End|Elapsed|Timelimit|ReqTRES|AllocTRES|NodeList
1|ada|train|vision|COMPLETED|2026-03-03T00:00:00|2026-03-03T01:00:00|2026-03-03T03:00:00|02:00:00|1-00:00:00|gres/gpu=4|gres/gpu=4|n1
2|bob|tune|text|RUNNING|2026-03-03T00:30:00|2026-03-03T02:00:00|Unknown|03:00:00|UNLIMITED|gres/gpu=2|gres/gpu=2|n2
3|bob|tune|text|PENDING|2026-03-03T04:00:00|Unknown|Unknown|00:00:00|01:00:00|gres/gpu=8||None assigned
1|ada|train|vision|FAILED|2026-03-03T05:00:00|2026-03-03T05:00:00|2026-03-03T05:30:00|00:30:00|1-00:00:00|gres/gpu=4|gres/gpu=4|n1
4|eve|cpu|text|COMPLETED|2026-03-03T00:00:00|2026-03-03T01:00:00|2026-03-03T03:00:00|02:00:00|10:00|cpu=1|cpu=1|n3
5|eve|odd|text|COMPLETED|2026-03-03T00:00:00|2026-03-03T03:00:00|2026-03-03T01:00:00||10:00|gres/gpu=1|gres/gpu=1|n3
"""
SACCT = JOB_PRESETS["sacct"].model_copy(update={"zone": "UTC"})
COLUMNS = ("line", "id", "user", "submit_s", "start_s", "duration_s", "limit_s", "gpus", "capped")


def test_a_log_of_sacct_is_a_log_of_jobs() -> None:
    log = read_jobs(LOG, SACCT, "log")
    midnight = 1_772_496_000.0
    hours = [
        (line, job, user, (submit - midnight) / HOUR, start and (start - midnight) / HOUR, *rest)
        for line, job, user, submit, start, *rest in log.frame.select(COLUMNS).rows()
    ]
    assert hours == [
        (2, "1", "ada", 0, 1, 2 * HOUR, 24 * HOUR, 4, False),
        (3, "2", "bob", 0.5, 2, 3 * HOUR, None, 2, True),
        (4, "3", "bob", 4, None, None, HOUR, 8, False),
        (5, "1#2", "ada", 5, 5, HOUR / 2, 24 * HOUR, 4, False),
    ]
    assert log.rows_read == 5
    assert [str(fault) for fault in log.bad_rows] == [
        "log:7: job 5: ends 7200 s before it starts; correct its times, or the zone of the log"
    ]


def test_an_interval_without_any_moment_is_a_bad_row() -> None:
    facts = [JobInterval(row=3, id="7", state=JobState.PENDING, gpus_requested=1)]
    log = job_log_of(Reading("log", facts, rows_read=1))
    assert log.frame.is_empty()
    assert "log:3: job 7: states no moment" in str(log.bad_rows[0])


def test_what_a_reader_left_out_is_bad() -> None:
    fault = InputError.of("log:9", "is odd", "mend it").faults[0]
    log = job_log_of(Reading("log", [], rows_read=1, left_out=(LeftOut(fault, 5.0),)))
    assert (log.rows_read, log.bad_rows) == (1, (fault,))


def test_the_zone_must_be_stated_and_columns_must_not() -> None:
    with pytest.raises(InputError, match="log: the times that sacct prints name no time zone; state the zone"):
        read_jobs(LOG, JOB_PRESETS["sacct"], "log")
    with pytest.raises(InputError, match="sacct's columns are known by their names"):
        JobFormat(reader="sacct", columns={"gpus": "AllocTRES"})


def test_a_day_of_sacct_becomes_a_problem(tmp_path: Path) -> None:
    (tmp_path / "week.psv").write_bytes(LOG)
    recipe = recipe_from_options(
        cluster="2x8", jobs=tmp_path / "week.psv", preset="sacct", zone="Europe/Berlin", day="2026-03-03"
    )
    problem, report = build_problem(recipe)
    assert sorted((job.id, job.submit) for job in problem.jobs) == [("1", 0), ("1#2", 5), ("2", 1)]
    assert report.jobs is not None
    assert (report.jobs.rows_read, report.jobs.bad_rows) == (5, 1)
    assert [entry.reason for entry in report.jobs.left_out] == ["the log states no run time"]
