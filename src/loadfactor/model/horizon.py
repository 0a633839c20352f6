"""The horizon: T equal steps of time, and the objective that is summed over them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AwareDatetime, Field, field_validator

from loadfactor.model import limits
from loadfactor.model.base import Noun


class Horizon(Noun):
    """T equal steps of `step_minutes` minutes; `start` (UTC) only labels them.

    With `finish_inside` every job ends at or before step T; without it a job may run past the horizon.
    """

    steps: Annotated[int, Field(strict=True, ge=1, le=limits.MAX_STEPS)]
    step_minutes: Annotated[float, Field(strict=True, gt=0, le=limits.MAX_STEP_MINUTES)] = 60.0
    start: AwareDatetime | None = None
    finish_inside: Annotated[bool, Field(strict=True)] = True

    @field_validator("start", mode="before")
    @classmethod
    def _refuse_numbers(cls, value: object) -> object:
        if isinstance(value, int | float):  # pydantic would read seconds since 1970, which nobody meant
            return str(value) + " (a number)"
        return value

    @field_validator("start")
    @classmethod
    def _to_utc(cls, value: datetime | None) -> datetime | None:
        return None if value is None else value.astimezone(UTC)


class Objective(Noun):
    """The weights of the objective.

    `realtime_penalty`: what one GPU-step of unmet real-time demand costs, in GPU-steps of batch work of the same
    priority. `decay`: the factor by which a GPU-step of batch work loses value with every step that it comes later.
    """

    realtime_penalty: Annotated[float, Field(strict=True, ge=0, le=limits.MAX_PENALTY)] = 8.0
    decay: Annotated[float, Field(strict=True, gt=0, le=1)] = 0.98
