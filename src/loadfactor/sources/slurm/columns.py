"""The columns of `sacct -P`: found by name in a header line or given; rows split into the cells that we read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple

from loadfactor.errors import Fault, InputError
from loadfactor.sources.slurm.opening import EXPECTED, looks_like

SEPARATOR = "|"


class Cells(NamedTuple):
    """The cells of a row that we read, as text; empty where the log lacks the column."""

    job_id: str
    state: str
    submit: str
    eligible: str
    start: str
    end: str
    elapsed: str
    limit: str
    held_tres: str
    wanted_tres: str
    held_gres: str
    wanted_gres: str
    nodes: str
    node_count: str
    cpu_count: str
    memory: str
    exit_code: str
    priority: str
    reason: str
    name: str
    user: str
    account: str
    partition: str
    quality_of_service: str


# The first of the names that the log has is read.
NAMES: dict[str, tuple[str, ...]] = {
    "job_id": ("jobid", "jobidraw"),
    "state": ("state",),
    "submit": ("submit",),
    "eligible": ("eligible",),
    "start": ("start",),
    "end": ("end",),
    "elapsed": ("elapsedraw", "elapsed"),
    "limit": ("timelimitraw", "timelimit"),
    "held_tres": ("alloctres",),
    "wanted_tres": ("reqtres",),
    "held_gres": ("allocgres",),
    "wanted_gres": ("reqgres",),
    "nodes": ("nodelist",),
    "node_count": ("nnodes", "allocnodes"),
    "cpu_count": ("reqcpus", "ncpus", "alloccpus"),
    "memory": ("reqmem",),
    "exit_code": ("exitcode",),
    "priority": ("priority",),
    "reason": ("reason",),
    "name": ("jobname",),
    "user": ("user", "uid"),
    "account": ("account",),
    "partition": ("partition",),
    "quality_of_service": ("qos", "qosraw"),
}
_OURS = frozenset(name for names in NAMES.values() for name in names)
_GPU_CELLS = ("held_tres", "held_gres", "wanted_tres", "wanted_gres")
# Text that people write, and in which they may write the separator.
_FREE_TEXT = ("jobname", "comment", "admincomment", "systemcomment", "submitline", "workdir", "constraints", "reason")


class Columns:
    """Which column of the log is which of ours; `names` are the log's own, in its order, widths (`JobName%30`) dropped.

    `closed` is whether a separator closes every line, as `sacct -p` has it; the last of `names` may be empty instead.
    """

    def __init__(self, names: Iterable[str], *, closed: bool = False) -> None:
        plain = [name.partition("%")[0].strip().lower() for name in names]
        self.closed = closed or (len(plain) > 1 and not plain[-1])
        self.names = tuple(plain if plain[-1:] != [""] else plain[:-1])
        self.width = len(self.names)
        self.known = frozenset(cell for cell, choices in NAMES.items() if self._position(choices) < self.width)
        self._pick: Callable[[Sequence[str]], tuple[str, ...]] = itemgetter(
            *(self._position(NAMES[cell]) for cell in Cells._fields)
        )
        self._free = tuple(self.names.index(name) for name in _FREE_TEXT if name in self.names)

    def split(self, line: str) -> list[str]:
        """Return the cells of a line, without the empty one behind a separator that closes it."""
        cells = line.split(SEPARATOR)
        if self.closed and not cells[-1]:
            cells.pop()
        return cells

    def pick(self, cells: list[str]) -> Cells:
        """Return the cells that we read, of a row of the right width."""
        return Cells._make(self._pick([*cells, ""]))

    def mended(self, cells: list[str], is_sound: Callable[[Cells], bool]) -> Cells | None:
        """Return the cells of a row that has too many because a text holds the separator, or None where that is unsure.

        The surplus is given to each column of free text in turn, the name of the job first; what makes the other
        columns sound is right, unless two ways do and differ in more than such texts.
        """
        surplus = len(cells) - self.width
        found = [
            self.pick(
                [*cells[:place], SEPARATOR.join(cells[place : place + surplus + 1]), *cells[place + surplus + 1 :]]
            )
            for place in self._free
        ]
        sound = [row for row in found if is_sound(row)]
        same = {row._replace(name="", reason="") for row in sound}
        return sound[0] if len(same) == 1 else None

    def name_of(self, cell: str) -> str:
        """Return the log's own name for one of our cells."""
        position = self._position(NAMES[cell])
        return self.names[position] if position < self.width else cell

    def _position(self, choices: Iterable[str]) -> int:
        return next((self.names.index(name) for name in choices if name in self.names), len(self.names))


def columns_of(first: str, given: Sequence[str] | None, name: str) -> tuple[Columns, bool]:
    """Return the columns and whether `first` is a header line; raise `InputError` where they cannot be told.

    A header in the log goes before `given`.
    """
    header = header_in(first)
    if header is not None:
        return checked(header, f"{name}:1"), True
    if given is not None and (SEPARATOR in first or len(given) == 1):
        row = first.split(SEPARATOR)
        columns = Columns(given, closed=len(row) == len(given) + 1 and not row[-1])
        return checked(columns, "columns"), False
    if SEPARATOR in first:
        fact = f"begins with {first[:60]!r}, which is no header of sacct"
        remedy = "run sacct -P without --noheader, or state the columns in their order"
        raise InputError.of(f"{name}:1", fact, remedy)
    raise InputError.of(name, f"looks like {looks_like(first)}", EXPECTED)


def header_in(line: str) -> Columns | None:
    """Return the columns that `line` names, or None where it is no header: logs are put together with theirs."""
    columns = Columns(line.split(SEPARATOR))
    ours = len(_OURS.intersection(columns.names))
    return columns if columns.width > 1 and ours >= min(3, columns.width) else None


def checked(columns: Columns, path: str) -> Columns:
    """Return `columns`; raise `InputError` naming `path` where they are too few to tell who held GPUs when."""
    faults = []
    if "start" not in columns.known:
        faults.append(Fault(path, "has no column Start", "add Start to the --format of sacct"))
    if not {"end", "elapsed"} & columns.known:
        faults.append(Fault(path, "has neither End nor Elapsed", "add End to the --format of sacct"))
    if not {"end", "state"} & columns.known:
        faults.append(Fault(path, "has neither End nor State", "add End and State to the --format of sacct"))
    if not columns.known.intersection(_GPU_CELLS):
        fact = "has no column that names GPUs (AllocTRES, ReqTRES, AllocGRES, ReqGRES)"
        faults.append(Fault(path, fact, "add AllocTRES and ReqTRES to the --format of sacct"))
    if faults:
        raise InputError(faults)
    return columns
