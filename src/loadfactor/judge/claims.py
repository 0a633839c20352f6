"""What a plan claims about itself, compared with what the judge computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isclose

from loadfactor.model import Metrics, Plan

# A policy may sum in another order, and an exact solver works on scaled integers: both differ far below this.
TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class ClaimedDifference:
    """A claim of the plan (`bound`, `optimal` or a metric) that the recomputed metrics do not bear out."""

    name: str
    claimed: float | bool
    computed: float
    message: str

    def __str__(self) -> str:
        return self.message


def claimed_differences(plan: Plan, metrics: Metrics) -> list[ClaimedDifference]:
    """Return every claim of `plan` that differs from `metrics` by more than a millionth (relative or absolute).

    A bound must not lie below the value, and `optimal: true` means that the bound is the value.
    """
    return [*_of_metrics(plan, metrics), *_of_proof(plan, metrics.value)]


def _of_metrics(plan: Plan, metrics: Metrics) -> Iterator[ClaimedDifference]:
    if plan.metrics is None:
        return
    for name in Metrics.model_fields:
        claimed, computed = getattr(plan.metrics, name), getattr(metrics, name)
        if not _same(claimed, computed):
            message = f"{name} is claimed to be {claimed:.12g} and is {computed:.12g}; correct the claim"
            yield ClaimedDifference(name, claimed, computed, message)


def _of_proof(plan: Plan, value: float) -> Iterator[ClaimedDifference]:
    if plan.bound is not None and plan.bound < value and not _same(plan.bound, value):
        message = f"bound is claimed to be {plan.bound:.12g} and lies below the value {value:.12g}; correct the bound"
        yield ClaimedDifference("bound", plan.bound, value, message)
    if plan.optimal and (plan.bound is None or (plan.bound > value and not _same(plan.bound, value))):
        bound = "no bound" if plan.bound is None else f"the bound {plan.bound:.12g}"
        message = f"optimal is claimed, with {bound} and the value {value:.12g}; claim it where the two are equal"
        yield ClaimedDifference("optimal", True, value, message)


def _same(claimed: float, computed: float) -> bool:
    return isclose(claimed, computed, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
