"""The replays that an audit makes: policies side by side, under what is assumed of priorities, on larger clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from loadfactor.audit.record import Record
from loadfactor.audit.whatif import (
    ALLOCATOR,
    BACKFILL,
    POLICIES,
    Workload,
    drawn_priorities,
    run_policy,
    workload_of,
)
from loadfactor.replay.measure import Measures
from loadfactor.replay.report import Outcome
from loadfactor.replay.workload import DEFAULT_PRIORITIES

ALIKE = "every job matters alike"
LOGGED = "priorities of the log, in four classes (1, 2, 4, 8)"
DRAWN = "priorities drawn evenly from 1, 2, 4, 8"
GROWTH = (0.1, 0.4)
ByPolicy = Mapping[str, Measures]
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Comparison:
    """What the same workload came to: by what was assumed of priorities (the first one leads), and by growth.

    `by_growth[0.1]` has today's order (backfill with reservation) and the allocator on a tenth more GPUs. `outcomes`
    have, by policy, what the GPUs did over time under the assumption that leads.
    """

    workload: Workload
    by_assumption: Mapping[str, ByPolicy]
    by_growth: Mapping[float, ByPolicy]
    outcomes: Mapping[str, Outcome]

    @property
    def leading(self) -> ByPolicy:
        """The policies under the assumption that leads."""
        return next(iter(self.by_assumption.values()))


def compare(record: Record, progress: Progress | None = None) -> Comparison | None:
    """Replay the record's window under every policy; None where no job of it can be replayed.

    `progress` is told what runs and the share of all replays that is done.
    """
    workload = workload_of(record)
    if not workload.arrivals:
        return None
    worlds = _assumptions(record, workload)
    grown = {growth: next(iter(worlds.values())).grown(growth) for growth in GROWTH}
    runs = [(name, policy, world) for name, world in worlds.items() for policy in POLICIES]
    runs += [
        (f"{growth:.0%} more GPUs", policy, grown[growth]) for growth in GROWTH for policy in (BACKFILL, ALLOCATOR)
    ]
    measured: dict[tuple[str, str], Measures] = {}
    outcomes: dict[str, Outcome] = {}
    for done, (name, policy, world) in enumerate(runs):
        told = _within(progress, f"{policy}, {name}", done, len(runs))
        outcome = run_policy(policy, world, told)
        measured[name, policy] = outcome.measures
        outcomes.setdefault(policy, outcome)
    return Comparison(
        workload,
        {name: {policy: measured[name, policy] for policy in POLICIES} for name in worlds},
        {
            growth: {policy: measured[f"{growth:.0%} more GPUs", policy] for policy in (BACKFILL, ALLOCATOR)}
            for growth in GROWTH
        },
        outcomes,
    )


def _within(progress: Progress | None, text: str, done: int, whole: int) -> Callable[[float], None] | None:
    if progress is None:
        return None
    progress(text, done / whole)
    return lambda share: progress(text, (done + min(1.0, share)) / whole)


def _assumptions(record: Record, workload: Workload) -> dict[str, Workload]:
    logged = _logged_priorities(record, workload)
    leading = {LOGGED: workload.with_priorities(logged)} if logged else {ALIKE: workload}
    other = {ALIKE: workload} if logged else {DRAWN: workload.with_priorities(drawn_priorities(workload))}
    return leading | other


def _logged_priorities(record: Record, workload: Workload) -> list[float]:
    """Return the class of each job's priority by quarters of those that the log has; empty where they say nothing.

    A scheduler's priority orders jobs and is no measure of their worth, so that only its rank is used.
    """
    stated = {interval.id: interval.priority for interval in record.intervals if interval.priority is not None}
    found = [stated.get(arrival.job.id.rpartition("#")[0]) for arrival in workload.arrivals]
    if any(priority is None for priority in found) or len(set(found)) < 2:
        return []
    values = np.array(found, dtype=np.float64)
    quarter = np.searchsorted(np.quantile(values, (0.25, 0.5, 0.75)), values, side="right")
    return [DEFAULT_PRIORITIES[each] for each in quarter.tolist()]
