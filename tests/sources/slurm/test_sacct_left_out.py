"""What is no interval: rows that contradict themselves or cannot be read, and files that are no log of sacct."""

from __future__ import annotations

import gzip
from datetime import UTC
from pathlib import Path

import pytest

from loadfactor.errors import InputError
from loadfactor.sources.slurm.sacct import read_sacct
from tests.sources.slurm.sacct_logs import GOOD, RUNNING, WAITING, read, text_of

PENDING = {"State": "PENDING", **WAITING}
CONTRADICTIONS = [
    ({"End": "2026-03-02T08:59:00", "Elapsed": ""}, "ends 60 s before it starts", None),
    ({"State": "RUNNING"}, "is RUNNING and yet ended at 2026-03-02 11:00:00 UTC", 28_800),
    ({"Submit": "2026-03-02T10:00:00"}, "starts 3600 s before it was submitted", 28_800),
    ({"NodeList": "None assigned"}, "holds 4 GPUs and yet no node", 28_800),
    ({"Start": "Unknown"}, "is COMPLETED and yet has no start", 28_800),
    ({"End": "Unknown", "Elapsed": ""}, "is COMPLETED and yet has neither an end nor a run time", None),
    (RUNNING | {"Start": "Unknown", "Elapsed": ""}, "is RUNNING and yet has no start", None),
    (PENDING | {"Start": GOOD["Start"]}, "is PENDING and yet started at 2026-03-02 09:00:00 UTC", 0),
    (PENDING | {"End": GOOD["End"]}, "is PENDING and yet ended at 2026-03-02 11:00:00 UTC", 0),
    ({"JobID": "7_[1-3]"}, "stands for 3 waiting tasks of an array and yet started", 28_800),
    ({"State": "CANCELLED", **WAITING, "End": "2026-03-02T07:00:00"}, "ends 3600 s before it was submitted", 0),
]
UNREADABLE = [
    ({"Start": "soon"}, "start: 'soon' is no moment", 28_800),
    ({"AllocTRES": "gres/gpu=many"}, "alloctres: 'many' is no count", None),
    ({"JobID": "7_[3-1]"}, "jobid: '7_[3-1]' holds '3-1', which is no range of tasks", 28_800),
    ({"Elapsed": "long", "End": "x"}, "end: 'x' is no moment", None),
]


@pytest.mark.parametrize(("row", "fact", "seconds"), [*CONTRADICTIONS, *UNREADABLE], ids=lambda value: str(value)[:40])
def test_the_row_is_left_out_with_its_line_the_reason_and_what_is_at_stake(
    row: dict[str, str], fact: str, seconds: float | None
) -> None:
    reading = read({"JobID": "1"}, row)
    (entry,) = reading.left_out
    assert [interval.id for interval in reading.facts] == ["1"]
    assert entry.fault.path == "log:3"
    assert entry.fault.fact == f"job {(GOOD | row)['JobID']}: {fact}"
    assert entry.fault.remedy
    assert entry.gpu_seconds == seconds


def test_too_few_cells() -> None:
    reading = read_sacct(text_of({}) + b"sacct: error: slurmdbd went away\n", zone=UTC, name="log")
    (entry,) = reading.left_out
    assert entry.fault.path == "log:3"
    assert "has 1 cells, and the log has 20 columns" in entry.fault.fact
    assert reading.rows_read == len(reading.facts) + len(reading.left_out)


def test_a_damaged_line_is_no_reason_to_refuse_a_long_log() -> None:
    rows = text_of(*({"JobID": str(number)} for number in range(1, 100)))
    reading = read_sacct(rows + b"\0" * 50 + b"\n" + text_of({}), zone=UTC, name="log")
    assert [entry.fault.path for entry in reading.left_out] == ["log:101"]
    assert len(reading.facts) == 100


GZIPPED_TWICE = gzip.compress(gzip.compress(text_of({})))
NO_LOGS = [
    (b"", "is empty"),
    (b" \n\n", "is empty"),
    (text_of(), "holds no row"),
    (b'{"jobs": []}', "looks like JSON"),
    (b"\n[1, 2]", "looks like JSON"),
    (b"<!DOCTYPE html><html></html>", "looks like HTML or XML"),
    (b"id,submit,gpus\n1,2,3\n", "looks like CSV"),
    (b"id\tsubmit\n1\t2\n", "looks like a table separated by tabs"),
    (b"JobID           JobName  Partition\n------------ ---------- ----------\n", "prints without -P"),
    (b"sacct: error: Slurm accounting storage is disabled\n", "looks like a message of Slurm"),
    (b"\x7fELF\0\0\0", "looks like a binary file"),
    (b"PK\x03\x04rest", "looks like a zip archive"),
    ("JobID|Start".encode("utf-16"), "looks like UTF-16 text"),
    (b"SQLite format 3\0", "looks like an SQLite database"),
    (GZIPPED_TWICE, "is a gzip file inside a gzip file"),
    (gzip.compress(text_of({}))[:-12], "is a damaged gzip file"),
    (b"123|gpu|2026\n", "which is no header of sacct"),
    (b"JobID|State|User\n1|RUNNING|ada\n", "has no column Start"),
    (b"JobID|Start|AllocTRES\n1|2026-03-02T09:00:00|gres/gpu=1\n", "has neither End nor Elapsed"),
    (b"JobID|Start|End|State\n1|2|3|RUNNING\n", "has no column that names GPUs"),
    (text_of({}).partition(b"\n")[0] + b"\nnonsense\nmore\n", "has 1 cells, and the log has 20 columns"),
]


@pytest.mark.parametrize(("content", "fact"), NO_LOGS, ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_no_log_is_refused_saying_what_it_looks_like(content: bytes, fact: str) -> None:
    with pytest.raises(InputError) as error:
        read_sacct(content, zone=UTC, name="log")
    assert fact in str(error.value)
    assert all(fault.path and fault.remedy for fault in error.value.faults)


def test_given_columns_do_not_make_a_log_of_anything() -> None:
    with pytest.raises(InputError, match="looks like JSON"):
        read_sacct(b'{"jobs": []}', zone=UTC, columns=[*GOOD])
    with pytest.raises(InputError, match="columns: has no column Start"):
        read_sacct(b"1|2|3\n", zone=UTC, columns=["JobID", "End", "AllocTRES"])


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"jobs.psv: cannot be read \(No such file"):
        read_sacct(tmp_path / "jobs.psv", zone=UTC)
    with pytest.raises(InputError, match="cannot be read"):
        read_sacct(tmp_path, zone=UTC)
