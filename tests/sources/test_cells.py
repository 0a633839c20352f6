"""Numbers and moments: what each spelling means, and that what cannot be read is named."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest

from loadfactor.errors import InputError
from loadfactor.sources.cells import count_repeated_hour, is_zone, parse_clock, parse_moments, parse_numbers, parse_tres
from loadfactor.sources.formats import EMPTY_CELLS
from loadfactor.sources.tables import LINE, Table


def table_of(*cells: str | None) -> Table:
    frame = pl.DataFrame({LINE: range(2, len(cells) + 2), "x": cells}, schema={LINE: pl.Int64, "x": pl.String})
    return Table("log", frame, len(cells), ())


def moment(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def test_numbers() -> None:
    column = parse_numbers(
        table_of("1", " 2.5 ", "1e3", "", None, "Unknown", "-1", "nan", "inf", "x"), "x", EMPTY_CELLS, 2
    )
    assert column.values.to_list() == [2, 5, 2000, None, None, None, None, None, None, None]
    assert [fault.path for fault in column.faults] == ["log:8", "log:10", "log:11"]
    assert column.faults[0].fact == "x is '-1', which is no number of 0 or more"


def test_run_times_of_slurm() -> None:
    column = parse_clock(table_of("10-13:27:06", "00:00:17", "08:30", "1-00:00:00.5", "soon", ""), "x", EMPTY_CELLS)
    assert column.values.to_list() == [912426, 17, 510, 86400.5, None, None]
    assert [fault.path for fault in column.faults] == ["log:6"]


def test_gpus_among_the_resources_of_slurm() -> None:
    cells = (
        "cpu=12,gres/gpu=2,mem=31000M",
        "cpu=1",
        "",
        "gres/gpu:a100=3,gres/gpu:h100=1",
        "gres/gpu:a100=4,gres/gpu=4",
    )
    assert parse_tres(table_of(*cells), "x", EMPTY_CELLS).values.to_list() == [2, 0, 0, 4, 4]


def test_local_time_is_read_in_its_zone() -> None:
    column = parse_moments(table_of("2020-05-14 00:00:00"), "x", EMPTY_CELLS, "timestamp", "Asia/Shanghai")
    assert column.values.to_list() == [moment("2020-05-13 16:00:00")]


def test_an_offset_of_its_own_beats_the_zone() -> None:
    cells = ("2023-03-01 00:18:22+08:00", "2023-03-01T00:18:22Z", "2023-03-01 00:18:22-0330")
    column = parse_moments(table_of(*cells), "x", EMPTY_CELLS, "timestamp", "Asia/Tokyo")
    expected = ["2023-02-28 16:18:22", "2023-03-01 00:18:22", "2023-03-01 03:48:22"]
    assert column.values.to_list() == [moment(text) for text in expected]


def test_other_spellings_of_a_moment() -> None:
    column = parse_moments(table_of("2023-11-16 18:15:46.6805900", "2020-01-01 10:00"), "x", (), "timestamp", "UTC")
    assert column.values.to_list() == pytest.approx([moment("2023-11-16 18:15:46.68059"), moment("2020-01-01 10:00")])


def test_the_hour_that_does_not_exist_is_a_bad_cell() -> None:
    column = parse_moments(table_of("2020-03-29 02:30:00"), "x", EMPTY_CELLS, "timestamp", "Europe/Berlin")
    assert column.values.to_list() == [None]
    assert "no moment that existed" in column.faults[0].fact


def test_the_hour_that_exists_twice_is_the_earlier_one_and_counted() -> None:
    table = table_of("2020-10-25 02:30:00", "2020-10-25 03:30:00", "2020-10-25 02:30:00+01:00")
    column = parse_moments(table, "x", EMPTY_CELLS, "timestamp", "Europe/Berlin")
    assert column.values.to_list() == [moment(f"2020-10-25 0{hour}:30:00") for hour in (0, 2, 1)]
    assert count_repeated_hour(table, "x", EMPTY_CELLS, "Europe/Berlin") == 1


def test_local_time_without_a_zone_is_refused() -> None:
    with pytest.raises(InputError, match="the times in column 'x' name no time zone; state the zone"):
        parse_moments(table_of("2020-05-14 00:00:00"), "x", EMPTY_CELLS, "timestamp", None)


def test_what_is_no_moment_is_named() -> None:
    column = parse_moments(table_of("yesterday", "2020-13-01 00:00:00"), "x", EMPTY_CELLS, "timestamp", "UTC")
    assert [fault.path for fault in column.faults] == ["log:2", "log:3"]


def test_seconds_and_milliseconds_of_a_trace() -> None:
    assert parse_moments(table_of("5"), "x", (), "seconds", None).values.to_list() == [5]
    assert parse_moments(table_of("1500"), "x", (), "milliseconds", None).values.to_list() == [1.5]


def test_zones() -> None:
    assert is_zone("Asia/Shanghai")
    assert not is_zone("Mars/Olympus_Mons")
