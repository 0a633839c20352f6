"""What answers how much a service will need: the protocol, what a reactive autoscaler knows, and the truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from loadfactor.errors import InputError

Curve = npt.NDArray[np.float64]


@runtime_checkable
class DemandForecaster(Protocol):
    """Says how much a service will need, from what has been observed by then.

    Demand is a step function in any unit (GPUs, requests per second): an observation holds until the next one.
    """

    def observe(self, at_seconds: float, demand: float) -> None:
        """Take note that from `at_seconds` on `demand` is needed; times never go back."""
        ...

    def forecast(self, at_seconds: float, steps: int, step_seconds: float, quantile: float) -> Curve:
        """Return for each step the demand that with probability `quantile` is not exceeded within it; shape (steps,).

        Step i is [at_seconds + i * step_seconds, at_seconds + (i + 1) * step_seconds). The probability is that of
        each step alone, not of all together. Where nothing was observed yet, the answer is zero.
        """
        ...


class LastValue:
    """What a reactive autoscaler knows: the last demand goes on. The quantile changes nothing."""

    def __init__(self) -> None:
        self._last = 0.0

    def observe(self, at_seconds: float, demand: float) -> None:
        """Take note of the demand from `at_seconds` on."""
        self._last = demand

    def forecast(self, at_seconds: float, steps: int, step_seconds: float, quantile: float) -> Curve:
        """Return the last demand for every step; shape (steps,)."""
        return np.full(steps, self._last)


class PerfectForecast:
    """The true curve, `demand[i]` from `at_seconds[i]` on; only a replay has it. The quantile changes nothing.

    Raises `InputError` where the curve is empty, its times do not ascend, or the lengths differ.
    """

    def __init__(self, at_seconds: Sequence[float], demand: Sequence[float]) -> None:
        self._times = np.asarray(at_seconds, dtype=np.float64)
        self._demand = np.asarray(demand, dtype=np.float64)
        if len(self._times) != len(self._demand) or not len(self._times):
            fact = f"{len(self._demand)} values for {len(self._times)} times"
            raise InputError.of("demand", fact, "give one value for each time, and at least one")
        if np.any(np.diff(self._times) <= 0):
            raise InputError.of("at_seconds", "times that do not ascend", "sort the curve and drop doubled times")

    def observe(self, at_seconds: float, demand: float) -> None:
        """Learn nothing."""

    def forecast(self, at_seconds: float, steps: int, step_seconds: float, quantile: float) -> Curve:
        """Return the largest true demand within each step; shape (steps,). The last value goes on for ever."""
        edges = at_seconds + step_seconds * np.arange(steps + 1)
        first = np.maximum(np.searchsorted(self._times, edges[:-1], side="right") - 1, 0)
        stop = np.maximum(np.searchsorted(self._times, edges[1:], side="left"), first + 1)
        return np.array([self._demand[low:high].max() for low, high in zip(first, stop, strict=True)])
