"""Everything that the findings look at: the facts, laid out over the fleet, and what they sum to by hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from loadfactor.audit.activity import Activity
from loadfactor.audit.fleet import Fleet
from loadfactor.audit.idleness import CAUSES, Idleness, explain_idle
from loadfactor.audit.integrals import seconds_between
from loadfactor.audit.outages import Spans, spans_out
from loadfactor.audit.power import Power
from loadfactor.audit.services import Demand, Flags, ServiceRule, service_flags
from loadfactor.audit.timeline import Timeline, lay_out
from loadfactor.audit.window import Window
from loadfactor.sources.facts import JobInterval, LeftOut, Outage
from loadfactor.units import SECONDS_PER_HOUR

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Record:
    """The facts of one audit.

    `is_service[i]` says whether `intervals[i]` belongs to a service. `out` are spans by GPU in which it was
    unavailable. `demand` is what services needed, `activity` what telemetry saw GPUs do, `power` what they
    drew; None where nobody says.
    """

    source: str
    window: Window
    fleet: Fleet
    intervals: Sequence[JobInterval]
    is_service: Flags
    timeline: Timeline
    out: Spans
    idleness: Idleness
    demand: Demand | None = None
    activity: Activity | None = None
    power: Power | None = None
    left_out: tuple[LeftOut, ...] = ()
    rows_read: int = 0
    notes: tuple[str, ...] = ()

    @cached_property
    def edges(self) -> Floats:
        """The edges of the hours of the window."""
        return self.window.edges()

    @property
    def installed_hours(self) -> float:
        """GPU-hours that the fleet has in the window."""
        return self.fleet.gpus * self.window.hours

    @cached_property
    def hours_by_use(self) -> dict[str, Floats]:
        """GPU-hours in each hour of the window: held by `jobs`, held by `services`, and not held by cause.

        They sum to the fleet's GPUs times the length of each hour.
        """
        line = self.timeline
        owned = self.is_service[line.owner] if len(line.owner) else np.zeros(0, dtype=np.bool_)
        uses = {
            name: seconds_between(line.begin[chosen], line.end[chosen], self.edges) / SECONDS_PER_HOUR
            for name, chosen in (("jobs", ~owned), ("services", owned))
        }
        return uses | {cause: self.idleness.seconds[:, at] / SECONDS_PER_HOUR for at, cause in enumerate(CAUSES)}

    def hours(self, use: str) -> float:
        """Return the GPU-hours of one use in the whole window."""
        return float(self.hours_by_use[use].sum())

    def share(self, gpu_hours: float) -> float:
        """Return `gpu_hours` as a share of what is installed."""
        return gpu_hours / self.installed_hours


def make_record(
    source: str,
    intervals: Sequence[JobInterval],
    fleet: Fleet,
    window: Window,
    rule: ServiceRule | None = None,
    demand: Demand | None = None,
    activity: Activity | None = None,
    power: Power | None = None,
    outages: Sequence[Outage] = (),
    left_out: tuple[LeftOut, ...] = (),
    rows_read: int = 0,
    notes: tuple[str, ...] = (),
) -> Record:
    """Lay the facts out over the fleet and return what the findings look at."""
    timeline = lay_out(intervals, fleet, window)
    out = spans_out(fleet, timeline, outages, window)
    return Record(
        source=source,
        window=window,
        fleet=fleet,
        intervals=intervals,
        is_service=service_flags(intervals, rule or ServiceRule(), window),
        timeline=timeline,
        out=out,
        idleness=explain_idle(intervals, timeline, out, fleet, window),
        demand=None if demand is None else demand.cut(window),
        activity=activity,
        power=power,
        left_out=left_out,
        rows_read=rows_read,
        notes=(*notes, *_layout_notes(timeline)),
    )


def _layout_notes(timeline: Timeline) -> list[str]:
    """Return what the layout could not place, in words."""
    notes = []
    if timeline.unknown_nodes:
        names = ", ".join(timeline.unknown_nodes[:3]) + (", ..." if len(timeline.unknown_nodes) > 3 else "")
        hours = timeline.homeless_seconds / SECONDS_PER_HOUR
        notes.append(f"{hours:,.0f} GPU-hours ran on nodes that --nodes does not have ({names}), and count nowhere")
    if timeline.crowded_seconds:
        hours = timeline.crowded_seconds / SECONDS_PER_HOUR
        notes.append(f"{hours:,.1f} GPU-hours of jobs found their GPUs held already (shared cards, or too few nodes)")
    if timeline.by_packing:
        notes.append(f"{timeline.by_packing:,} jobs name no node: they are laid out where they fit best")
    return notes
