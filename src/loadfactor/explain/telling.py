"""How steps, GPUs and amounts are told: the step always, the clock beside it where the horizon has a start."""

from __future__ import annotations

from collections.abc import Sequence

from loadfactor.model import Horizon
from loadfactor.pictures.clock import Clock

MOST_NAMED = 3


def at_step(horizon: Horizon, step: int) -> str:
    """Return ``step 5 (Tue 1 Dec 05:00 UTC)``, or ``step 5`` where the horizon has no start."""
    moment = Clock(horizon).moment(step)
    return f"step {step}" if moment is None else f"step {step} ({moment:%a} {moment.day} {moment:%b %H:%M} UTC)"


def in_steps(horizon: Horizon, start: int, end: int) -> str:
    """Return ``steps [3, 7) (Tue 1 Dec 03:00 to 07:00 UTC)``, or the steps alone."""
    clock = Clock(horizon).range_text(start, end)
    return f"steps [{start}, {end})" + (f" ({clock} UTC)" if clock else "")


def on_gpus(gpus: Sequence[int]) -> str:
    """Return ``GPU 3`` or ``GPUs 0-3, 8``."""
    pieces: list[str] = []
    first = 0
    for index in range(1, len(gpus) + 1):
        if index == len(gpus) or gpus[index] != gpus[index - 1] + 1:
            low, high = gpus[first], gpus[index - 1]
            pieces.append(str(low) if low == high else f"{low}-{high}")
            first = index
    return f"GPU{'' if len(gpus) == 1 else 's'} {', '.join(pieces)}"


def count(number: int, noun: str) -> str:
    """Return ``1 GPU`` or ``2 GPUs``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def amount(value: float) -> str:
    """Return a value or priority with at most two decimals."""
    text = f"{value:,.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def names(ids: Sequence[str]) -> str:
    """Return the first few of `ids` and how many more there are."""
    rest = len(ids) - MOST_NAMED
    listed = ", ".join(ids[:MOST_NAMED])
    return f"{listed} and {rest} more" if rest > 0 else listed
