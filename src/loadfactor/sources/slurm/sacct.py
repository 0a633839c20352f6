"""Reading the text of `sacct -P`: one interval for each stay of a job in the queue and on its GPUs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from loadfactor.errors import Fault, InputError
from loadfactor.sources.facts import JobInterval, LeftOut, Reading
from loadfactor.sources.slurm.arrays import is_step
from loadfactor.sources.slurm.cells import UnreadableCell, says_nothing
from loadfactor.sources.slurm.columns import Cells, Columns, checked, columns_of, header_in
from loadfactor.sources.slurm.contradictions import contradiction_in
from loadfactor.sources.slurm.moments import LocalClock, Zone
from loadfactor.sources.slurm.opening import EXPECTED, Opened, opened
from loadfactor.sources.slurm.repeats import without_repeats
from loadfactor.sources.slurm.rows import RowReader
from loadfactor.sources.slurm.stays import StayReader

Progress = Callable[[int, float], None]
"""Is told, now and then, the rows read so far and the share of the file that they are (0 to 1)."""
Window = tuple[float | None, float | None]
"""From (included) and until (excluded), in seconds since 1970; None where it is open."""

_ROWS_BETWEEN_REPORTS = 20_000
_FAULTS_SHOWN = 20


def read_sacct(
    source: Path | bytes,
    *,
    zone: Zone,
    columns: Sequence[str] | None = None,
    window: Window | None = None,
    progress: Progress | None = None,
    name: str | None = None,
) -> Reading[JobInterval]:
    """Return what `sacct -P` printed as intervals, in the order of its rows.

    Columns are found by their names in the header line, whatever their case and order; `columns` names them where the
    log has no header. Moments without an offset are of `zone`. Rows of steps and of jobs that neither hold nor ask for
    a GPU are counted and dropped; rows outside `window` are kept and noted. `name` stands for the log in messages (the
    file's own otherwise). The text may be gzipped.

    Raises `InputError` where the source is no such log. A row that cannot be read, or that contradicts itself, is left
    out with its line, the reason, and the GPU-seconds that it may be.
    """
    shown = name or (source.name if isinstance(source, Path) else "the log")
    with opened(source, shown) as log:
        lines = enumerate(log.lines(), start=1)
        first = next((text for _, text in lines if text.strip()), "")
        found, has_header = columns_of(first, columns, shown)
    reader = _LogReader(shown, found, LocalClock(zone), first if has_header else None)
    with opened(source, shown) as log:
        reader.read(log, progress)
        return reader.reading(log, window)


class _LogReader:
    """Reads the lines of one log and keeps what became of each."""

    def __init__(self, name: str, columns: Columns, clock: LocalClock, header: str | None) -> None:
        self.name, self.columns, self.header = name, columns, header
        self.seen: Counter[str] = Counter()
        self.stays = StayReader(clock, self.seen)
        self.rows = RowReader(columns, self.stays, self.seen)
        self.facts: list[JobInterval] = []
        self.left_out: list[LeftOut] = []
        self.rows_read = self.without_gpus = self.steps = self.split = 0

    def read(self, log: Opened, progress: Progress | None) -> None:
        """Read every line of `log`."""
        for line, text in self._records(log):
            self.rows_read += 1
            self._read_line(line, text)
            if progress is not None and self.rows_read % _ROWS_BETWEEN_REPORTS == 0:
                progress(self.rows_read, log.share)
        if not self.rows_read:
            raise InputError.of(self.name, "holds no row", "choose another file, or a longer span of time")
        if not self.split:
            raise InputError([entry.fault for entry in self.left_out[:_FAULTS_SHOWN]])
        if progress is not None:
            progress(self.rows_read, 1.0)

    def reading(self, log: Opened, window: Window | None) -> Reading[JobInterval]:
        """Return what has been read."""
        facts, repeated = without_repeats(self.facts, self.name)
        return Reading(
            source=self.name,
            facts=facts,
            rows_read=self.rows_read,
            left_out=tuple(sorted((*self.left_out, *repeated), key=_line_of)),
            notes=tuple(self._notes(log, facts, window)),
            rows_without_gpus=self.without_gpus,
            rows_of_steps=self.steps,
            written_at=self.stays.written_at,
        )

    def _records(self, log: Opened) -> Iterator[tuple[int, str]]:
        """Yield the lines that hold a row: not the header, which comes again where logs were put together."""
        header = self.header
        lines = enumerate(log.lines(), start=1)
        return ((line, text) for line, text in lines if text and text != header and not text.isspace())

    def _read_line(self, line: int, text: str) -> None:
        cells = self.columns.split(text)
        right = len(cells) == self.columns.width
        row = self.columns.pick(cells) if right else None
        if (row is None or not row.job_id[:1].isdecimal()) and self._is_other_header(line, text):
            return
        row = row or self._mended(line, cells)
        if row is not None:
            self.split += 1
            self._read_row(line, row)

    def _is_other_header(self, line: int, text: str) -> bool:
        """Return whether the line names other columns, as where logs were put together, and go on with those."""
        found = header_in(text)
        if found is None:
            return False
        self.rows_read -= 1
        self.seen["header lines name other columns than those before them, and are followed"] += 1
        self.columns = checked(found, f"{self.name}:{line}")
        self.rows = RowReader(found, self.stays, self.seen)
        return True

    def _read_row(self, line: int, cells: Cells) -> None:
        if "." in cells.job_id and is_step(cells.job_id):
            self.steps += 1
            return
        try:
            held, wanted = self.rows.gpus(cells)
            if not held.count and not wanted.count:
                self._count_without_gpus(held.shares or wanted.shares)
                return
            interval = self.rows.interval(line, cells, held, wanted)
        except UnreadableCell as error:
            column = self.rows.unreadable_column(cells) or "a cell"
            self._leave_out(line, f"{column}: {error.fact}", error.remedy, cells)
            return
        no_nodes = "nodes" in self.columns.known and says_nothing(cells.nodes)
        found = contradiction_in(interval, nodes_are_stated=no_nodes)
        if found is None:
            self.facts.append(interval)
        else:
            self._leave_out(line, *found, cells)

    def _mended(self, line: int, cells: list[str]) -> Cells | None:
        if len(cells) > self.columns.width:
            mended = self.columns.mended(cells, self.rows.is_sound)
            if mended is not None:
                self.seen["rows with a | inside a text, put together again"] += 1
                return mended
        fact = f"has {len(cells)} cells, and the log has {self.columns.width} columns"
        self._leave_out(line, fact, "a text in it may hold a |; correct the line", None)
        return None

    def _count_without_gpus(self, shares: int) -> None:
        self.without_gpus += 1
        if shares:
            self.seen["jobs on shares of GPUs alone (shard, mps): left aside, as jobs without a GPU"] += 1

    def _leave_out(self, line: int, fact: str, remedy: str, cells: Cells | None) -> None:
        job = f"job {cells.job_id[:60]}: " if cells is not None and cells.job_id else ""
        fault = Fault(f"{self.name}:{line}", job + fact, remedy)
        self.left_out.append(LeftOut(fault, None if cells is None else self.rows.gpu_seconds(cells)))

    def _notes(self, log: Opened, facts: Sequence[JobInterval], window: Window | None) -> Iterator[str]:
        yield from (f"{count} {what}" for what, count in self.seen.items())
        if not {"held_tres", "held_gres"} & self.columns.known:
            yield "the log does not say which GPUs jobs held: those that they asked for are taken"
        if log.latin_lines:
            yield f"{log.latin_lines} lines are not in UTF-8 and were read as Latin-1"
        if log.cut and self.left_out and self.left_out[-1].fault.path == f"{self.name}:{log.line}":
            yield "the last line is cut: the log may go on beyond it"
        if window is not None:
            outside = sum(_is_outside(interval, window) for interval in facts)
            yield f"{outside} of {len(facts)} intervals lie wholly outside the window"


def _line_of(entry: LeftOut) -> int:
    return int(entry.fault.path.rpartition(":")[2])


def _is_outside(interval: JobInterval, window: Window) -> bool:
    """Return whether an interval lies wholly before or after the window, from its submission to its end."""
    since, until = window
    first = interval.submitted if interval.submitted is not None else interval.started
    before = since is not None and interval.ended is not None and interval.ended <= since
    return before or (until is not None and first is not None and first >= until)


__all__ = ["EXPECTED", "Progress", "Window", "read_sacct"]
