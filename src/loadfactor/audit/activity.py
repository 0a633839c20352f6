"""What GPUs did while they were held: spans of measured activity, laid over who held them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from loadfactor.audit.timeline import Timeline
from loadfactor.units import SECONDS_PER_HOUR

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
IDLE_BELOW = 0.05
"""A held GPU counts as idle while it is active for less than a twentieth of the time: a notebook left open, a job that
hangs. Loadfactor's own line: idle GPUs report 0, and a monitoring agent alone stays under 1 %."""


@dataclass(frozen=True)
class Activity:
    """GPU `gpu[i]` was active for the share `share[i]` of [begin[i], end[i]); what is not covered is unknown.

    Spans of a GPU do not overlap. Moments are seconds since 1970 UTC.
    """

    gpu: Ints
    begin: Floats
    end: Floats
    share: Floats


@dataclass(frozen=True)
class HeldActivity:
    """GPU-hours that were held, by what is known of their activity; the parts add up to what was held.

    `inefficient` are the inactive hours of GPUs that were not idle, `useful` their active ones.
    """

    idle: float
    inefficient: float
    useful: float
    unknown: float

    @property
    def known(self) -> float:
        """The held GPU-hours of which the activity is known."""
        return self.idle + self.inefficient + self.useful


def held_activity(timeline: Timeline, activity: Activity | None, owners: Flags | None = None) -> HeldActivity:
    """Return what the GPU-hours held (by `owners`, where given) were, as far as `activity` covers them."""
    lengths = timeline.end - timeline.begin
    held = float((lengths if owners is None else lengths[owners[timeline.owner]]).sum()) / SECONDS_PER_HOUR
    if activity is None or not len(activity.gpu):
        return HeldActivity(0.0, 0.0, 0.0, held)
    covered = held_within(timeline, activity, owners) / SECONDS_PER_HOUR
    is_idle = activity.share < IDLE_BELOW
    idle = float(covered[is_idle].sum())
    useful = float((covered * activity.share)[~is_idle].sum())
    inefficient = float(covered[~is_idle].sum()) - useful
    return HeldActivity(idle, inefficient, useful, max(0.0, held - idle - useful - inefficient))


def held_within(timeline: Timeline, activity: Activity, owners: Flags | None = None) -> Floats:
    """Return for each span of `activity` the seconds in which its GPU was held (by `owners`, where given)."""
    result = np.zeros(len(activity.gpu))
    chosen = np.ones(len(timeline.gpu), dtype=np.bool_) if owners is None else owners[timeline.owner]
    gpu, begin, end = timeline.gpu[chosen], timeline.begin[chosen], timeline.end[chosen]
    order = np.lexsort((begin, gpu))
    gpu, begin, end = gpu[order], begin[order], end[order]
    for number in np.unique(activity.gpu):
        first, beyond = np.searchsorted(gpu, (number, number + 1))
        if first == beyond:
            continue
        edges = np.column_stack((begin[first:beyond], end[first:beyond])).ravel()
        integral = np.concatenate(([0.0], np.cumsum(end[first:beyond] - begin[first:beyond])))
        reached = np.column_stack((integral[:-1], integral[1:])).ravel()
        spans = activity.gpu == number
        result[spans] = np.interp(activity.end[spans], edges, reached) - np.interp(
            activity.begin[spans], edges, reached
        )
    return result
