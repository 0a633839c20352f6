"""A forecast for the next steps: the present level, and how much demand has changed in so short a time."""

from __future__ import annotations

import numpy as np

from loadfactor.errors import InputError
from loadfactor.foresight.bins import Floats
from loadfactor.foresight.demand import Curve
from loadfactor.foresight.seasonal import LEAST_ERRORS, SECONDS_PER_BIN, order

SECONDS_REMEMBERED = 604_800.0
HALF_LIFE_SECONDS = 1_800.0
"""When a change counts half in how rough the time is; from 10 minutes to an hour all are alike on ServeGen's curves."""
CALM = 0.5
"""Share of the usual change that a calm time cannot go below."""


class ChangeQuantile:
    """The last demand plus a quantile of past changes, in multiples of how rough demand has been of late.

    For the minutes until a replica can be ready nothing tells more than the last value, and how far demand may get from
    it is told best by the last hour: rough and calm times alternate. The roughness of a bin is the mean absolute change
    from bin to bin, faded with a half-life of half an hour, plus half of the usual one. The changes of the last seven
    days, over as many bins as are asked for, count in multiples of the roughness when they began (locally weighted
    conformal prediction; Lei and others 2018). Time is cut into bins as in `SeasonalQuantile`.

    With fewer than twelve changes known the last value is the forecast at all quantiles.

    Raises `InputError` where bins are not longer than nothing.
    """

    def __init__(self, bin_seconds: float = SECONDS_PER_BIN) -> None:
        if not 0 < bin_seconds < SECONDS_REMEMBERED / LEAST_ERRORS:
            fact = f"bins of {bin_seconds} seconds"
            raise InputError.of("bin_seconds", fact, "choose more than 0 seconds, and at most half a day")
        self.bin_seconds = bin_seconds
        self._window = round(SECONDS_REMEMBERED / bin_seconds)
        self._fade = 0.5 ** (bin_seconds / HALF_LIFE_SECONDS)
        self._values: list[float] = []  # of closed bins
        self._roughness: list[float] = []  # at the end of each
        self._faded, self._weight = 0.0, 0.0
        self._open_bin: int | None = None
        self._level = self._last = 0.0

    def observe(self, at_seconds: float, demand: float) -> None:
        """Take note that from `at_seconds` on `demand` is needed.

        Raises `InputError` where the time lies in an earlier bin than the last one or the demand is no number.
        """
        number = int(at_seconds // self.bin_seconds)
        if self._open_bin is not None and number < self._open_bin:
            fact = f"observed after the bin from {self._open_bin * self.bin_seconds} seconds on was"
            raise InputError.of(f"demand at {at_seconds} seconds", fact, "observe in order of time")
        if not np.isfinite(demand) or demand < 0:
            raise InputError.of(f"demand at {at_seconds} seconds", f"{demand}", "give a finite number, 0 or more")
        if self._open_bin is not None and number > self._open_bin:
            missed = min(number - self._open_bin - 1, self._window)
            for value in (self._level, *[self._last] * missed):
                self._close(value)
        self._level = max(self._level, demand) if number == self._open_bin else demand
        self._open_bin, self._last = number, demand

    def forecast(self, at_seconds: float, steps: int, step_seconds: float, quantile: float) -> Curve:
        """Return the demand not exceeded with probability `quantile` in each step; shape (steps,).

        A step that touches several bins gets the quantile of the last of them.
        """
        if self._open_bin is None or steps == 0:
            return np.zeros(steps)
        ends = at_seconds + step_seconds * np.arange(1, steps + 1)
        leads = np.maximum(np.ceil(ends / self.bin_seconds).astype(np.int64) - 1 - self._open_bin, 0)
        return np.array([max(0.0, self._level + self._change(int(lead), quantile)) for lead in leads])

    def _close(self, value: float) -> None:
        if self._values:
            self._faded, self._weight = self._with_change(value)
        self._values.append(value)
        self._roughness.append(self._rough(self._faded, self._weight))
        if len(self._values) > 2 * self._window:
            del self._values[: -self._window], self._roughness[: -self._window]

    def _with_change(self, value: float) -> tuple[float, float]:
        change = abs(value - self._values[-1])
        return self._fade * self._faded + change, self._fade * self._weight + 1.0

    def _rough(self, faded: float, weight: float) -> float:
        values = np.array(self._values[-self._window :])
        usual = float(np.abs(np.diff(values)).mean()) if len(values) > 1 else 0.0
        return CALM * usual + (faded / weight if weight else 0.0)

    def _change(self, lead: int, quantile: float) -> float:
        """Return the quantile of the change over `lead` bins from the open one on."""
        values, roughness = np.array(self._values[-self._window :]), np.array(self._roughness[-self._window :])
        if lead == 0 or len(values) - lead < LEAST_ERRORS:
            return 0.0
        changes, rough = values[lead:] - values[:-lead], roughness[:-lead]
        multiples: Floats = np.divide(changes, rough, out=np.zeros_like(changes), where=rough > 0)
        number = order(quantile, len(multiples))
        return float(np.partition(multiples, number)[number]) * self._rough(*self._with_change(self._level))
