"""Which intervals of a log are real-time services, and how many GPUs their demand needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import numpy.typing as npt

from loadfactor.audit.integrals import seconds_between
from loadfactor.audit.window import Window
from loadfactor.sources.facts import JobInterval, JobState
from loadfactor.units import SECONDS_PER_DAY

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ServiceRule:
    """What makes an interval a service: any one of these. Patterns are those of a shell (`chat-*`).

    `longer_than_days` takes what has run for so long and still runs.
    """

    partitions: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    longer_than_days: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it makes nothing a service."""
        return not (self.partitions or self.accounts or self.names or self.longer_than_days)

    def takes(self, interval: JobInterval, window: Window) -> bool:
        """Return whether `interval` belongs to a service."""
        return (
            _matches(interval.partition, self.partitions)
            or _matches(interval.account, self.accounts)
            or _matches(interval.name, self.names)
            or self._runs_on(interval, window)
        )

    def _runs_on(self, interval: JobInterval, window: Window) -> bool:
        if self.longer_than_days is None or interval.started is None or interval.state is not JobState.RUNNING:
            return False
        return window.end - interval.started >= self.longer_than_days * SECONDS_PER_DAY


def _matches(text: str | None, patterns: Sequence[str]) -> bool:
    return text is not None and any(fnmatchcase(text, pattern) for pattern in patterns)


def service_flags(intervals: Sequence[JobInterval], rule: ServiceRule, window: Window) -> Flags:
    """Return for each interval whether it belongs to a service."""
    if rule.is_empty:
        return np.zeros(len(intervals), dtype=np.bool_)
    return np.array([rule.takes(interval, window) for interval in intervals], dtype=np.bool_)


@dataclass(frozen=True)
class Demand:
    """How many GPUs all services together needed: `gpus[i]` during [begin[i], end[i]), seconds since 1970 UTC.

    Spans ascend and do not overlap; between them the demand is unknown.
    """

    begin: Floats
    end: Floats
    gpus: Floats

    def cut(self, window: Window) -> Demand:
        """Return the part inside the window."""
        begin, end = np.maximum(self.begin, window.begin), np.minimum(self.end, window.end)
        kept = end > begin
        return Demand(begin[kept], end[kept], self.gpus[kept])

    def known_seconds(self, edges: Floats) -> Floats:
        """Return how many seconds of each hour between `edges` the demand is known for."""
        return seconds_between(self.begin, self.end, edges)

    def needed_seconds(self, edges: Floats) -> Floats:
        """Return the GPU-seconds that were needed in each hour between `edges`, as far as the demand is known."""
        return seconds_between(self.begin, self.end, edges, self.gpus)
