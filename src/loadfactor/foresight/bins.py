"""The past of a demand curve in bins of equal length, with the usual course of its day."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Season:
    """The length of a season (a day) in bins, and how many past ones count."""

    bins: int
    count: int
    smoothing: int

    @property
    def window(self) -> int:
        """Return the number of bins that count."""
        return self.bins * self.count

    @property
    def reach(self) -> int:
        """Return how many bins ahead of the last closed one the usual course is known."""
        return self.bins - self.smoothing


class BinnedPast:
    """Closed bins by position; room is made by forgetting what is older than the window needs.

    `values[:count]` are the closed bins that are remembered, of `ever` in all. `usual[position]` is the mean of the
    bins at the same time of the last days, each with its `smoothing` neighbours on both sides; it is known up to
    `season.reach` bins ahead of the last closed bin, and NaN where no such day was seen. `made[lead, position]` is
    what was forecast for a position, lead by lead, and `spread[lead, position]` how far off forecasts were of late
    when that was done; both NaN where nothing is known.
    """

    def __init__(self, season: Season, leads: int, farthest: int) -> None:
        self.season = season
        self.keep = season.window + season.bins + season.smoothing
        self.room = 2 * self.keep
        ahead = max(season.bins, farthest) + 1
        self.count = self.ever = 0
        self.values: Floats = np.full(self.room, np.nan)
        self._smooth: Floats = np.full(self.room, np.nan)
        self.usual: Floats = np.full(self.room + ahead, np.nan)
        self.made: Floats = np.full((leads, self.room + ahead), np.nan)
        self.spread: Floats = np.full((leads, self.room + ahead), np.nan)

    def close(self, value: float) -> None:
        """Add a bin at the end."""
        if self.count == self.room:
            self._forget()
        last, side = self.count, self.season.smoothing
        self.values[last] = value
        self.count += 1
        self.ever += 1
        middle = last - side
        if middle >= 0:
            self._smooth[middle] = self.values[max(0, middle - side) : last + 1].mean()
            same_time = self._smooth[middle :: -self.season.bins][: self.season.count]
            self.usual[middle + self.season.bins] = same_time.mean()

    def recent(self) -> slice:
        """Return the positions of the closed bins that count."""
        return slice(max(0, self.count - self.season.window), self.count)

    def mean(self) -> float:
        """Return the mean of the bins that count."""
        return float(self.values[self.recent()].mean())

    def _forget(self) -> None:
        gone = self.count - self.keep
        for row in (self.values, self._smooth, self.usual, *self.made, *self.spread):
            row[:-gone] = row[gone:].copy()
            row[-gone:] = np.nan
        self.count = self.keep
