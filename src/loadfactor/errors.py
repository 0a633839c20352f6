"""The errors of loadfactor, each with the culprit, the fact and the remedy.

The tree::

    LoadfactorError
    ├── InputError            a document, a file or an option is wrong (exit code 2)
    │   └── UnknownPolicyError
    └── IllegalPlanError      a policy made a plan that breaks a rule; never the user's fault
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with an input: where it is, what is wrong, what to do."""

    path: str
    fact: str
    remedy: str

    def __str__(self) -> str:
        place = f"{self.path}: " if self.path else ""
        return f"{place}{self.fact}; {self.remedy}"


class LoadfactorError(Exception):
    """Every error that loadfactor raises on purpose."""


class InputError(LoadfactorError):
    """An input is wrong; `faults` holds every fault found in it, not only the first."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(map(str, self.faults)))

    @classmethod
    def of(cls, path: str, fact: str, remedy: str) -> InputError:
        """Return the error for a single fault."""
        return cls([Fault(path, fact, remedy)])


class UnknownPolicyError(InputError):
    """A policy was asked for by a name that no package registers."""


class IllegalPlanError(LoadfactorError):
    """The judge found a plan of one of our own policies to break a rule."""
