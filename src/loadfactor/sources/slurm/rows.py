"""From the cells of one row of `sacct` to one interval of a job, or to the reason why it is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from loadfactor.sources.facts import JobInterval, JobState, NodeGpus
from loadfactor.sources.slurm.arrays import count_tasks, is_cut
from loadfactor.sources.slurm.cells import UnreadableCell, says_nothing
from loadfactor.sources.slurm.columns import Cells, Columns
from loadfactor.sources.slurm.durations import parse_elapsed, parse_limit
from loadfactor.sources.slurm.gpus import Gpus, is_slice
from loadfactor.sources.slurm.gres import parse_gres
from loadfactor.sources.slurm.hostlists import expand_hosts
from loadfactor.sources.slurm.memory import parse_memory
from loadfactor.sources.slurm.moments import LocalClock
from loadfactor.sources.slurm.states import is_active, parse_state
from loadfactor.sources.slurm.tres import parse_tres

_LONGEST_TEXT = 150
_CACHED_NODES = 16_384
Value = TypeVar("Value")
Cell = TypeVar("Cell")


class RowReader:
    """Turns cells into intervals; `seen` counts what a report should tell about the whole log, by its sentence."""

    def __init__(self, columns: Columns, clock: LocalClock, seen: Counter[str]) -> None:
        self._columns, self._clock, self.seen = columns, clock, seen
        self._states_held = bool({"held_tres", "held_gres"} & columns.known)
        self._states_a_state = "state" in columns.known
        self._texts: dict[str, str | None] = {}

    def gpus(self, cells: Cells) -> tuple[Gpus, Gpus]:
        """Return the GPUs that the row says were held, and those that were asked for."""
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
        """Return the interval in the cells; raise `UnreadableCell` where one of them cannot be read."""
        submitted, started, ended = self._times(cells)
        state = self._state(cells.state, started, ended)
        if started is not None and started == ended and self._never_started(state, cells, held):
            started = None
        ended = self._end_from_elapsed(cells, state, started, ended)
        gpus = held.count if started is not None else 0
        self._note(cells, state, held, wanted, started)
        text, optional = self._text, self._optional
        return JobInterval(
            row=row,
            id=cells.job_id or f"line-{row}",
            state=state,
            count=count_tasks(cells.job_id),
            name=text(cells.name),
            user=text(cells.user),
            account=text(cells.account),
            partition=text(cells.partition),
            quality_of_service=text(cells.quality_of_service),
            priority=optional(_number, cells.priority, "priority"),
            reason=None if says_nothing(cells.reason) else text(cells.reason),
            submitted=submitted,
            eligible=optional(self._clock.seconds, cells.eligible, "eligible"),
            started=started,
            ended=ended,
            limit_seconds=optional(parse_limit, cells.limit, "limit"),
            gpus=gpus,
            gpus_requested=wanted.count or held.count,
            gpu_type=held.gpu_type or wanted.gpu_type,
            node_count=optional(_count, cells.node_count, "node_count"),
            node_gpus=(optional(lambda nodes: nodes_with(nodes, gpus), cells.nodes, "nodes") or ()) if gpus else (),
            memory_requested_mib=self._memory(cells) if cells.memory else None,
            exit_code=optional(_exit_code, cells.exit_code, "exit_code"),
        )

    def unreadable_column(self, cells: Cells) -> str:
        """Return the log's name of the first column whose cell cannot be read, or nothing where all can."""
        readers: dict[str, Callable[[str], object]] = {
            **dict.fromkeys(("held_tres", "wanted_tres"), parse_tres),
            **dict.fromkeys(("held_gres", "wanted_gres"), parse_gres),
            **dict.fromkeys(("submit", "eligible", "start", "end"), self._clock.seconds),
            "job_id": count_tasks,
            "elapsed": parse_elapsed,
            "limit": parse_limit,
            "nodes": expand_hosts,
            "memory": parse_memory,
            "node_count": _count,
            "cpu_count": _count,
            "priority": _number,
            "exit_code": _exit_code,
        }
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
            self.seen[f"jobs in the state {text[:40]!r}, which is not known: read as UNKNOWN"] += 1
        elif state is JobState.RUNNING and ended is not None and text.upper() not in _RUNNING:
            return JobState.COMPLETED  # completing, staging out, resized: this stay of the job is over
        return state

    def _never_started(self, state: JobState, cells: Cells, held: Gpus) -> bool:
        """Return whether a job that ends as it starts was cancelled in the queue: Slurm gives the end as its start."""
        holds = held.count and self._states_held
        return state in _ENDED_IN_QUEUE and not holds and says_nothing(cells.nodes)

    def _times(self, cells: Cells) -> tuple[float | None, float | None, float | None]:
        """Return when the job was submitted, started and ended; where clocks were put back, as it fits together."""
        seconds = self._clock.seconds
        submitted, started, ended = seconds(cells.submit), seconds(cells.start), seconds(cells.end)
        if started is None:
            return submitted, started, ended
        start_later, end_later = self._clock.later_by(cells.start), self._clock.later_by(cells.end)
        if start_later or end_later:
            starts = [started + later for later in dict.fromkeys((0.0, start_later))]
            ends = [None if ended is None else ended + later for later in dict.fromkeys((0.0, end_later))]
            started, ended = self._chosen(starts, ends, submitted, parse_elapsed(cells.elapsed))
        if ended is not None and cells.elapsed:
            self._compare(parse_elapsed(cells.elapsed), ended - started)
        return submitted, started, ended

    def _compare(self, elapsed: float | None, seconds: float) -> None:
        if elapsed is not None and abs(elapsed - seconds) > 1:
            self.seen["jobs whose run time differs from end minus start (suspended for a while?): " + _BY_CLOCK] += 1

    def _chosen(
        self, starts: list[float], ends: list[float | None], submitted: float | None, elapsed: float | None
    ) -> tuple[float, float | None]:
        """Return the start and the end that fit the run time, or the first that are in order."""
        self.seen["jobs that start or end in an hour that clocks showed twice: " + _TWICE] += 1
        pairs = [(start, end) for start in starts for end in ends]
        in_order = [
            (start, end)
            for start, end in pairs
            if (end is None or end >= start) and (submitted is None or start >= submitted)
        ] or pairs
        if elapsed is None or ends == [None]:
            return in_order[0]
        return min(in_order, key=lambda pair: abs((pair[1] or 0.0) - pair[0] - elapsed))

    def _end_from_elapsed(
        self, cells: Cells, state: JobState, started: float | None, ended: float | None
    ) -> float | None:
        if ended is not None or started is None or is_active(state):
            return ended
        elapsed = parse_elapsed(cells.elapsed)
        if elapsed is None or (elapsed == 0 and "end" in self._columns.known):
            return None
        if "end" in self._columns.known:
            self.seen["ended jobs without an end: it is taken from their run time"] += 1
        return started + elapsed

    def _note(self, cells: Cells, state: JobState, held: Gpus, wanted: Gpus, started: float | None) -> None:
        seen = self.seen
        if started is not None and wanted.count and not held.count and cells.held_tres:
            seen["jobs ran and asked for GPUs, of which the log does not say that they held any: counted as none"] += 1
        if is_slice(held.gpu_type or wanted.gpu_type):
            seen["jobs on slices of GPUs (MIG): each slice is counted as a GPU"] += 1
        if "[" in cells.job_id and is_cut(cells.job_id):
            seen["arrays whose list of waiting tasks Slurm has cut: only the tasks in it are counted"] += 1
        if state is JobState.SUSPENDED:
            seen["suspended jobs: they are taken to hold their GPUs"] += 1

    def _optional(self, read: Callable[[str], Value | None], text: str, cell: str) -> Value | None:
        """Return what `read` makes of a cell that a row can do without: None where it cannot be read."""
        if not text:
            return None
        try:
            return read(text)
        except UnreadableCell:
            self.seen[f"cells of {self._columns.name_of(cell)} cannot be read: taken as unknown"] += 1
            return None

    def _memory(self, cells: Cells) -> float | None:
        memory = self._optional(parse_memory, cells.memory, "memory")
        if memory is None:
            return None
        return memory.total_mib(*(self._optional(_count, getattr(cells, cell), cell) for cell in _COUNTS))

    def _text(self, text: str) -> str | None:
        """Return a text that people wrote, the same object for the same text, without control characters."""
        known = self._texts.get(text)
        if known is None and text:
            plain = text.strip()[:_LONGEST_TEXT]
            printable = plain if plain.isprintable() else "".join(sign if sign.isprintable() else "?" for sign in plain)
            known = self._texts[text] = printable or None
        return known


