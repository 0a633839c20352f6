"""Draws that are the same on every machine and every version of Python, for the cases that are made by seed."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeVar

Item = TypeVar("Item")


class Dice:
    """Draws from the one method of `random.Random` whose sequence Python promises to keep: `random()`."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - data, not secrets

    def between(self, limits: tuple[int, int]) -> int:
        """Return a whole number in the inclusive range `limits`."""
        low, high = limits
        return low + int(self._random.random() * (high - low + 1))

    def chance(self, share: float) -> bool:
        """Return True in `share` of all draws."""
        return self._random.random() < share

    def choice(self, items: Sequence[Item]) -> Item:
        """Return one of `items`, each as likely as any other."""
        return items[int(self._random.random() * len(items))]

    def weighted(self, items: Sequence[tuple[Item, float]]) -> Item:
        """Return one of `items`, given with their weights."""
        sums = list(accumulate(weight for _, weight in items))
        point = self._random.random() * sums[-1]
        return next(item for (item, _), total in zip(items, sums, strict=True) if point < total)

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """Return `count` different ones of `items`."""
        rest = list(items)
        return [rest.pop(int(self._random.random() * len(rest))) for _ in range(count)]


def day_curve(night: int, peak: int, peak_hour: float, width_hours: float, steps: int) -> list[int]:
    """Return a demand in GPUs for each of `steps` equal steps of one day: a bell around the peak hour, night beside it.

    The bell goes around the clock, and `width_hours` is its standard deviation.
    """
    hours = [24 * step / steps for step in range(steps)]
    return [round(night + (peak - night) * _bell(hour - peak_hour, width_hours)) for hour in hours]


def _bell(hours_from_peak: float, width_hours: float) -> float:
    distance = min(hours_from_peak % 24, -hours_from_peak % 24)
    return math.exp(-((distance / width_hours) ** 2) / 2)
