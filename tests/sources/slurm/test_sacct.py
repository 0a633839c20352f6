"""Every shape of a row of sacct -P, with what it means worked out by hand."""

from __future__ import annotations

import gzip
import math
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from loadfactor.sources.facts import JobState, NodeGpus
from loadfactor.sources.slurm.sacct import read_sacct
from tests.sources.slurm.sacct_logs import BERLIN, GOOD, RUNNING, WAITING, gpu_seconds, one, read, text_of

NINE = datetime(2026, 3, 2, 9, tzinfo=UTC).timestamp()


def without(*columns: str) -> tuple[str, ...]:
    """Return the usual columns but these."""
    return tuple(column for column in GOOD if column not in columns)


def test_every_cell_of_a_row() -> None:
    interval = one({"State": "CANCELLED by 1234", "ExitCode": "0:15"})
    assert (interval.row, interval.id, interval.state) == (2, "100", JobState.CANCELLED)
    assert (interval.name, interval.user, interval.account) == ("train", "ada", "vision")
    assert (interval.partition, interval.quality_of_service) == ("gpu", "normal")
    assert (interval.submitted, interval.eligible) == (NINE - 3600, NINE - 3600)
    assert (interval.started, interval.ended, interval.limit_seconds) == (NINE, NINE + 7200, 86_400)
    assert (interval.gpus, interval.gpus_requested, interval.gpu_type) == (4, 4, "a100")
    assert (interval.node_count, interval.node_gpus) == (1, (NodeGpus("gpu001", 4),))
    assert (interval.memory_requested_mib, interval.exit_code) == (131_072, 143)


def test_columns_in_any_case_and_order_and_with_a_last_separator() -> None:
    plain = read({}, {"JobID": "101"})
    backwards = read({}, {"JobID": "101"}, columns=tuple(reversed(GOOD)))
    header, _, body = text_of({}, {"JobID": "101"}).partition(b"\n")
    trailing = "".join(f"{line}|\n" for line in text_of({}, {"JobID": "101"}).decode().splitlines()).encode()
    assert backwards.facts == plain.facts
    assert read_sacct(trailing, zone=UTC).facts == plain.facts
    for other in (header.upper(), header.lower()):
        assert read_sacct(other + b"\n" + body, zone=UTC).facts == plain.facts


def test_without_a_header() -> None:
    body = text_of({}).partition(b"\n")[2]
    assert read_sacct(body, zone=UTC, columns=[*GOOD]).facts[0].gpus == 4
    assert read_sacct(body, zone=UTC, columns=[f"{name.lower()}%30" for name in GOOD]).facts[0].row == 1


def test_gzip_crlf_byte_order_mark_latin_and_a_cut_last_line() -> None:
    text = text_of({"JobName": "Gärung"}, {"JobID": "101"}, end="\r\n").decode()
    plain = read_sacct(text.encode(), zone=UTC)
    assert plain.facts[0].name == "Gärung"
    assert plain.facts[1].node_gpus == (NodeGpus("gpu001", 4),)
    assert read_sacct(gzip.compress(text.encode()), zone=UTC).facts == plain.facts
    assert read_sacct(b"\xef\xbb\xbf" + text.encode(), zone=UTC).facts == plain.facts
    latin = read_sacct(text.encode("latin-1"), zone=UTC)
    assert latin.facts == plain.facts
    assert latin.notes == ("1 lines are not in UTF-8 and were read as Latin-1",)
    cut = read_sacct(text.encode()[:-60], zone=UTC, name="log")
    assert len(cut.facts) == 1
    assert cut.left_out[0].fault.path == "log:3"
    assert cut.notes == ("the last line is cut: the log may go on beyond it",)