_TWICE = "the reading that fits the run time is taken, or else the earlier one"
_BY_CLOCK = "end minus start is taken"
_COUNTS = ("node_count", "cpu_count")
_RUNNING = frozenset({"RUNNING", "R"})
_ENDED_IN_QUEUE = frozenset({JobState.CANCELLED, JobState.FAILED, JobState.DEADLINE, JobState.UNKNOWN})


@lru_cache(_CACHED_NODES)
def nodes_with(text: str, gpus: int) -> tuple[NodeGpus, ...]:
    """Return the nodes in a host list; the `gpus` of the job are told where it is on one node only.

    Of a job on several nodes the log does not say how many GPUs it holds on each.
    """
    hosts = expand_hosts(text)
    return tuple(_node_with(host, gpus if len(hosts) == 1 else None) for host in hosts)


@lru_cache(_CACHED_NODES)
def _node_with(host: str, gpus: int | None) -> NodeGpus:
    return NodeGpus(host, gpus)


def _attempt(read: Callable[[Cell], Value | None], cell: Cell) -> Value | None:
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


@lru_cache(_CACHED_NODES)
def _number(text: str) -> float | None:
    if says_nothing(text):
        return None
    try:
        value = float(text)
    except ValueError:
        raise UnreadableCell(text, "is no number") from None
    return value if 0 <= value < float("inf") else None


def _count(text: str) -> int | None:
    value = _number(text)
    return None if value is None else int(value)


@lru_cache(_CACHED_NODES)
def _exit_code(text: str) -> int | None:
    """Return the exit code in `1:0`; for one that a signal ended (`0:9`), 128 and the signal, as shells have it."""
    if says_nothing(text):
        return None
    code, _, signal = text.partition(":")
    if not code.isdecimal() or not (signal or "0").isdecimal():
        raise UnreadableCell(text, "is no exit code such as 0:0")
    return int(code) or (128 + int(signal) if signal and int(signal) else 0)
