"""The day that is cut out: its length where clocks change, and what cannot be asked."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from pydantic import TypeAdapter, ValidationError

from loadfactor.errors import InputError
from loadfactor.sources.window import Day, Window, window_of
from loadfactor.units import SECONDS_PER_HOUR

READ = TypeAdapter(Day).validate_python


def calendar_window(day: str | float, zone: str | None, first: str = "2020-01-01") -> Window:
    first_s = datetime.fromisoformat(first).replace(tzinfo=UTC).timestamp()
    return window_of(READ(day), zone, first_s, has_calendar=True, path="log")


@pytest.mark.parametrize(
    ("day", "zone", "start", "hours"),
    [
        ("2020-05-14", "Asia/Shanghai", "2020-05-13 16:00", 24),
        ("2020-05-14", "UTC", "2020-05-14 00:00", 24),
        ("2020-03-29", "Europe/Berlin", "2020-03-28 23:00", 23),
        ("2020-10-25", "Europe/Berlin", "2020-10-24 22:00", 25),
        ("2020-05-14 18:15", "UTC", "2020-05-14 18:15", 5.75),
        ("2018-11-04", "America/Sao_Paulo", "2018-11-04 03:00", 23),  # midnight itself is skipped
    ],
)
def test_a_local_day(day: str, zone: str, start: str, hours: float) -> None:
    window = calendar_window(day, zone)
    assert window.start == datetime.fromisoformat(start).replace(tzinfo=UTC)
    assert window.end_s - window.start_s == hours * SECONDS_PER_HOUR


def test_a_number_counts_days_from_the_first_local_midnight() -> None:
    # 17:00 UTC on the first is already the second in Shanghai
    window = calendar_window(1, "Asia/Shanghai", first="2020-01-01 17:00")
    assert window.start == datetime(2020, 1, 2, 16, tzinfo=UTC)
    assert calendar_window("0.5", "UTC", first="2020-01-01 17:00").start == datetime(2020, 1, 1, 12, tzinfo=UTC)


def test_a_number_counts_from_the_zero_of_a_trace_without_calendar() -> None:
    window = window_of(2.0, None, 500.0, has_calendar=False, path="log")
    assert (window.start_s, window.end_s, window.start) == (172800, 259200, None)


def test_a_date_is_refused_where_there_is_no_calendar() -> None:
    with pytest.raises(InputError, match="log: the day is 2020-05-14, and this log counts seconds from its own start"):
        window_of(READ("2020-05-14"), "UTC", 0.0, has_calendar=False, path="log")


def test_a_zone_is_asked_for_never_guessed() -> None:
    with pytest.raises(InputError, match="no zone is stated for the day 2020-05-14"):
        calendar_window("2020-05-14", None)


@pytest.mark.parametrize(
    "value", ["noon", "2020-02-30", -1, float("inf"), True, None, "2020-05-14T00:00:00Z", "9999-12-31"]
)
def test_what_is_no_day_is_refused(value: object) -> None:
    with pytest.raises(ValidationError):
        READ(value)


def test_a_log_in_the_wrong_unit_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"log: its first moment is 1.6e\+12 s after 1970; check the unit of its times"
    ):
        window_of(0.0, "UTC", 1.6e12, has_calendar=True, path="log")


def test_dates_of_yaml_are_understood() -> None:
    assert READ(date(2020, 5, 14)) == READ("2020-05-14")
