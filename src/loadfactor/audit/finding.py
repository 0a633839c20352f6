"""A finding: one number, what it is held against, the rows that show it, what to do, and what that would recover."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["flagged", "fine", "unknown"]
Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Threshold:
    """The number from which a finding is flagged, and where it comes from."""

    value: float
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """The rows behind a finding, most telling first. Numbers have the unit in their column's name."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...] = ()


@dataclass(frozen=True)
class Finding:
    """What one rule found.

    `value` is in `unit` (None: the log does not say). `sentence` is the fact in words, `remedy` what to do about it;
    `recoverable_gpu_hours` is what that would bring back (None: it cannot be told). `figures` are further numbers, for
    charts and for machines.
    """

    rule: str
    title: str
    verdict: Verdict
    sentence: str
    value: float | None = None
    unit: str = ""
    threshold: Threshold | None = None
    evidence: Evidence = field(default_factory=lambda: Evidence(()))
    remedy: str = ""
    recoverable_gpu_hours: float | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)


def verdict_of(value: float | None, threshold: Threshold) -> Verdict:
    """Return whether `value` is above the threshold; unknown where it is None."""
    if value is None:
        return "unknown"
    return "flagged" if value > threshold.value else "fine"
