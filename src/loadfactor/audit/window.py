"""The span that an audit looks at, its hours on the local clock, and where it begins when nobody says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

import numpy as np
import numpy.typing as npt

from loadfactor.errors import InputError
from loadfactor.units import SECONDS_PER_HOUR

Floats = npt.NDArray[np.float64]
DEFAULT_DAYS = 7


@dataclass(frozen=True, slots=True)
class Window:
    """The half-open span [begin, end), in seconds since 1970 UTC, and the zone that its clock hours are told in.

    Raises `InputError` where it holds nothing.
    """

    begin: float
    end: float
    zone: tzinfo

    def __post_init__(self) -> None:
        if not self.end > self.begin:
            fact = f"ends at {self.told(self.end)}, not after its beginning at {self.told(self.begin)}"
            raise InputError.of("window", fact, "give --since an earlier moment or --until a later one")

    @property
    def seconds(self) -> float:
        """The length of the window."""
        return self.end - self.begin

    @property
    def hours(self) -> float:
        """The length of the window; a week in which clocks change has 167 or 169 hours."""
        return self.seconds / SECONDS_PER_HOUR

    def edges(self) -> Floats:
        """Return the edges of its hours: its begin, every full hour of the local clock inside it, its end."""
        edges = [self.begin]
        moment = self.begin
        while (moment := self._next_full_hour(moment)) < self.end:
            edges.append(moment)
        return np.array([*edges, self.end])

    def _next_full_hour(self, moment: float) -> float:
        local = datetime.fromtimestamp(moment, self.zone)
        past = local.minute * 60 + local.second + local.microsecond / 1e6
        return moment + SECONDS_PER_HOUR - past

    def told(self, moment: float) -> str:
        """Return `moment` on the local clock, to the minute, with its distance from UTC."""
        return datetime.fromtimestamp(moment, self.zone).strftime("%Y-%m-%d %H:%M %z")

    def clock(self, moment: float) -> tuple[int, int]:
        """Return the weekday (0 is Monday) and the hour of `moment` on the local clock."""
        local = datetime.fromtimestamp(moment, self.zone)
        return local.weekday(), local.hour


def last_days(end: float, zone: tzinfo, days: int = DEFAULT_DAYS) -> Window:
    """Return the `days` days of the local calendar that end at `end`."""
    local = datetime.fromtimestamp(end, zone) - timedelta(days=days)
    return Window(local.timestamp(), end, zone)
