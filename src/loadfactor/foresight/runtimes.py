"""Estimates that learn nothing: the user's limit, and the truth, told rightly (the upper line) or misjudged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from loadfactor.errors import InputError
from loadfactor.foresight.features import JobFeatures
from loadfactor.units import SECONDS_PER_DAY

LEAST_SECONDS = 1.0


def outgrown(elapsed_seconds: float) -> float:
    """Return the total expected of a job that has run longer than anything known says: twice what it has run.

    Run times have heavy tails. Where P(run > x) falls as 1/x, half of the jobs that lasted x last 2x.
    """
    return max(LEAST_SECONDS, 2.0 * elapsed_seconds)


@dataclass(frozen=True)
class UserLimit:
    """The user's limit, taken at its word; `default_seconds` for a job without one; grows once it is exceeded."""

    default_seconds: float = float(SECONDS_PER_DAY)

    def estimate(self, job_id: str, features: JobFeatures, elapsed_seconds: float) -> float:
        """Return the limit, or twice the time run so far where that has reached the limit."""
        limit = self.default_seconds if features.limit_seconds is None else features.limit_seconds
        return limit if elapsed_seconds < limit else outgrown(elapsed_seconds)

    def planned(self, job_id: str, features: JobFeatures) -> float:
        """Return the limit."""
        return self.estimate(job_id, features, 0.0)

    def learn(self, job_id: str, features: JobFeatures, run_seconds: float) -> None:
        """Learn nothing."""


@dataclass(frozen=True)
class PerfectRuntime:
    """The true run times, by job; only a replay has them."""

    run_seconds: Mapping[str, float]

    def estimate(self, job_id: str, features: JobFeatures, elapsed_seconds: float) -> float:
        """Return the true run time, and twice the time run so far where that is longer all the same.

        Raises `InputError` for a job that is not in the table.
        """
        try:
            truth = self.run_seconds[job_id]
        except KeyError:
            fact = "no run time is known of this job"
            raise InputError.of(f"run_seconds[{job_id}]", fact, "give the run time of every job") from None
        return truth if elapsed_seconds < truth else outgrown(elapsed_seconds)

    def planned(self, job_id: str, features: JobFeatures) -> float:
        """Return the true run time; raise `InputError` for a job that is not in the table."""
        return self.estimate(job_id, features, 0.0)

    def learn(self, job_id: str, features: JobFeatures, run_seconds: float) -> None:
        """Learn nothing."""


def misjudged(
    run_seconds: Mapping[str, float], factor: float = 1.0, spread: float = 1.0, seed: int = 0
) -> dict[str, float]:
    """Return the run times as one who is wrong in a stated way would guess them: for measuring what that costs.

    Every run time is multiplied by `factor` and by a factor of its own, drawn evenly in the logarithm between
    1 / `spread` and `spread`; both are positive, and `spread` is at least 1. The draws are those of `seed`, in the
    order of the mapping.
    """
    drawn = np.random.default_rng([seed, 2]).uniform(-1.0, 1.0, size=len(run_seconds))
    factors = factor * spread**drawn
    return {job_id: run * own for (job_id, run), own in zip(run_seconds.items(), factors.tolist(), strict=True)}
