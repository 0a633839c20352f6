"""Values as integers and back, so that a bound on the integers is a bound on the value."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log2

RESOLUTION = 34
"""The largest possible sum of rewards and penalties takes this many bits. Rounding is at most one unit a term, so that
a thousand terms cost less than 1e-6 of that sum; more bits make the solver slower."""


@dataclass(frozen=True)
class Scale:
    """`units` integer units are worth one unit of value; a power of two, so that whole values stay exact."""

    units: float

    @classmethod
    def for_total(cls, total: float) -> Scale:
        """Return the scale for an objective whose terms sum to at most `total`, in absolute value."""
        return cls(2.0 ** (RESOLUTION - ceil(log2(total)))) if total > 0 else cls(1.0)

    def reward(self, value: float) -> int:
        """Return a reward in units, rounded up."""
        return ceil(value * self.units)

    def penalty(self, value: float) -> int:
        """Return a penalty in units, rounded down."""
        return floor(value * self.units)

    def value(self, units: float) -> float:
        """Return what `units` are worth."""
        return units / self.units
