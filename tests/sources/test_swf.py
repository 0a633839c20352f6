"""The Standard Workload Format: comments, unknown values, limits, and other tables of words."""

from __future__ import annotations

from loadfactor.sources import JOB_PRESETS, JobFormat, Layout, read_jobs

SWF = b"""; Version: 2.2
; UnixStartTime: 1012345678
   ;  MaxProcs: 64

    1      0   30    600   8   -1  -1    8    900  -1  1  17  3  5  1  1  -1  -1
    2    100   -1     -1  -1   -1  -1    4     -1  -1  5  18  3 -1  1  1  -1  -1
    3    200  0.5  12.25   2 11.5  -1   -1   3600  -1  0  17  3  5  1  1   1  60
    4    300    1      1   1
"""


def test_comments_unknown_values_limits_and_users() -> None:
    log = read_jobs(SWF, JOB_PRESETS["swf"], "log.swf")
    assert log.frame.select("id", "submit_s", "start_s", "duration_s", "gpus", "limit_s").rows() == [
        ("1", 0, 30, 600, 8, 900),
        ("2", 100, None, None, None, None),
        ("3", 200, 200.5, 12.25, 2, 3600),
    ]
    assert log.frame.select("user", "name", "account").rows() == [("17", "5", "3"), ("18", None, "3"), ("17", "5", "3")]
    assert [str(fault) for fault in log.bad_rows] == [
        "log.swf:8: has 5 cells, and the table has 18 columns; correct the line, or mark it as a comment"
    ]


def test_a_table_of_words_may_have_a_header() -> None:
    form = JobFormat(
        layout=Layout(syntax="words", comment="#"),
        columns={"submit": "at", "duration": "ran", "gpus": "cards"},
        times="seconds",
    )
    log = read_jobs(b"# a log\nat  ran\tcards\n5 7 2\n# more\n6 8 1\n", form, "log")
    assert log.frame.select("id", "submit_s", "duration_s", "gpus").rows() == [("line-3", 5, 7, 2), ("line-5", 6, 8, 1)]
