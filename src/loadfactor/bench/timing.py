"""Decision times: measured in process after a warm-up, reported as a median with its spread."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from loadfactor.units import MILLISECONDS_PER_SECOND

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Timing:
    """The median, the 5th and the 95th percentile of `repeats` decision times."""

    median_ms: float
    p5_ms: float
    p95_ms: float
    repeats: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Timing:
        """Return the timing of these wall times, at least one."""
        low, middle, high = np.percentile(np.array(seconds) * MILLISECONDS_PER_SECOND, (5, 50, 95))
        return cls(float(middle), float(low), float(high), len(seconds))


def timed(
    decide: Callable[[int], Result], repeats: int, warm_ups: int = 1, within_seconds: float = math.inf
) -> tuple[Timing, list[Result]]:
    """Call `decide` with 0, 1, ... `repeats` - 1 and return the timing and every result.

    `warm_ups` calls before it are not counted: they load compiled code. No call begins once `within_seconds` are over,
    but the first always does; `Timing.repeats` says how many there were. Garbage is collected before and not during.
    """
    for seed in range(warm_ups):
        decide(seed)
    seconds: list[float] = []
    results: list[Result] = []
    with _no_garbage_collection():
        for seed in range(repeats):
            if seconds and sum(seconds) > within_seconds:
                break
            began = time.perf_counter()
            results.append(decide(seed))
            seconds.append(time.perf_counter() - began)
    return Timing.of(seconds), results


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
