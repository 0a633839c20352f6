"""A forecast from the last days at the same time and the present level, with the quantiles of its own past errors."""

from __future__ import annotations

import numpy as np

from loadfactor.errors import InputError
from loadfactor.foresight.bins import BinnedPast, Floats, Integers, Season
from loadfactor.foresight.demand import Curve

SECONDS_PER_BIN = 600.0
SECONDS_PER_SEASON = 86_400.0
SEASONS = 7
SMOOTHING_SECONDS = 1_800.0  # how far the same time of day reaches to both sides
REFIT_SECONDS = 3_600.0
LEADS_PER_DOUBLING = 2
LEAST_ROWS = 36  # of a fit
LEAST_ERRORS = 12  # before their quantile counts
RIDGE = 0.01  # share of the mean square of the regressors
HALF_LIFE_SHARE = 0.25  # of a season: when half of the present level is left, and an error counts half
CALM = 0.5  # share of the usual error that a calm time cannot go below


class SeasonalQuantile:
    """A ridge regression per lead time on level and usual course, and the quantile of the errors it made.

    Time is cut into bins; the value of a bin is the largest demand observed in it, and a bin without an observation
    keeps the last one. For each of a few lead times h (1, 1.4, 2, 2.8, ... bins, rounded, up to half a season) the
    demand of bin t is regressed on four numbers known at t - h: the demand of bin t - h, the usual demand at the time
    of day of t and of t - h (mean over the last seven days, half an hour to both sides), and the mean of those days.
    The coefficients are fitted anew every hour, and drawn towards a present level of which half is left after a
    quarter of a season, the usual demand taking its place. Between lead times they are interpolated.

    The forecast at a quantile is the regression's plus that quantile of the errors that the forecasts *made at the
    time* had in the last seven days at that lead (those of a fit on its own data are too small). Calm and rough times
    alternate, so an error counts in multiples of the spread at its time, and the quantile is multiplied by the
    present one: the mean absolute error of late, with a half-life of a quarter of a season, plus half of that of the
    seven days (locally weighted conformal prediction; Lei and others 2018).

    With less than a day seen the usual is the mean so far. With fewer than twelve errors at a lead those of the
    longest shorter lead that has them count, and without any all quantiles are the regression's forecast.

    Everything is a function of the observations in their order; time is an argument. With 10-minute bins an
    observation costs 0.13 ms (of which the hourly fit is most) and a forecast of six hours 0.06 ms.

    Raises `InputError` where a bin is not shorter than a quarter of the season.
    """

    def __init__(self, bin_seconds: float = SECONDS_PER_BIN, season_seconds: float = SECONDS_PER_SEASON) -> None:
        if not 0 < bin_seconds <= season_seconds / 4:
            fact = f"bins of {bin_seconds} seconds in a season of {season_seconds}"
            raise InputError.of("bin_seconds", fact, "choose bins of at most a quarter of the season")
        self.bin_seconds = bin_seconds
        bins = round(season_seconds / bin_seconds)
        self._season = Season(bins, SEASONS, smoothing=min(round(SMOOTHING_SECONDS / bin_seconds), bins // 4))
        self._leads = lead_times(bins // 2)
        self._refit_bins = max(1, round(REFIT_SECONDS / bin_seconds))
        self._past = BinnedPast(self._season, len(self._leads), int(self._leads[-1]))
        self._coefficients: Floats = np.stack([expected(int(lead), self._season) for lead in self._leads])
        self._errors: list[Floats] = [np.empty(0)] * len(self._leads)
        self._usual_error: Floats = np.zeros(len(self._leads))
        self._misses: Floats = np.zeros((2, len(self._leads)))  # their sum and their weight, fading
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
        if number == self._open_bin:
            self._level = max(self._level, demand)
        else:
            self._close_until(number)
            self._level = demand
        self._open_bin, self._last = number, demand

    def forecast(self, at_seconds: float, steps: int, step_seconds: float, quantile: float) -> Curve:
        """Return the demand not exceeded with probability `quantile` in each step; shape (steps,).

        A step that touches several bins gets the largest of their quantiles, each of them for its bin alone.
        """
        if self._open_bin is None or steps == 0:
            return np.zeros(steps)
        edges = at_seconds + step_seconds * np.arange(steps + 1)
        first = np.floor_divide(edges[:-1], self.bin_seconds).astype(np.int64)
        last = np.maximum(np.ceil(edges[1:] / self.bin_seconds).astype(np.int64) - 1, first)
        leads = np.maximum(np.arange(first[0], last[-1] + 1) - self._open_bin, 0)
        by_bin = np.maximum(self._points(leads) + self._margins(leads, quantile), 0.0)
        starts, stops = first - first[0], last - first[0] + 1
        if np.all(stops - starts == 1):
            return np.asarray(by_bin[starts])
        return np.array([by_bin[start:stop].max() for start, stop in zip(starts, stops, strict=True)])

    def _close_until(self, number: int) -> None:
        """Close the open bin and those up to `number`, in which the last demand went on."""
        if self._open_bin is None:
            return
        missed = min(number - self._open_bin - 1, self._past.keep)
        for value in (self._level, *[self._last] * missed):
            self._close(value)

    def _close(self, value: float) -> None:
        past = self._past
        self._misses = self._misses_with(value)
        past.close(value)
        is_young = past.ever & (past.ever - 1) == 0  # at every power of two: the first hours come but once
        if past.ever >= LEAST_ERRORS and (is_young or past.ever % self._refit_bins == 0):
            self._refit()
        origin = past.count - 1
        made = self._regressors(self._leads, origin, value) * self._coefficients
        rows = np.arange(len(self._leads))
        past.made[rows, origin + self._leads] = made.sum(axis=1)
        past.spread[rows, origin + self._leads] = spread_of(self._misses)

    def _refit(self) -> None:
        recent, past = self._past.recent(), self._past
        for row, lead in enumerate(self._leads):
            self._coefficients[row] = fitted(past, int(lead))
        errors = past.values[recent] - past.made[:, recent]
        known = ~np.isnan(errors)
        self._usual_error = np.where(known, np.abs(errors), 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        told = past.spread[:, recent]
        spread = np.where(np.isnan(told), self._usual_error[:, None], told)
        multiples = errors / (spread + self._least_spread()[:, None])
        self._errors = [np.sort(row[~np.isnan(row)]) for row in multiples]

    def _least_spread(self) -> Floats:
        return np.asarray(CALM * self._usual_error + np.finfo(np.float64).tiny)

    def _misses_with(self, value: float) -> Floats:
        """Return sum and weight of the absolute errors of late, with those of the open bin if it ends at `value`."""
        misses = np.abs(value - self._past.made[:, self._past.count])
        fade = 0.5 ** (1.0 / (HALF_LIFE_SHARE * self._season.bins))
        return np.asarray(fade * self._misses + np.where(np.isnan(misses), 0.0, [misses, np.ones_like(misses)]))

    def _regressors(self, leads: Integers, origin: int, level: float) -> Floats:
        """Return level, usual at the target, usual now and mean, for every lead from `origin`; shape (leads, 4)."""
        past, reach = self._past, self._season.reach
        mean = past.mean() if past.count else level
        beyond = np.maximum(origin + leads - (past.count - 1 + reach), 0)
        targets = origin + leads - -(-beyond // self._season.bins) * self._season.bins
        rows = np.full((len(leads), 4), level)
        rows[:, 1], rows[:, 2], rows[:, 3] = past.usual[targets], past.usual[origin], mean
        rows[np.isnan(rows)] = mean
        return rows

    def _points(self, leads: Integers) -> Floats:
        """Return the regression's forecast at each lead from the open bin; lead 0 is the level itself."""
        rows = self._regressors(leads, self._past.count, self._level)
        columns = [np.interp(leads, self._leads, column) for column in self._coefficients.T]
        return np.where(leads == 0, self._level, (rows * np.stack(columns, axis=1)).sum(axis=1))

    def _margins(self, leads: Integers, quantile: float) -> Floats:
        """Return the quantile of the past errors at each lead; nothing at lead 0."""
        margins, margin = np.zeros(len(self._leads)), 0.0
        spread = spread_of(self._misses_with(self._level)) + self._least_spread()
        for row, errors in enumerate(self._errors):
            if errors.size >= LEAST_ERRORS:
                margin = float(spread[row] * errors[order(quantile, errors.size)])
            margins[row] = margin
        return np.where(leads == 0, 0.0, np.interp(leads, self._leads, margins))


def spread_of(misses: Floats) -> Floats:
    """Return the mean absolute error at each lead; NaN where none is known."""
    total, weight = misses
    return np.where(weight > 0, total / np.maximum(weight, np.finfo(np.float64).tiny), np.nan)


def order(quantile: float, known: int) -> int:
    """Return the position of a quantile among sorted errors: number ceil((known + 1) * quantile)."""
    return min(max(int(np.ceil((known + 1) * quantile)) - 1, 0), known - 1)


def lead_times(farthest: int) -> Integers:
    """Return 1, 1.4, 2, 2.8, ... rounded, without doubles, up to `farthest`."""
    count = int(np.ceil(np.log2(farthest) * LEADS_PER_DOUBLING)) + 1
    return np.unique(np.minimum(np.rint(2.0 ** (np.arange(count) / LEADS_PER_DOUBLING)), farthest)).astype(np.int64)


def expected(lead: int, season: Season) -> Floats:
    """Return the coefficients that are expected before anything is learnt; shape (4,)."""
    lasting = 0.5 ** (lead / (HALF_LIFE_SHARE * season.bins))
    return np.array([lasting, 1.0 - lasting, 0.0, 0.0])


def fitted(past: BinnedPast, lead: int) -> Floats:
    """Return the coefficients of the ridge regression at one lead over the bins that count; shape (4,)."""
    recent = past.recent()
    targets = np.arange(max(recent.start, lead), recent.stop)
    prior = expected(lead, past.season)
    if len(targets) < LEAST_ROWS:
        return prior
    mean = past.mean()
    rows = np.stack([past.values[targets - lead], past.usual[targets], past.usual[targets - lead]], axis=1)
    rows = np.column_stack([np.where(np.isnan(rows), mean, rows), np.full(len(targets), mean)])
    square = rows.T @ rows
    penalty = RIDGE * np.trace(square) / len(prior) + np.finfo(np.float64).tiny
    unexplained = rows.T @ (past.values[targets] - rows @ prior)
    return np.asarray(prior + np.linalg.solve(square + penalty * np.eye(len(prior)), unexplained))
