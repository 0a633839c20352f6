"""From the cells of one row of `sacct` to one interval of a job, or to the reason why it is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from loadfactor.sources.facts import JobInterval, JobState
from loadfactor.sources.slurm.arrays import count_tasks, is_cut
from loadfactor.sources.slurm.cells import UnreadableCell, says_nothing
from loadfactor.sources.slurm.columns import Cells, Columns
from loadfactor.sources.slurm.details import DetailReader, Texts, parse_exit_code, parse_number, parse_whole
from loadfactor.sources.slurm.durations import parse_elapsed, parse_limit
from loadfactor.sources.slurm.gpus import Gpus, is_slice
from loadfactor.sources.slurm.gres import parse_gres
from loadfactor.sources.slurm.hostlists import expand_hosts
from loadfactor.sources.slurm.memory import parse_memory
from loadfactor.sources.slurm.states import parse_state
from loadfactor.sources.slurm.stays import StayReader
from loadfactor.sources.slurm.tres import parse_tres

_Value = TypeVar("_Value")
_Cell = TypeVar("_Cell")
_NOTES = 30
"""So many different things are told about a log; more states that are not known are counted together."""
_RUNNING = frozenset({"RUNNING", "R"})
_ENDED_IN_QUEUE = (JobState.CANCELLED, JobState.FAILED, JobState.DEADLINE, JobState.UNKNOWN)
_GPU_READERS: dict[str, Callable[[str], object]] = {
    "held_tres": parse_tres,
    "wanted_tres": parse_tres,
    "held_gres": parse_gres,
    "wanted_gres": parse_gres,
}
_OTHER_READERS: dict[str, Callable[[str], object]] = {
    "job_id": count_tasks,
    "elapsed": parse_elapsed,
    "limit": parse_limit,
    "nodes": expand_hosts,
    "memory": parse_memory,
    "node_count": parse_whole,
    "cpu_count": parse_whole,
    "priority": parse_number,
    "exit_code": parse_exit_code,
}


class RowReader:
    """Turns cells into intervals; `seen` counts what a report should tell about the whole log, by its sentence."""

    def __init__(self, columns: Columns, stays: StayReader, seen: Counter[str]) -> None:
        self._columns, self._stays, self._seen = columns, stays, seen
        self._clock = stays.clock
        self._has_ends = "end" in columns.known
        self._states_held = bool({"held_tres", "held_gres"} & columns.known)
        self._states_nodes = "nodes" in columns.known
        self._states_a_state = "state" in columns.known
        self._texts = Texts()
        self._details = DetailReader(columns, stays.clock, seen)

    def gpus(self, cells: Cells) -> tuple[Gpus, Gpus]:
        """Return the GPUs that the row says were held, and those that were asked for; raise `UnreadableCell`."""
        wanted = parse_tres(cells.wanted_tres)
        if not wanted.count and cells.wanted_gres:
            wanted = parse_gres(cells.wanted_gres)
        if not self._states_held:
            return wanted, wanted
        held = parse_tres(cells.held_tres)
        if not held.count and cells.held_gres:
            held = parse_gres(cells.held_gres)
        return held, wanted

    def interval(self, row: int, cells: Cells, held: Gpus, wanted: Gpus) -> JobInterval:
        """Return the interval in the cells; raise `UnreadableCell` where one that it needs cannot be read."""
        submitted, started, ended = self._stays.moments(cells)
        state = self._state(cells.state, started, ended)
        if started is not None and started == ended and self._never_started(state, cells, held):
            started = None
        if started is not None and ended is None:
            ended = self._stays.end_from_elapsed(cells, state, started, self._has_ends)
        gpus = held.count if started is not None else 0
        details, texts = self._details.read(cells, submitted), self._texts
        self._note(cells, state, held, wanted, started)
        return JobInterval(
            row=row,
            id=cells.job_id or f"line-{row}",
            state=state,
            count=count_tasks(cells.job_id),
            name=texts[cells.name],
            user=texts[cells.user],
            account=texts[cells.account],
            partition=texts[cells.partition],
            quality_of_service=texts[cells.quality_of_service],
            priority=details.priority,
            reason=None if says_nothing(cells.reason) else texts[cells.reason],
            submitted=submitted,
            eligible=details.eligible,
            started=started,
            ended=ended,
            limit_seconds=details.limit_seconds,
            gpus=gpus,
            gpus_requested=wanted.count or held.count,
            gpu_type=held.gpu_type or wanted.gpu_type,
            node_count=details.node_count,
            node_gpus=self._details.nodes(cells, gpus) if gpus else (),
            memory_requested_mib=details.memory_mib,
            exit_code=details.exit_code,
        )

    def unreadable_column(self, cells: Cells) -> str:
        """Return the log's name of the first column whose cell cannot be read, or nothing where all can."""
        moments = dict.fromkeys(("submit", "start", "end", "eligible"), self._clock.seconds)
        readers = {**_GPU_READERS, **moments, **_OTHER_READERS}
        unreadable = (cell for cell, reader in readers.items() if not _can_read(reader, getattr(cells, cell)))
        return next(map(self._columns.name_of, unreadable), "")

    def gpu_seconds(self, cells: Cells) -> float | None:
        """Return the GPU-seconds that a row may be which is no interval, from what can be read of it; None: unknown."""
        held = _attempt(lambda row: self.gpus(row)[0].count, cells)
        if not held:
            return held
        seconds = _attempt(parse_elapsed, cells.elapsed)
        if seconds is None:
            started, ended = (_attempt(self._clock.seconds, cell) for cell in (cells.start, cells.end))
            seconds = ended - started if started is not None and ended is not None else None
        return held * seconds if seconds is not None and seconds >= 0 else None

    def is_sound(self, cells: Cells) -> bool:
        """Return whether every cell of the row is what its column should hold."""
        state = parse_state(cells.state)
        return (state is not JobState.UNKNOWN or not self._states_a_state) and not self.unreadable_column(cells)

    def _state(self, text: str, started: float | None, ended: float | None) -> JobState:
        state = parse_state(text)
        if not self._states_a_state:
            if ended is None:
                return JobState.PENDING if started is None else JobState.RUNNING
        elif state is JobState.UNKNOWN:
            self._note_unknown(text)
        elif state is JobState.RUNNING and ended is not None and text.upper() not in _RUNNING:
            return JobState.COMPLETED  # completing, staging out, resized: this stay of the job is over
        return state

    def _note_unknown(self, text: str) -> None:
        told = f"jobs in the state {text[:40]!r}, which is not known: read as UNKNOWN"
        if told not in self._seen and len(self._seen) > _NOTES:
            told = "jobs in other states that are not known: read as UNKNOWN"
        self._seen[told] += 1

    def _never_started(self, state: JobState, cells: Cells, held: Gpus) -> bool:
        """Return whether a job that ends as it starts was cancelled in the queue: Slurm gives the end as its start.

        Old versions give what it asked for as what it was allocated, too, so its nodes tell, where the log has them.
        """
        if state not in _ENDED_IN_QUEUE:
            return False
        return says_nothing(cells.nodes) if self._states_nodes else not (held.count and self._states_held)

    def _note(self, cells: Cells, state: JobState, held: Gpus, wanted: Gpus, started: float | None) -> None:
        seen = self._seen
        if not held.count and started is not None and wanted.count and cells.held_tres:
            seen["jobs ran and asked for GPUs, of which the log does not say that they held any: counted as none"] += 1
        if is_slice(held.gpu_type or wanted.gpu_type):
            seen["jobs on slices of GPUs (MIG): each slice is counted as a GPU"] += 1
        if "[" in cells.job_id and is_cut(cells.job_id):
            seen["arrays whose list of waiting tasks Slurm has cut: only the tasks in it are counted"] += 1
        if state is JobState.SUSPENDED:
            seen["suspended jobs: they are taken to hold their GPUs"] += 1


def _attempt(read: Callable[[_Cell], _Value | None], cell: _Cell) -> _Value | None:
    try:
        return read(cell)
    except UnreadableCell:
        return None


def _can_read(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except UnreadableCell:
        return False
    return True
