"""The window of an audit: full hours of the local clock, weeks in which clocks change, half-hour zones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from loadfactor.audit.window import Window, last_days
from loadfactor.errors import InputError

BERLIN = ZoneInfo("Europe/Berlin")


def moment(year: int, month: int, day: int, hour: int = 0, minute: int = 0, zone: ZoneInfo = BERLIN) -> float:
    """Return a local moment in seconds since 1970."""
    return datetime(year, month, day, hour, minute, tzinfo=zone).timestamp()


@pytest.mark.parametrize(("end", "hours"), [((2026, 3, 30), 167), ((2026, 10, 26), 169), ((2026, 6, 15), 168)])
def test_a_week_in_which_clocks_change_is_an_hour_shorter_or_longer(end: tuple[int, int, int], hours: int) -> None:
    window = last_days(moment(*end), BERLIN)
    assert window.hours == hours
    edges = window.edges()
    assert np.diff(edges).tolist() == [3600.0] * hours
    assert [window.told(edge)[:16] for edge in (edges[0], edges[-1])] == [
        f"{datetime(*end, tzinfo=UTC) - timedelta(days=7):%Y-%m-%d} 00:00",
        f"{datetime(*end, tzinfo=UTC):%Y-%m-%d} 00:00",
    ]


def test_the_hour_that_clocks_skip_is_not_there_and_the_one_they_repeat_is_there_twice() -> None:
    spring = Window(moment(2026, 3, 29), moment(2026, 3, 29, 5), BERLIN)
    assert [spring.clock(edge)[1] for edge in spring.edges()[:-1]] == [0, 1, 3, 4]
    autumn = Window(moment(2026, 10, 25), moment(2026, 10, 25, 4), BERLIN)
    assert [autumn.told(edge)[11:] for edge in autumn.edges()[:-1]] == [
        *("00:00 +0200", "01:00 +0200", "02:00 +0200", "02:00 +0100", "03:00 +0100"),
    ]


def test_a_window_begins_and_ends_within_hours() -> None:
    window = Window(moment(2026, 3, 3, 9, 40), moment(2026, 3, 3, 11, 15), BERLIN)
    assert np.diff(window.edges()).tolist() == [20 * 60, 3600, 15 * 60]


def test_hours_are_those_of_the_local_clock_where_zones_differ_by_half_an_hour() -> None:
    delhi = ZoneInfo("Asia/Kolkata")
    window = Window(moment(2026, 3, 3, zone=delhi), moment(2026, 3, 4, zone=delhi), delhi)
    assert {window.told(edge)[14:16] for edge in window.edges()} == {"00"}
    assert len(window.edges()) == 25


def test_where_clocks_change_by_half_an_hour_the_edges_still_ascend() -> None:
    island = ZoneInfo("Australia/Lord_Howe")
    window = Window(moment(2026, 4, 5, zone=island), moment(2026, 4, 6, zone=island), island)
    assert window.hours == 24.5
    assert (np.diff(window.edges()) > 0).all()
    assert np.diff(window.edges()).sum() == 24.5 * 3600


def test_a_window_that_holds_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="not after its beginning"):
        Window(10.0, 10.0, UTC)
