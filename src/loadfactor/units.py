"""Conversions between units, so that no module carries a bare 60, 1000 or 1024."""

from __future__ import annotations

SECONDS_PER_MINUTE = 60
MINUTES_PER_HOUR = 60
HOURS_PER_DAY = 24
SECONDS_PER_HOUR = SECONDS_PER_MINUTE * MINUTES_PER_HOUR
SECONDS_PER_DAY = SECONDS_PER_HOUR * HOURS_PER_DAY
MILLISECONDS_PER_SECOND = 1_000
BYTES_PER_MEBIBYTE = 1024 * 1024


def gpu_hours(gpu_steps: float, step_minutes: float) -> float:
    """Return the GPU-hours in `gpu_steps` steps of `step_minutes` minutes each."""
    return gpu_steps * step_minutes / MINUTES_PER_HOUR


def steps_for(seconds: float, step_minutes: float) -> int:
    """Return how many whole steps cover `seconds` (at least one)."""
    step_seconds = step_minutes * SECONDS_PER_MINUTE
    return max(1, int(-(-seconds // step_seconds)))
