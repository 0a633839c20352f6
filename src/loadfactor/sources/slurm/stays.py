"""When a job was submitted, started and ended, from the cells of its row; also where clocks were put back."""

from __future__ import annotations

from collections import Counter

from loadfactor.sources.facts import JobState
from loadfactor.sources.slurm.columns import Cells
from loadfactor.sources.slurm.durations import parse_elapsed
from loadfactor.sources.slurm.moments import LocalClock
from loadfactor.sources.slurm.states import is_active

_TWICE = (
    "jobs start or end in an hour that clocks showed twice: the reading that fits the run time is taken, else the first"
)
_DIFFERS = "jobs whose run time differs from end minus start (suspended for a while?): end minus start is taken"
_NO_END = "ended jobs without an end: it is taken from their run time"


class StayReader:
    """Reads the moments of a row; `seen` counts what a report should tell about the whole log.

    `written_at` is the latest moment at which a job still ran: about when the log was written, None if none tells.
    """

    def __init__(self, clock: LocalClock, seen: Counter[str]) -> None:
        self.clock, self._seen = clock, seen
        self.written_at: float | None = None

    def moments(self, cells: Cells) -> tuple[float | None, float | None, float | None]:
        """Return submission, start and end; where clocks were put back, as they fit together.

        Raises `UnreadableCell` where one of them cannot be read.
        """
        seconds, irregular = self.clock.seconds, self.clock.irregular
        submitted, started, ended = seconds(cells.submit), seconds(cells.start), seconds(cells.end)
        if started is None:
            return submitted, started, ended
        if irregular and (cells.start[:13] in irregular or cells.end[:13] in irregular):
            started, ended = self._fitting(cells, submitted, started, ended)
        if ended is not None and cells.elapsed:
            plain = cells.elapsed.isdecimal() and len(cells.elapsed) < len("1000000000")  # quicker than the cache
            elapsed = int(cells.elapsed) if plain else parse_elapsed(cells.elapsed)
            if elapsed is not None and not -1 <= elapsed - ended + started <= 1:
                self._seen[_DIFFERS] += 1
        return submitted, started, ended

    def end_from_elapsed(self, cells: Cells, state: JobState, started: float, has_ends: bool) -> float | None:
        """Return the end of a job that has ended without saying when, from its start and its run time.

        `has_ends` is whether the log has a column for ends. The run time of a job that runs tells when the log was
        written.
        """
        elapsed = parse_elapsed(cells.elapsed)
        if is_active(state):
            if state is JobState.RUNNING and elapsed is not None:
                self.written_at = max(self.written_at or 0.0, started + elapsed)
            return None
        if elapsed is None or (elapsed == 0 and has_ends):
            return None
        if has_ends:
            self._seen[_NO_END] += 1
        return started + elapsed

    def _fitting(
        self, cells: Cells, submitted: float | None, started: float, ended: float | None
    ) -> tuple[float, float | None]:
        """Return the readings of start and end that fit the run time, or the first that are in order."""
        starts = _readings(started, self.clock.later_by(cells.start))
        ends = [None] if ended is None else _readings(ended, self.clock.later_by(cells.end))
        pairs = [(start, end) for start in starts for end in ends]
        if len(pairs) == 1:
            return started, ended
        self._seen[_TWICE] += 1
        in_order = [
            (start, end)
            for start, end in pairs
            if (end is None or end >= start) and (submitted is None or start >= submitted)
        ] or pairs
        elapsed = parse_elapsed(cells.elapsed)
        if elapsed is None or ended is None:
            return in_order[0]
        return min(in_order, key=lambda pair: abs((pair[1] or 0.0) - pair[0] - elapsed))


def _readings(moment: float, later_by: float) -> list[float]:
    return [moment, moment + later_by] if later_by else [moment]
