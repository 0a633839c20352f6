"""The same stay of a job in several rows: logs that overlap in time and were put together."""

from __future__ import annotations

from collections.abc import Sequence

from loadfactor.errors import Fault
from loadfactor.sources.facts import JobInterval, LeftOut


def without_repeats(facts: Sequence[JobInterval], name: str) -> tuple[list[JobInterval], list[LeftOut]]:
    """Return `facts` with one row for each stay, and the rows left out because another tells the same stay.

    Rows tell the same stay if id, submission and start agree; a requeued job starts anew, so its rows differ. The one
    that ended is kept, or else the later row. The GPU-seconds of the others are in the one that is kept: theirs are 0.
    """
    rows: dict[str, int | list[int]] = {}
    dropped: dict[int, int] = {}
    for index, interval in enumerate(facts):
        known = rows.setdefault(interval.id, index)
        if known == index:
            continue
        others = known if isinstance(known, list) else [known]
        same = next((other for other in others if _same_stay(facts[other], interval)), None)
        if same is None:
            rows[interval.id] = [*others, index]
        else:
            kept = same if facts[same].ended is not None and interval.ended is None else index
            dropped[same + index - kept] = kept
            rows[interval.id] = [kept if other == same else other for other in others]
    if not dropped:
        return list(facts), []
    left = [interval for index, interval in enumerate(facts) if index not in dropped]
    return left, [_left_out(facts[index], facts[kept], name) for index, kept in dropped.items()]


def _same_stay(one: JobInterval, other: JobInterval) -> bool:
    return one.started == other.started and one.submitted == other.submitted


def _left_out(interval: JobInterval, kept: JobInterval, name: str) -> LeftOut:
    fact = f"job {interval.id}: tells the same stay as line {kept.row}"
    return LeftOut(Fault(f"{name}:{interval.row}", fact, "nothing: it is counted once"), 0.0)
