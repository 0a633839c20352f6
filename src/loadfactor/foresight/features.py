"""What a scheduler sees of a job before it ends, and what answers how long the job will run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from loadfactor.errors import InputError


@dataclass(frozen=True, slots=True)
class JobFeatures:
    """What is known of a job when it is submitted; whatever the source does not tell is None.

    `limit_seconds` is the run time that the user asked for, `kind` one of the kinds of job (`training`, ...).

    Raises `InputError` where `gpus` or `limit_seconds` is not positive.
    """

    gpus: int
    user: str | None = None
    name: str | None = None
    limit_seconds: float | None = None
    kind: str | None = None

    def __post_init__(self) -> None:
        if self.gpus < 1:
            raise InputError.of("gpus", f"{self.gpus} GPUs", "a job needs at least one")
        if self.limit_seconds is not None and not self.limit_seconds > 0:
            raise InputError.of("limit_seconds", f"a limit of {self.limit_seconds} seconds", "give None for no limit")


@runtime_checkable
class RuntimeEstimator(Protocol):
    """Says how long a job will run; what it learns is what has ended by then."""

    def estimate(self, job_id: str, features: JobFeatures, elapsed_seconds: float) -> float:
        """Return the TOTAL run time in seconds that is expected of a job that has run `elapsed_seconds` so far.

        The answer is longer than `elapsed_seconds`, and no longer than the limit
        for as long as the job is within it.
        """
        ...

    def planned(self, job_id: str, features: JobFeatures) -> float:
        """Return the run time in seconds to plan with for a job that waits.

        It may be longer than what is expected: a job that outlives its plan stands where the next one was to start.
        """
        ...

    def learn(self, job_id: str, features: JobFeatures, run_seconds: float) -> None:
        """Take note that a job has ended after `run_seconds`."""
        ...
