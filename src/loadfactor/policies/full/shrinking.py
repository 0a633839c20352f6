"""Finds a small set of demands that have no nodes among many: the fewer they are, the more a cut forbids with them.

First a window of time, by bisection at either end; inside it a core of CP-SAT; then whatever can go without the rest
finding nodes, in halves, quarters and so on down to one by one. That last part is for as long as time is granted: what
is left at any moment is a conflict.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from loadfactor.policies.full.refuting import Demands, Refuter
from loadfactor.policies.full.solver import Limits

Item = TypeVar("Item")

CORE_SECONDS, CORES = 0.3, 3
"""Time limit for a core, and how many are taken one from another."""
PATIENCE, LEAST_PATIENCE = 1.5, 0.1
"""The seconds in which fewer demands must be refuted: so many times what all of them took, and at least so many."""


@dataclass
class Shrinker:
    """Makes one conflict smaller and smaller."""

    refuter: Refuter
    demands: Demands
    limits: Limits
    """For one question; its seconds are those for all of the demands."""

    def refute(self, most_seconds: float) -> Demands | None:
        """Return a small set of demands that have no nodes, or None where all of them have some, or may have."""
        began = time.perf_counter()
        if not self._refuted(self.demands):
            return None
        spent = time.perf_counter() - began
        self.limits = replace(self.limits, seconds=max(LEAST_PATIENCE, min(self.limits.seconds, PATIENCE * spent)))
        self.until = time.perf_counter() + most_seconds
        self._take_window()
        self._take_cores()
        self._drop_needs()
        self._drop_parts()
        self._shorten_parts()
        return self.demands

    def _refuted(self, demands: Demands) -> bool:
        return self.refuter.search(demands, self.limits).infeasible

    def _try(self, demands: Demands) -> bool:
        """Take fewer demands where they still have no nodes."""
        if time.perf_counter() >= self.until or not self._refuted(demands):
            return False
        self.demands = demands
        return True

    def _take_window(self) -> None:
        first, last = 0, self.refuter.problem.horizon.steps
        least = _least(1, last, lambda middle: self._try(self.demands.within(first, middle)))
        _least(1 - least, 0, lambda middle: self._try(self.demands.within(-middle, least)))

    def _take_cores(self) -> None:
        for turn in range(CORES):
            limits = replace(self.limits, seconds=CORE_SECONDS, linearization=0, seed=self.limits.seed + turn)
            core = self.refuter.core(self.demands, limits)
            if core is None or _cells(core) >= _cells(self.demands):
                return
            self.demands = core

    def _drop_needs(self) -> None:
        def rest_of(kept: list[tuple[int, int]]) -> Demands:
            return replace(self.demands, needs={key: self.demands.needs[key] for key in kept})

        _drop(sorted(self.demands.needs), lambda kept: self._try(rest_of(kept)))

    def _drop_parts(self) -> None:
        parts = sorted(self.demands.parts, key=lambda part: (part.end - part.start) * part.size)
        _drop(parts, lambda kept: self._try(replace(self.demands, parts=tuple(kept))))

    def _shorten_parts(self) -> None:
        for index in range(len(self.demands.parts)):
            part = self.demands.parts[index]
            end = _least(part.start + 1, part.end, lambda end: self._try_part(index, end=end))  # noqa: B023
            _least(1 - end, -part.start, lambda start: self._try_part(index, start=-start))  # noqa: B023

    def _try_part(self, index: int, **changed: int) -> bool:
        parts = list(self.demands.parts)
        parts[index] = replace(parts[index], **changed)
        return self._try(replace(self.demands, parts=tuple(parts)))


def _cells(demands: Demands) -> int:
    return sum(part.end - part.start for part in demands.parts) + len(demands.needs)


def _least(low: int, high: int, test: Callable[[int], bool]) -> int:
    """Return the least number that passes a test which `high` and all above pass, by bisection."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if test(middle) else (middle + 1, high)
    return high


def _drop(items: list[Item], test: Callable[[list[Item]], bool]) -> None:
    """Drop what the rest passes the test without: in halves, then quarters, and so on."""
    size = len(items) // 2
    while size:
        first = 0
        while first < len(items):
            kept = items[:first] + items[first + size :]
            if test(kept):
                items = kept
            else:
                first += size
        size //= 2
