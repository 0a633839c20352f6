"""From steps to the clock: where a step lies on the time axis and what people call that moment (UTC)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from loadfactor.model import Horizon
from loadfactor.units import HOURS_PER_DAY, MILLISECONDS_PER_SECOND, MINUTES_PER_HOUR, SECONDS_PER_MINUTE


@dataclass(frozen=True)
class Clock:
    """The time axis of a horizon. Without a start of the horizon it counts steps."""

    horizon: Horizon

    @property
    def has_start(self) -> bool:
        """Whether steps can be told in clock time."""
        return self.horizon.start is not None

    def moment(self, step: int) -> datetime | None:
        """Return the moment at which `step` begins, in UTC, or None where the horizon has no start."""
        if self.horizon.start is None:
            return None
        try:
            return self.horizon.start + timedelta(minutes=self.horizon.step_minutes * step)
        except OverflowError:  # a job that ends after the year 9999 is shown without a time
            return None

    def position(self, step: float) -> float:
        """Return where `step` begins on the axis: milliseconds since 1970 where there is a start, else the step."""
        if self.horizon.start is None:
            return step
        origin = self.horizon.start.timestamp() * MILLISECONDS_PER_SECOND
        return origin + step * self.horizon.step_minutes * SECONDS_PER_MINUTE * MILLISECONDS_PER_SECOND

    def range_text(self, start: int, end: int) -> str:
        """Return the clock time of steps [`start`, `end`), such as ``Tue 1 Dec 06:00 to 12:00``, or an empty text."""
        first, last = self.moment(start), self.moment(end)
        if first is None:
            return ""
        if last is None:
            return f"{_day(first)} {first:%H:%M} to later"
        until = f"{last:%H:%M}" if last.date() == first.date() else f"{_day(last)} {last:%H:%M}"
        return f"{_day(first)} {first:%H:%M} to {until}"

    def label(self, step: int) -> str:
        """Return a short label: ``06:00``, the day at midnight, or the number of the step."""
        moment = self.moment(step)
        if moment is None:
            return str(step)
        is_midnight = (moment.hour, moment.minute) == (0, 0)
        return f"{moment.day} {moment:%b}" if is_midnight and step else f"{moment:%H:%M}"

    def ticks(self, room: int) -> list[int]:
        """Return at most `room` steps to label, evenly spaced and, where there is a start, on round clock times."""
        steps = self.horizon.steps
        spacing = next((s for s in self._spacings() if steps / s <= room), -(-steps // max(1, room)))
        return list(range(self._first_round(spacing), steps, spacing)) or [0]

    def _spacings(self) -> list[int]:
        if not self.has_start:
            return sorted(digit * 10**power for power in range(6) for digit in (1, 2, 5))
        minutes = [1, 2, 5, 10, 15, 30, *(h * MINUTES_PER_HOUR for h in (1, 2, 3, 4, 6, 8, 12, 24, 48, 96, 168, 336))]
        candidates = (minute / self.horizon.step_minutes for minute in minutes)
        return [int(spacing) for spacing in candidates if spacing >= 1 and spacing == int(spacing)] or [1]

    def _first_round(self, spacing: int) -> int:
        if self.horizon.start is None:
            return 0
        day_minutes = HOURS_PER_DAY * MINUTES_PER_HOUR
        since_midnight = self.horizon.start.hour * MINUTES_PER_HOUR + self.horizon.start.minute
        every = min(spacing * self.horizon.step_minutes, day_minutes)
        behind = -since_midnight % every / self.horizon.step_minutes
        return int(behind) if behind == int(behind) else 0


def _day(moment: datetime) -> str:
    return f"{moment:%a} {moment.day} {moment:%b}"