def test_arrays_heterogeneous_jobs_steps_and_requeues() -> None:
    reading = read(
        {"JobID": "2653343_[3-4%2]", "State": "PENDING", **WAITING},
        {"JobID": "4103947_[9-11,13,16-20]", "State": "PENDING", **WAITING},
        {"JobID": "123_7"},
        {"JobID": "67767+0"},
        {"JobID": "67767+1"},
        {"JobID": "123_7.batch"},
        {"JobID": "67767+0.0"},
        {"JobID": "500", "State": "REQUEUED", "End": "2026-03-02T09:10:00", "Elapsed": "00:10:00"},
        {"JobID": "500", "State": "NODE_FAIL", "Submit": "2026-03-02T09:10:00", "Start": "2026-03-02T10:00:00"}
        | {"Elapsed": "01:00:00"},
    )
    assert reading.left_out == ()
    assert reading.notes == ()
    assert [entry.count for entry in reading.facts] == [2, 9, 1, 1, 1, 1, 1]
    assert [entry.gpus for entry in reading.facts] == [0, 0, 4, 4, 4, 4, 4]
    assert [entry.gpus_requested for entry in reading.facts[:2]] == [4, 4]
    assert [entry.state for entry in reading.facts[-2:]] == [JobState.REQUEUED, JobState.NODE_FAIL]
    assert gpu_seconds(reading) == 4 * (3 * 7200 + 600 + 3600)
    assert (reading.rows_read, reading.rows_of_steps) == (9, 2)


def test_running_and_never_started() -> None:
    reading = read(
        {"JobID": "1", **RUNNING},
        {"JobID": "2", "State": "COMPLETING", "End": "Unknown", "Elapsed": "03:00:00"},
        {"JobID": "3", "State": "CANCELLED by 7", **WAITING, "Start": GOOD["End"], "End": GOOD["End"]},
        {"JobID": "4", "State": "CANCELLED", **WAITING, "Start": "None", "End": GOOD["End"]},
    )
    assert reading.left_out == ()
    assert [entry.ended for entry in reading.facts] == [None, None, NINE + 7200, NINE + 7200]
    assert [entry.started for entry in reading.facts] == [NINE, NINE, None, None]
    assert [entry.gpus for entry in reading.facts] == [4, 4, 0, 0]
    assert reading.written_at == NINE + 3 * 3600


def test_old_columns_of_generic_resources() -> None:
    columns = (*without("AllocTRES", "ReqTRES"), "AllocGRES", "ReqGRES")
    row = {"AllocGRES": "gpu:v100:2", "ReqGRES": "gpu:3"}
    interval = one(row, columns=columns)
    assert (interval.gpus, interval.gpus_requested, interval.gpu_type) == (2, 3, "v100")


def test_only_what_was_asked_for_is_known() -> None:
    reading = read({}, {"JobID": "2", "State": "PENDING", **WAITING}, columns=without("AllocTRES"))
    assert [entry.gpus for entry in reading.facts] == [4, 0]
    assert reading.notes == ("the log does not say which GPUs jobs held: those that they asked for are taken",)


def test_jobs_without_gpus_are_counted_only() -> None:
    reading = read(
        {},
        {"JobID": "2", "AllocTRES": "cpu=4,node=1", "ReqTRES": "cpu=4,node=1"},
        {"JobID": "3", "AllocTRES": "cpu=4,node=1"},
        {"JobID": "4", "AllocTRES": "gres/shard=4,cpu=1", "ReqTRES": "gres/shard=4,cpu=1"},
    )
    assert [(entry.id, entry.gpus, entry.gpus_requested) for entry in reading.facts] == [("100", 4, 4), ("3", 0, 4)]
    assert (reading.rows_read, reading.rows_without_gpus) == (4, 2)
    assert len(reading.notes) == 2


def test_slices_are_noted() -> None:
    reading = read({"AllocTRES": "gres/gpu:1g.10gb=2", "ReqTRES": "gres/gpu:1g.10gb=2"})
    assert (reading.facts[0].gpus, reading.facts[0].gpu_type) == (2, "1g.10gb")
    assert reading.notes == ("1 jobs on slices of GPUs (MIG): each slice is counted as a GPU",)


