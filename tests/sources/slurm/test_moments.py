"""Moments by one zone's clock: offsets, seconds since 1970, the hour that comes twice and the one that never was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadfactor.sources.slurm.cells import UnreadableCell
from loadfactor.sources.slurm.moments import LocalClock

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Sao_Paulo", "UTC")
NOON = 1_772_452_800.0  # 2026-03-02 12:00:00 UTC


@pytest.mark.parametrize(
    "text",
    [
        *("2026-03-02T13:00:00", "2026-03-02 13:00:00", "2026-03-02T13:00", "2026-03-02T12:00:00Z"),
        *("2026-03-02T17:45:00+05:45", "2026-03-02T04:00:00-0800", "2026-03-02 13:00:00 +01", "1772452800"),
        *("2026-03-02T13:00:00.000", "1772452800.0", " 2026-03-02T13:00:00 "),
    ],
)
def test_every_way_to_write_noon(text: str) -> None:
    assert LocalClock(ZoneInfo("Europe/Berlin")).seconds(text) == NOON


@pytest.mark.parametrize("text", ["", "Unknown", "None", "N/A", "0", "4294967294", "1970-01-01T01:00:00"])
def test_what_says_nothing(text: str) -> None:
    assert LocalClock(ZoneInfo("Europe/Berlin")).seconds(text) is None


@pytest.mark.parametrize("text", ["soon", "2026-02-30T00:00:00", "2026-03-02T25:00:00", "2026-03-02T12:0x:00"])
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(UnreadableCell, match="is no moment"):
        LocalClock(ZoneInfo("Europe/Berlin")).seconds(text)


def test_milliseconds_are_refused() -> None:
    with pytest.raises(UnreadableCell, match="too far in the future"):
        LocalClock(ZoneInfo("UTC")).seconds("1772452800000")


def test_the_hour_that_comes_twice_and_the_one_that_never_was() -> None:
    clock = LocalClock(ZoneInfo("Europe/Berlin"))
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC).timestamp()
    assert clock.seconds("2026-10-25T02:30:00") == first
    assert clock.later_by("2026-10-25T02:30:00") == 3600
    assert clock.later_by("2026-10-25T03:00:00") == 0
    with pytest.raises(UnreadableCell, match="never was in Europe/Berlin"):
        clock.seconds("2026-03-29T02:30:00")


@given(st.sampled_from(ZONES), st.integers(1_000_000_000, 1_900_000_000), st.sampled_from("T "))
def test_a_moment_that_is_written_is_read_back(zone: str, moment: int, between: str) -> None:
    clock = LocalClock(ZoneInfo(zone))
    local = datetime.fromtimestamp(moment, ZoneInfo(zone))
    text = f"{local:%Y-%m-%d}{between}{local:%H:%M:%S}"
    for _ in range(2):  # the second time, the hour is known
        read = clock.seconds(text)
        assert read is not None
        assert moment in (read, read + clock.later_by(text))


@settings(max_examples=12)
@given(st.sampled_from(ZONES), st.integers(2005, 2035))
def test_the_hours_of_a_year_fit_the_database_of_zones(zone: str, year: int) -> None:
    """Every half hour of the year, which crosses both changes of the clocks; the second reading where there are two."""
    clock = LocalClock(ZoneInfo(zone))
    start = datetime(year, 1, 1, tzinfo=UTC)
    for halves in range(0, 366 * 48, 7):
        moment = start + timedelta(minutes=30 * halves)
        local = moment.astimezone(ZoneInfo(zone))
        text = f"{local:%Y-%m-%dT%H:%M:%S}"
        read = clock.seconds(text)
        assert read is not None
        assert moment.timestamp() == read + (clock.later_by(text) if local.fold else 0)
