"""The stretch of a log that becomes the horizon: a day in a stated zone, or one counted from the trace's start."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator

from loadfactor.errors import InputError
from loadfactor.model.faults import contradiction
from loadfactor.sources.cells import epoch_of_local
from loadfactor.units import HOURS_PER_DAY, SECONDS_PER_DAY, SECONDS_PER_MINUTE

_LARGEST_DAY_NUMBER = 100_000
_FIRST_YEAR, _LAST_YEAR = 1970, 2999
LAST_MOMENT_S = datetime(_LAST_YEAR + 1, 1, 1, tzinfo=UTC).timestamp()


@dataclass(frozen=True)
class Window:
    """The half-open range of seconds [`start_s`, `end_s`) on the clock of a log (since 1970, or since its start)."""

    start_s: float
    end_s: float
    has_calendar: bool

    @property
    def start(self) -> datetime | None:
        """The start in UTC, or None where the log belongs to no calendar."""
        return datetime.fromtimestamp(self.start_s, UTC) if self.has_calendar else None

    def lasting(self, steps: int, step_minutes: float) -> Window:
        """Return the window of that many steps that starts where this one does."""
        seconds = steps * step_minutes * SECONDS_PER_MINUTE
        return Window(self.start_s, self.start_s + seconds, self.has_calendar)


def _read_day(value: Any) -> datetime | float:
    if isinstance(value, bool) or value is None:
        raise contradiction(f"is {value!r}, which is no day", "write 2020-05-14, 2020-05-14 08:30 or a number of days")
    if isinstance(value, datetime):
        return _without_zone(value)
    if isinstance(value, date):
        return datetime.combine(value, time())
    return _day_number(value) if isinstance(value, int | float) else _day_of_text(str(value).strip())


def _without_zone(value: datetime) -> datetime:
    if value.tzinfo is not None:
        raise contradiction(f"{value} carries an offset", "write the day as local time and name its zone beside it")
    if not _FIRST_YEAR <= value.year <= _LAST_YEAR:
        raise contradiction(f"{value} lies outside {_FIRST_YEAR} to {_LAST_YEAR}", "correct the year")
    return value


def _day_of_text(text: str) -> datetime | float:
    try:
        return _day_number(float(text))
    except ValueError:
        pass
    try:
        return _without_zone(datetime.fromisoformat(text))
    except ValueError:
        raise contradiction(f"{text!r} is no day", "write 2020-05-14, 2020-05-14 08:30 or a number of days") from None


def _day_number(value: float) -> float:
    if not 0 <= value <= _LARGEST_DAY_NUMBER:
        raise contradiction(
            f"is {value}, and must lie in 0 to {_LARGEST_DAY_NUMBER}", "count days from the log's start"
        )
    return float(value)


Day = Annotated[datetime | float, BeforeValidator(_read_day)]
"""A local date (and time), or a number of days from the log's start; 1.5 starts at noon of its second day."""


def window_of(day: datetime | float, zone: str | None, first_s: float, *, has_calendar: bool, path: str) -> Window:
    """Return the window from `day` to the end of that day: 23 or 25 hours where clocks change.

    In a log with a calendar, a number counts days from midnight (in `zone`) of the day of its first moment, `first_s`.
    In one without, it counts from the log's zero. Raises `InputError` when a date is asked of a log without calendar,
    or no zone is stated for one with.
    """
    if not has_calendar:
        if isinstance(day, datetime):
            fact = f"the day is {day:%Y-%m-%d}, and this log counts seconds from its own start"
            raise InputError.of(path, fact, "give the day as a number, such as 0 for its first")
        start = day * SECONDS_PER_DAY
        return Window(start, start + SECONDS_PER_DAY, has_calendar=False)
    if zone is None:
        raise InputError.of(path, f"no zone is stated for the day {day}", "state one, such as Asia/Shanghai or UTC")
    begin = day if isinstance(day, datetime) else _counted_day(day, zone, first_s, path)
    end = datetime.combine(begin.date() + timedelta(days=1), time())
    return Window(epoch_of_local(begin, zone), epoch_of_local(end, zone), has_calendar=True)


def _counted_day(day: float, zone: str, first_s: float, path: str) -> datetime:
    if not first_s < LAST_MOMENT_S:
        raise InputError.of(path, f"its first moment is {first_s:g} s after 1970", "check the unit of its times")
    # noon of the UTC day lies within a day of local midnight, so one of three dates is the right one
    guess = datetime.fromtimestamp(first_s, UTC).date()
    dates = [guess + timedelta(days=shift) for shift in (1, 0, -1)]
    midnights = [datetime.combine(entry, time()) for entry in dates]
    first = next(midnight for midnight in midnights if epoch_of_local(midnight, zone) <= first_s)
    whole, rest = divmod(day, 1)
    return first + timedelta(days=whole, hours=rest * HOURS_PER_DAY)
