"""What GPUs drew: power and energy of telemetry laid over who held them, in joules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from loadfactor.audit.activity import IDLE_BELOW, Activity, held_within
from loadfactor.audit.timeline import Timeline

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
JOULES_PER_KILOWATT_HOUR = 3_600_000.0


@dataclass(frozen=True)
class Power:
    """GPU `gpu[i]` drew `watts[i]` on average during [begin[i], end[i]), seconds since 1970 UTC; the rest is unknown.

    `share` is its activity in that span, NaN where nobody says.
    """

    gpu: Ints
    begin: Floats
    end: Floats
    watts: Floats
    share: Floats


@dataclass(frozen=True)
class Drawn:
    """Energy in joules by what the GPUs did, and the seconds of GPU time that it is known for.

    `free` GPUs were held by nobody; `idle` ones were held and inactive; `working` is the rest.
    """

    free: float
    idle: float
    working: float
    free_seconds: float
    idle_seconds: float
    working_seconds: float

    @property
    def whole(self) -> float:
        """All energy that is known."""
        return self.free + self.idle + self.working


def drawn_by(timeline: Timeline, power: Power, owners: Flags) -> float:
    """Return the joules that GPUs drew while `owners` (by interval) held them, idle or not, as far as known."""
    spans = Activity(power.gpu, power.begin, power.end, power.share)
    return float((held_within(timeline, spans, owners) * power.watts).sum())


def drawn(timeline: Timeline, power: Power) -> Drawn:
    """Return what was drawn by free, idle and working GPUs; a held GPU of unknown activity counts as working."""
    spans = Activity(power.gpu, power.begin, power.end, power.share)
    held = held_within(timeline, spans)
    free = (power.end - power.begin) - held
    is_idle = power.share < IDLE_BELOW
    return Drawn(
        free=float((free * power.watts).sum()),
        idle=float((held * power.watts)[is_idle].sum()),
        working=float((held * power.watts)[~is_idle].sum()),
        free_seconds=float(free.sum()),
        idle_seconds=float(held[is_idle].sum()),
        working_seconds=float(held[~is_idle].sum()),
    )