def test_several_nodes_do_not_tell_how_many_gpus_each_has() -> None:
    gpus = {"AllocTRES": "gres/gpu=6,node=2", "NodeList": "gpu[007-008]", "NNodes": "2", "ReqMem": "1Gn"}
    interval = one(gpus)
    assert interval.node_gpus == (NodeGpus("gpu007", None), NodeGpus("gpu008", None))
    assert interval.memory_requested_mib == 2048


@pytest.mark.parametrize(
    ("column", "limit", "seconds"),
    [
        ("Timelimit", "UNLIMITED", math.inf),
        ("Timelimit", "Partition_Limit", None),
        ("Timelimit", "12-14:16:39", 1_088_199),
        ("Timelimit", "08:30", 510),
        ("TimelimitRaw", "90", 5_400),
    ],
)
def test_limits(column: str, limit: str, seconds: float | None) -> None:
    assert one({column: limit}, columns=(*without("Timelimit"), column)).limit_seconds == seconds


def test_epochs_offsets_and_local_times_are_the_same_moments() -> None:
    epochs = {"Submit": str(int(NINE - 3600)), "Start": str(int(NINE)), "End": str(int(NINE + 7200))}
    offsets = {"Submit": "2026-03-02T03:00:00-05:00", "Start": "2026-03-02T09:00:00Z", "End": "2026-03-02T12:00:00+01"}
    local = {"Submit": "2026-03-02T09:00:00", "Start": "2026-03-02T10:00:00", "End": "2026-03-02T12:00:00"}
    expected = [(NINE - 3600, NINE, NINE + 7200)] * 3
    rows = [epochs, offsets, local]
    found = [one(row, zone=BERLIN, columns=without("Eligible")) for row in rows]
    assert [(entry.submitted, entry.started, entry.ended) for entry in found] == expected


def test_the_hour_that_comes_twice_is_settled_by_the_run_time() -> None:
    night = {"Submit": "2026-10-25T01:00:00", "Eligible": "", "Start": "2026-10-25T02:30:00"}
    two_hours = {"End": "2026-10-25T03:30:00", "Elapsed": "02:00:00"}
    one_hour = {"End": "2026-10-25T03:30:00", "Elapsed": "01:00:00"}
    inside = {"End": "2026-10-25T02:10:00", "Elapsed": "00:40:00"}
    reading = read(night | two_hours, night | one_hour | {"JobID": "2"}, night | inside | {"JobID": "3"}, zone=BERLIN)
    assert [(entry.ended or 0) - (entry.started or 0) for entry in reading.facts] == [7200, 3600, 2400]
    assert reading.notes[0].startswith("3 jobs start or end in an hour that clocks showed twice")


def test_without_a_run_time_the_earlier_reading_in_order_is_taken() -> None:
    row = {"Submit": "2026-10-25T01:00:00", "Start": "2026-10-25T02:30:00", "End": "2026-10-25T02:10:00"}
    interval = one(row, zone=BERLIN, columns=without("Elapsed", "Eligible"))
    assert (interval.ended or 0) - (interval.started or 0) == 2400


def test_a_separator_in_a_name() -> None:
    reading = read({"JobName": "a|b|c"}, {"JobID": "2", "JobName": "|"})
    assert [entry.name for entry in reading.facts] == ["a|b|c", "|"]
    assert reading.notes == ("2 rows with a | inside a text, put together again",)
    lost = read({}, {"User": "a|b"}, columns=without("JobName"))
    assert [str(entry.fault) for entry in lost.left_out] == [
        "log:3: has 20 cells, and the log has 19 columns; a text in it may hold a |; correct the line"
    ]


