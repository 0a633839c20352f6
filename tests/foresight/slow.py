"""Slow simple versions of what is learnt: nothing is kept but the past itself, everything is computed anew."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from loadfactor.foresight import JobFeatures
from loadfactor.foresight.learnt import KINSHIPS, LIMITS_PER_DOUBLING, MEMORY
from loadfactor.foresight.seasonal import CALM, LEAST_ERRORS, LEAST_ROWS, RIDGE


@dataclass
class SlowRuntime:
    """As LearntRuntime, from the list of all jobs that ended."""

    quantile: float
    window: int
    least_survivors: int
    ended: list[tuple[JobFeatures, float]] = field(default_factory=list)
    losses: list[list[tuple[float, float]]] = field(default_factory=lambda: [[] for _ in KINSHIPS])

    def learn(self, features: JobFeatures, run_seconds: float) -> None:
        """Rate every kinship, then remember the job."""
        said = [self._answer(kinship, features) for kinship in KINSHIPS]
        if said[-1] is not None:
            for pairs, answer in zip(self.losses, said, strict=True):
                if answer is not None:
                    pairs.append((self._loss(answer, run_seconds), self._loss(said[-1], run_seconds)))
        self.ended.append((features, run_seconds))

    def estimate(self, features: JobFeatures, elapsed: float) -> float:
        """Return the quantile of the best kin that outlasted the elapsed time."""
        limit = features.limit_seconds or math.inf
        if elapsed >= limit:
            return max(1.0, 2 * elapsed)
        for _, kinship in sorted((self._score(number), number) for number in range(len(KINSHIPS))):
            longer = sorted(run for run in self._kin(KINSHIPS[kinship], features) if run > elapsed)
            if len(longer) >= self.least_survivors:
                return min(limit, longer[min(len(longer) - 1, int(self.quantile * len(longer)))])
        return limit if limit < math.inf else max(3600.0, 2 * elapsed)

    def _kin(self, kinship: tuple[str, ...], features: JobFeatures) -> list[float]:
        wanted = [told(features, name) for name in kinship]
        if None in wanted:
            return []
        return [run for one, run in self.ended if [told(one, name) for name in kinship] == wanted][-self.window :]

    def _answer(self, kinship: tuple[str, ...], features: JobFeatures) -> float | None:
        kin = sorted(self._kin(kinship, features))
        if len(kin) < self.least_survivors:
            return None
        return max(1.0, kin[min(len(kin) - 1, int(self.quantile * len(kin)))])

    def _loss(self, answer: float, run_seconds: float) -> float:
        error = math.log(max(1.0, run_seconds) / answer)
        return self.quantile * error if error > 0 else (self.quantile - 1) * error

    def _score(self, kinship: int) -> float:
        own = of_all = 0.0
        for loss, yardstick in self.losses[kinship]:
            own, of_all = MEMORY * own + loss, MEMORY * of_all + yardstick
        return own / of_all if of_all > 0 else 1.0


def told(features: JobFeatures, name: str) -> object:
    """Return a feature; of the limit its class."""
    if name != "limit":
        return getattr(features, name)
    return features.limit_seconds and math.floor(math.log2(features.limit_seconds) * LIMITS_PER_DOUBLING)


@dataclass
class SlowSeason:
    """As SeasonalQuantile where every bin is observed once: from the whole curve, with the past cut off by slicing."""

    curve: list[float]
    bins: int = 12
    side: int = 3
    leads: tuple[int, ...] = (1, 2, 3, 4, 6)
    refit: int = 6
    fits: dict[tuple[int, int], list[float]] = field(default_factory=dict)
    errors: dict[tuple[int, int], float] = field(default_factory=dict)

    def forecast(self, lead: int, quantile: float) -> float:
        """Return the quantile for `lead` bins after the last one of the curve, which is still open."""
        closed, level = self.curve[:-1], self.curve[-1]
        if lead == 0:
            return level
        position = min(max(float(np.interp(lead, self.leads, range(len(self.leads)))), 0.0), len(self.leads) - 1.0)
        below, share = int(position), position - int(position)
        pair = [(self.leads[below], 1 - share)] + ([(self.leads[below + 1], share)] if share > 0 else [])
        weights = sum(part * np.array(self.coefficients(closed, row)) for row, part in pair)
        margin = sum(part * self.margin(row, quantile) for row, part in pair)
        return max(0.0, float(np.dot(weights, self.regressors(closed, len(closed), lead, level))) + margin)

    def usual(self, closed: list[float], position: int) -> float | None:
        """Return the mean at the same time of the last seven seasons, as it is known when `closed` ends."""
        while position - self.bins + self.side > len(closed) - 1:
            position -= self.bins
        days = [position - self.bins * day for day in range(1, 8) if position - self.bins * day >= 0]
        near = [closed[max(0, day - self.side) : day + self.side + 1] for day in days]
        return float(np.mean([np.mean(one) for one in near])) if near else None

    def regressors(self, closed: list[float], origin: int, lead: int, level: float) -> list[float]:
        """Return what is known at the origin, which may be the open bin."""
        mean = float(np.mean(closed[-7 * self.bins :])) if closed else level
        there, here = self.usual(closed, origin + lead), self.usual(closed, origin)
        return [level, mean if there is None else there, mean if here is None else here, mean]

    def coefficients(self, closed: list[float], lead: int) -> list[float]:
        """Return the ridge regression as it was fitted last."""
        count = self.last_fit(len(closed))
        if (count, lead) not in self.fits:
            self.fits[count, lead] = self.fit(closed[:count], lead)
        return self.fits[count, lead]

    def fit(self, closed: list[float], lead: int) -> list[float]:
        """Return the ridge regression on what is closed, by least squares with the penalty as further rows."""
        lasting = 0.5 ** (lead / (0.25 * self.bins))
        prior = np.array([lasting, 1 - lasting, 0.0, 0.0])
        targets = [t for t in range(max(0, len(closed) - 7 * self.bins), len(closed)) if t >= lead]
        if not closed or len(targets) < LEAST_ROWS:
            return list(prior)
        mean = float(np.mean(closed[-7 * self.bins :]))
        rows = []
        for target in targets:
            then = [self.usual_at_closing(closed, target), self.usual_at_closing(closed, target - lead)]
            rows.append([closed[target - lead], *[mean if one is None else one for one in then], mean])
        table, truth = np.array(rows), np.array([closed[target] for target in targets])
        weight = math.sqrt(RIDGE * float((table**2).sum()) / 4)
        stacked = np.vstack([table, weight * np.eye(4)])
        wanted = np.concatenate([truth - table @ prior, np.zeros(4)])
        return list(prior + np.linalg.lstsq(stacked, wanted, rcond=None)[0])

    def usual_at_closing(self, closed: list[float], position: int) -> float | None:
        """Return the usual demand of a bin as it stood when it became known, a season less the smoothing before."""
        return (
            self.usual(closed[: max(0, position - self.bins + self.side + 1)], position)
            if position >= self.bins - 0
            else None
        )

    def margin(self, lead: int, quantile: float) -> float:
        """Return the scaled quantile of the errors known at the last fit, of the longest lead that has enough."""
        count = self.last_fit(len(self.curve) - 1)
        for row in reversed([one for one in self.leads if one <= lead]):
            targets = range(max(row, count - 7 * self.bins), count)
            usual = float(np.mean([abs(self.error(target, row)) for target in targets])) if targets else 0.0
            floor = CALM * usual
            spreads = [self.spread(target - row, row) for target in targets]
            weights = [floor + (usual if one is None else one) for one in spreads]
            multiples = sorted(self.error(target, row) / one for target, one in zip(targets, weights, strict=True))
            if len(multiples) >= LEAST_ERRORS:
                place = min(max(math.ceil((len(multiples) + 1) * quantile) - 1, 0), len(multiples) - 1)
                return ((self.spread(len(self.curve) - 1, row) or 0.0) + floor) * multiples[place]
        return 0.0

    def spread(self, origin: int, lead: int) -> float | None:
        """Return the mean absolute error up to the origin, a quarter of a season ago counting half."""
        weights = [0.5 ** ((origin - target) / (0.25 * self.bins)) for target in range(lead, origin + 1)]
        misses = [abs(self.error(target, lead)) for target in range(lead, origin + 1)]
        return float(np.average(misses, weights=weights)) if misses else None

    def error(self, target: int, lead: int) -> float:
        """Return how much higher the demand was than forecast at the time; the forecast is not cut at zero."""
        if (target, lead) not in self.errors:
            past = self.curve[: target - lead + 1]
            forecast = np.dot(self.coefficients(past, lead), self.regressors(past, len(past) - 1, lead, past[-1]))
            self.errors[target, lead] = self.curve[target] - float(forecast)
        return self.errors[target, lead]

    def last_fit(self, count: int) -> int:
        """Return how many bins were closed at the last fit; 0 before the first."""
        fits = [n for n in range(LEAST_ERRORS, count + 1) if n % self.refit == 0 or n & (n - 1) == 0]
        return fits[-1] if fits else 0


def slow_change_quantile(curve: list[float], lead: int, quantile: float, window: int, fade: float) -> float:
    """Return what ChangeQuantile foresees `lead` bins after the last of the curve, which is still open."""

    def rough(known: list[float], usual_of: list[float]) -> float:
        steps = [abs(after - before) for before, after in pairwise(known)]
        weights = [fade**age for age in range(len(steps) - 1, -1, -1)]
        usual = [abs(after - before) for before, after in pairwise(usual_of[-window:])]
        lately = sum(map(operator.mul, weights, steps)) / sum(weights) if steps else 0.0
        return lately + 0.5 * (sum(usual) / len(usual) if usual else 0.0)

    closed = curve[:-1]
    origins = range(max(0, len(closed) - window), len(closed) - lead)
    if lead == 0 or len(origins) < LEAST_ERRORS:
        return curve[-1]
    multiples = []
    for origin in origins:
        there = rough(curve[: origin + 1], curve[: origin + 1])
        multiples.append((curve[origin + lead] - curve[origin]) / there if there > 0 else 0.0)
    number = min(max(math.ceil((len(multiples) + 1) * quantile), 1), len(multiples))
    return max(0.0, curve[-1] + sorted(multiples)[number - 1] * rough(curve, closed))
