"""What a log of jobs or of demand looks like, as declared data: columns, units, zone, separators, oddities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, Field, model_validator

from loadfactor.errors import Fault
from loadfactor.model.base import Noun, Text
from loadfactor.model.faults import contradiction, contradictions
from loadfactor.model.workload import Kind
from loadfactor.sources.cells import WITHOUT_CALENDAR, TimeKind, is_zone
from loadfactor.sources.tables import Layout

JobField = (
    Literal["id", "submit", "start", "end", "wait", "duration", "gpus", "kind", "priority"]
    | Literal["limit", "user", "name", "account", "capped"]
)
DemandField = Literal["time", "rate", "input_tokens", "output_tokens", "coverage"]
PositiveNumber = Annotated[float, Field(gt=0, le=1e12)]


def _known_zone(zone: str) -> str:
    if not is_zone(zone):
        remedy = "name a zone of the IANA database, such as UTC, Asia/Shanghai or Europe/Berlin"
        raise contradiction(f"{zone!r} is no time zone that is known", remedy)
    return zone


Zone = Annotated[Text, AfterValidator(_known_zone)]
_OWN_KINDS: Mapping[str, Kind] = {kind: kind for kind in get_args(Kind)}
EMPTY_CELLS = ("None", "Unknown", "null", "NULL", "NaN", "nan", "N/A")


class LogFormat(Noun):
    """What the formats of jobs and of demand share.

    `times` says how moments are written, `zone` in which zone they are where they carry no offset of their own.
    `empty` are the texts that mean that a cell says nothing. `oddities` is for people: what to know about the log.
    """

    layout: Layout = Layout()
    times: TimeKind = "timestamp"
    zone: Zone | None = None
    empty: tuple[str, ...] = EMPTY_CELLS
    oddities: tuple[str, ...] = ()

    @property
    def has_calendar(self) -> bool:
        """Whether the log's moments are dates, rather than counted from its own start."""
        return self.times not in WITHOUT_CALENDAR


class JobFormat(LogFormat):
    """A log of jobs, one a row.

    `columns` maps our fields to the log's columns; `wait` is the time in the queue in seconds, for logs that state it
    instead of the start, and `limit` the run time that the user asked for. `duration_unit` is seconds for each unit of
    the duration column, or `clock` for Slurm's 10-13:27:06; null where only the user knows it; `limit_unit` is the same
    for the limits. `gpus_from` reads a number, or Slurm's trackable resources; `gpus_unit` is GPUs for each unit.
    `kinds` maps the texts of the kind column to ours, which are understood without it. Rows of the same id are jobs of
    their own (`number`: the later ones get #2, #3) or tasks of one gang (`sum`: GPUs added, run together).

    A log that `sacct -P` printed has a `reader` of its own. It finds the columns by Slurm's names, or by
    `layout.header` where the log has no header line, and needs nothing else here but the zone.
    """

    reader: Literal["table", "sacct"] = "table"
    columns: Mapping[JobField, Text]
    duration_unit: PositiveNumber | Literal["clock"] | None = 1.0
    limit_unit: PositiveNumber | Literal["clock"] = 1.0
    gpus_from: Literal["number", "tres"] = "number"
    gpus_unit: PositiveNumber = 1.0
    kinds: Mapping[str, Kind] = {}
    same_id: Literal["number", "sum"] = "number"

    def kind_of(self, text: str | None) -> Kind | None:
        """Return the kind that `text` in the kind column means, or None where it means none."""
        return self.kinds.get(text or "") or _OWN_KINDS.get(text or "")

    @model_validator(mode="after")
    def _sufficient(self) -> Self:
        if self.reader == "sacct":
            return self._without_columns()
        faults = []
        named = self.columns.keys()
        if "gpus" not in named:
            faults.append(Fault("columns", "no column for gpus", "add gpus=COLUMN"))
        if not named & {"submit", "start"}:
            faults.append(Fault("columns", "no column for submit or start", "add submit=COLUMN or start=COLUMN"))
        if "duration" not in named and not {"start", "end"} <= named:
            remedy = "add duration=COLUMN, or both start=COLUMN and end=COLUMN"
            faults.append(Fault("columns", "no column for the run time", remedy))
        faults += missing_from_header(self.layout, self.columns)
        if faults:
            raise contradictions(faults)
        return self

    def _without_columns(self) -> Self:
        if self.columns:
            remedy = "remove them; name the columns of a log without a header in layout.header"
            raise contradictions([Fault("columns", "sacct's columns are known by their names", remedy)])
        return self


class DemandFormat(LogFormat):
    """A log of demand: `bins` of rates per second, one a row, or one `request` a row.

    Token columns hold tokens per request, or per second with `tokens: per_second`; `coverage` is the share of the rate
    that the means of tokens are taken from. `bin_seconds` is the width of a bin; null takes the smallest distance
    between two rows of a log of bins, and one minute for a log of requests.
    """

    columns: Mapping[DemandField, Text]
    rows: Literal["bins", "requests"] = "bins"
    tokens: Literal["per_request", "per_second"] = "per_request"
    bin_seconds: PositiveNumber | None = None

    @model_validator(mode="after")
    def _sufficient(self) -> Self:
        faults = list(missing_from_header(self.layout, self.columns))
        if "time" not in self.columns:
            faults.append(Fault("columns", "no column for time", "add time=COLUMN"))
        if self.rows == "bins" and "rate" not in self.columns and self.tokens == "per_request":
            remedy = "add rate=COLUMN, or set tokens: per_second where the token columns are rates"
            faults.append(Fault("columns", "no column for rate", remedy))
        if faults:
            raise contradictions(faults)
        return self


def missing_from_header(layout: Layout, columns: Mapping[JobField, str] | Mapping[DemandField, str]) -> list[Fault]:
    """Return a fault for every mapped column that a declared header does not name."""
    if layout.header is None:
        return []
    known = ", ".join(layout.header)
    return [
        Fault(f"columns.{name}", f"{column!r} is not in the declared header", f"name one of {known}")
        for name, column in columns.items()
        if column not in layout.header
    ]
