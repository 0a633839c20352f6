"""What a policy is: a pure, seeded callable from a problem to a plan, with its limits as an argument."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from loadfactor.model import Plan, Problem

DEFAULT_BUDGET_MS = 5.0
DEFAULT_TIME_LIMIT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a search stands: seconds since it began, the value of its best plan, and the bound proven so far."""

    seconds: float
    value: float
    bound: float | None

    @property
    def gap(self) -> float | None:
        """Return (bound − value) / |bound|, or None where nothing is proven."""
        return None if self.bound is None else relative_gap(self.value, self.bound)


@dataclass(frozen=True, slots=True)
class Effort:
    """How long a policy may think; a policy ignores what does not concern it.

    `budget_ms` is for `fast`; `iterations`, where given, replaces it and makes the result a function of the seed alone.
    `time_limit_seconds` is for `full`. `progress` is called whenever a better plan or bound is known.
    """

    budget_ms: float = DEFAULT_BUDGET_MS
    iterations: int | None = None
    time_limit_seconds: float = DEFAULT_TIME_LIMIT_SECONDS
    seed: int = 0
    progress: Callable[[Progress], None] | None = None


DEFAULT_EFFORT = Effort()


@runtime_checkable
class Policy(Protocol):
    """Makes a plan for a problem. Register one as an entry point in the group `loadfactor.policies`."""

    @property
    def name(self) -> str:
        """Return the name under which the policy appears in plans and tables."""
        ...  # pragma: no cover

    def plan(self, problem: Problem, effort: Effort = DEFAULT_EFFORT) -> Plan:
        """Return a legal plan; raise nothing for a valid problem."""
        ...  # pragma: no cover


def relative_gap(value: float, bound: float) -> float:
    """Return how far `value` lies below `bound`, as a share of the bound; 0 where the two agree."""
    distance = max(0.0, bound - value)
    return distance / max(abs(bound), 1e-9) if distance > 0 else 0.0