def test_a_separator_in_a_name_where_the_last_cell_is_empty() -> None:
    """The empty last cell must not be taken for the mark of `sacct -p`, which would shift every other cell."""
    columns = ("JobName", *without("JobName"), "Comment")
    rows = [{"JobName": "a|b", "Comment": ""}, {"JobID": "2", "Comment": ""}]
    assert [(entry.name, entry.gpus) for entry in read(*rows, columns=columns).facts] == [("a|b", 4), ("train", 4)]
    closed = text_of(*rows, columns=columns).replace(b"\n", b"|\n")
    assert [entry.name for entry in read_sacct(closed, zone=UTC).facts] == ["a|b", "train"]
    body = closed.partition(b"\n")[2]
    body = b"\n".join(reversed(body.strip().splitlines()))
    assert [entry.name for entry in read_sacct(body, zone=UTC, columns=columns).facts] == ["train", "a|b"]


def test_a_thousand_unknown_states_do_not_make_a_thousand_notes() -> None:
    reading = read(*({"JobID": str(number), "State": f"X{number}"} for number in range(1, 1_001)))
    assert len(reading.facts) == 1_000
    assert len(reading.notes) < 50
    assert sum(int(note.split()[0]) for note in reading.notes) == 1_000


def test_unknown_states_are_kept_when_the_times_are_sound() -> None:
    reading = read({"State": "DANCING"}, {"JobID": "2", "State": "DANCING", "End": "Unknown", "Elapsed": ""})
    assert [entry.state for entry in reading.facts] == [JobState.UNKNOWN]
    assert reading.notes[0] == "2 jobs in the state 'DANCING', which is not known: read as UNKNOWN"
    assert "has neither an end nor a run time" in reading.left_out[0].fault.fact


def test_an_end_that_is_missing_is_taken_from_the_run_time() -> None:
    reading = read({"State": "FAILED", "End": "Unknown", "Elapsed": "01:00:00"})
    assert reading.facts[0].ended == NINE + 3600
    assert one({"Elapsed": "01:00:00"}, columns=without("End")).ended == NINE + 3600


def test_cells_that_a_row_can_do_without() -> None:
    reading = read({"ReqMem": "lots", "Timelimit": "soon", "NodeList": "gpu[1-", "Eligible": "?", "ExitCode": "x"})
    (interval,) = reading.facts
    assert (interval.gpus, interval.node_gpus, interval.memory_requested_mib) == (4, (), None)
    assert len(reading.notes) == 5
    assert "1 cells of nodelist cannot be read: taken as unknown" in reading.notes


def test_logs_put_together() -> None:
    first = text_of({"JobID": "1", **RUNNING}, {"JobID": "2"})
    second = text_of({"JobID": "1"}, {"JobID": "2"}, {"JobID": "3"})
    other = text_of({"JobID": "4"}, columns=tuple(reversed(GOOD)))
    reading = read_sacct(first + second + other, zone=ZoneInfo("UTC"), name="log")
    assert [(entry.id, entry.row, entry.ended) for entry in reading.facts] == [
        ("1", 5, NINE + 7200),
        ("2", 6, NINE + 7200),
        ("3", 7, NINE + 7200),
        ("4", 9, NINE + 7200),
    ]
    assert [(entry.fault.path, entry.gpu_seconds) for entry in reading.left_out] == [("log:2", 0.0), ("log:3", 0.0)]
    assert reading.rows_read == 6


def test_rows_outside_the_window_are_kept_and_told() -> None:
    rows = text_of({}, {"JobID": "2", "End": "2026-03-02T12:00:00", "Elapsed": "03:00:00"})
    reading = read_sacct(rows, zone=UTC, window=(NINE + 7200, None))
    assert len(reading.facts) == 2
    assert reading.notes == ("1 of 2 intervals lie wholly outside the window",)


def test_progress_is_told() -> None:
    told: list[tuple[int, float]] = []
    rows = text_of(*({"JobID": str(number)} for number in range(1, 20_011)))
    read_sacct(rows, zone=UTC, progress=lambda done, share: told.append((done, share)))
    assert [done for done, _ in told] == [20_000, 20_010]
    assert told[-1][1] == 1.0
