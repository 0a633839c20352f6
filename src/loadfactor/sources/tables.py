"""Reading a log as a table of text: CSV, TSV, words or JSON lines, gzipped or not, each record with its line number.

Python's csv reader splits the records, because it alone tells on which line each one stands; polars holds the columns.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import Field

from loadfactor.errors import Fault, InputError
from loadfactor.model.base import Noun, Text
from loadfactor.units import BYTES_PER_MEBIBYTE

MAX_TRACE_CHARACTERS = 4096 * BYTES_PER_MEBIBYTE
MAX_LINE_CHARACTERS = 4 * BYTES_PER_MEBIBYTE
MAX_ANSWER_CHARACTERS = 1024 * BYTES_PER_MEBIBYTE
LINE = "line"
_GZIP_MAGIC = b"\x1f\x8b"
_ROWS_PER_CHUNK = 100_000
_LONGEST_LIST = 300

Source = Path | bytes


class Layout(Noun):
    """How a log's records are written: a separated table, with or without a header line, or one JSON object a line.

    `header` names the columns of a table that has no header line of its own. `words` are columns with any white space
    between them; of these tables, lines that begin with `comment` are no records. `prometheus` is an answer to
    query_range: a row a moment, numbered from 1, with the columns `time`, `value` (all series together) and each
    metric; what concerns the whole answer is said of row 0.
    """

    syntax: Literal["csv", "words", "jsonl", "prometheus"] = "csv"
    separator: Annotated[str, Field(strict=True, min_length=1, max_length=1)] = ","
    quoted: Annotated[bool, Field(strict=True)] = True
    header: tuple[Text, ...] | None = None
    comment: Annotated[str, Field(strict=True, min_length=1, max_length=1)] | None = None


@dataclass(frozen=True)
class Table:
    """The wanted columns of a log as text, `line` beside them, and the records that could not be split."""

    name: str
    frame: pl.DataFrame
    rows_read: int
    bad_rows: tuple[Fault, ...]


def read_table(source: Source, layout: Layout, columns: Sequence[str], name: str) -> Table:
    """Return the named `columns` of a log; raise `InputError` when it is no such text or lacks one of them.

    A record that cannot be split (too few cells, broken JSON) becomes a bad row of the table, not an error.
    """
    builder = _Builder(name, tuple(dict.fromkeys(columns)))
    with _opened(source, name) as stream:
        try:
            if layout.syntax == "prometheus":
                _read_answer(stream, builder)
            else:
                _READERS[layout.syntax](_lines(stream, name), layout, builder)
        except csv.Error as error:
            line = builder.last_line + 1
            remedy = "correct the quotes, or set quoted: false where the log has none"
            raise InputError.of(
                f"{name}:{line}", f"a record starts here that cannot be split ({error})", remedy
            ) from None
    if not builder.rows_read:
        raise InputError.of(name, "holds no row", "choose another file")
    return builder.table()


def line_of(fault: Fault) -> int:
    """Return the line that a fault with the path `file:line` is about."""
    return int(fault.path.rsplit(":", 1)[1])


@dataclass
class _Builder:
    """Collects records into chunks, so that the text of a large log is not held twice."""

    name: str
    columns: tuple[str, ...]
    rows_read: int = 0
    last_line: int = 0
    bad_rows: list[Fault] = field(default_factory=list)
    _chunks: list[pl.DataFrame] = field(default_factory=list)
    _rows: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, line: int, cells: Sequence[str | None]) -> None:
        self.rows_read += 1
        self._rows.append((line, *cells))
        if len(self._rows) >= _ROWS_PER_CHUNK:
            self._flush()

    def refuse(self, line: int, fact: str, remedy: str) -> None:
        self.rows_read += 1
        self.bad_rows.append(Fault(f"{self.name}:{line}", fact, remedy))

    def table(self) -> Table:
        self._flush()
        return Table(self.name, pl.concat(self._chunks), self.rows_read, tuple(self.bad_rows))

    def _flush(self) -> None:
        schema = {LINE: pl.Int64, **dict.fromkeys(self.columns, pl.String)}
        self._chunks.append(pl.DataFrame(self._rows, schema=schema, orient="row"))
        self._rows = []


def _read_csv(lines: Iterator[str], layout: Layout, builder: _Builder) -> None:
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if layout.quoted else csv.QUOTE_NONE
    reader = csv.reader(lines, delimiter=layout.separator, quoting=quoting, strict=True)
    header = list(layout.header) if layout.header is not None else _header_of(reader, builder)
    positions = [header.index(column) for column in builder.columns]
    builder.last_line = reader.line_num
    for cells in reader:
        line, builder.last_line = builder.last_line + 1, reader.line_num
        if len(cells) == len(header):
            builder.add(line, [cells[position] for position in positions])
        elif cells:  # an empty line is no record
            fact = f"has {len(cells)} cells, and the table has {len(header)} columns"
            builder.refuse(line, fact, "correct the line or the separator")


def _header_of(reader: Iterator[list[str]], builder: _Builder) -> list[str]:
    header = [cell.strip() for cell in next(reader, [])]
    if not header:
        raise InputError.of(builder.name, "is empty", "choose another file")
    faults = [_missing(builder.name, column, header) for column in builder.columns if column not in header]
    faults += [
        Fault(f"{builder.name}:1", f"the column {column!r} appears twice", "rename one of them")
        for column in builder.columns
        if header.count(column) > 1
    ]
    if faults:
        raise InputError(faults)
    return header


def _missing(name: str, column: str, header: Sequence[str]) -> Fault:
    known = ", ".join(header[:20])[:_LONGEST_LIST]
    return Fault(f"{name}:1", f"has no column {column!r}", f"name one of its columns ({known}) with --columns")


def _read_words(lines: Iterator[str], layout: Layout, builder: _Builder) -> None:
    records = ((line, text.split()) for line, text in enumerate(lines, start=1) if not _is_comment(text, layout))
    first = iter(()) if layout.header is not None else iter([next(records, (1, []))[1]])
    header = list(layout.header) if layout.header is not None else _header_of(first, builder)
    positions = [header.index(column) for column in builder.columns]
    for line, cells in records:
        if len(cells) == len(header):
            builder.add(line, [cells[position] for position in positions])
        else:
            fact = f"has {len(cells)} cells, and the table has {len(header)} columns"
            builder.refuse(line, fact, "correct the line, or mark it as a comment")


def _is_comment(text: str, layout: Layout) -> bool:
    stripped = text.lstrip()
    return not stripped or (layout.comment is not None and stripped.startswith(layout.comment))


def _read_json_lines(lines: Iterator[str], _layout: Layout, builder: _Builder) -> None:
    for line, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            record = json.loads(text)
            builder.add(line, [_cell(record[column]) for column in builder.columns])
        except (ValueError, RecursionError):
            builder.refuse(line, "is no JSON", "write one JSON object on each line")
        except TypeError:
            builder.refuse(line, "is no JSON object", "write one JSON object on each line")
        except KeyError as error:
            builder.refuse(line, f"has no field {error}", "name one of its fields with --columns")
    if builder.bad_rows and len(builder.bad_rows) == builder.rows_read:
        raise InputError(builder.bad_rows[:20])


def _read_answer(stream: io.TextIOWrapper, builder: _Builder) -> None:
    from loadfactor.sources.answer_table import rows_of_answer

    text = stream.read(MAX_ANSWER_CHARACTERS)
    if len(text) == MAX_ANSWER_CHARACTERS:
        fact = f"holds more than the {MAX_ANSWER_CHARACTERS} characters that are accepted"
        raise InputError.of(builder.name, fact, "ask for fewer days or a longer step")
    rows, faults = rows_of_answer(text, builder.name, builder.columns)
    for number, cells in enumerate(rows, start=1):
        builder.add(number, cells)
    for fault in faults:
        place = fault.path.removeprefix(f"{builder.name}:")
        builder.refuse(0, f"{place} {fault.fact}", fault.remedy)


def _cell(value: Any) -> str | None:
    return None if value is None else str(value)


_READERS = {"csv": _read_csv, "words": _read_words, "jsonl": _read_json_lines}


@contextmanager
def _opened(source: Source, name: str) -> Iterator[io.TextIOWrapper]:
    """Open `source` as UTF-8 text without its byte order mark, and name what is wrong where it is none."""
    try:
        with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as raw:
            packed = raw.read(2) == _GZIP_MAGIC
            raw.seek(0)
            binary = gzip.GzipFile(fileobj=raw) if packed else raw
            with io.TextIOWrapper(binary, encoding="utf-8-sig", newline="") as stream:  # type: ignore[arg-type, type-var, unused-ignore]
                yield stream
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError.of(name, f"is a damaged gzip file ({error})", "fetch or pack it again") from None
    except UnicodeDecodeError:
        raise InputError.of(name, "is not UTF-8 text", "save it as UTF-8, or choose another file") from None
    except OSError as error:
        raise InputError.of(name, f"cannot be read ({error.strerror})", "check the name and your rights") from None


def _lines(stream: io.TextIOWrapper, name: str) -> Iterator[str]:
    read = 0
    for number, line in enumerate(iter(lambda: stream.readline(MAX_LINE_CHARACTERS), ""), start=1):
        read += len(line)
        if "\0" in line:
            raise InputError.of(f"{name}:{number}", "holds a NUL byte: it is no text", "choose a CSV, TSV or JSON file")
        if len(line) == MAX_LINE_CHARACTERS:
            fact = f"is longer than the {MAX_LINE_CHARACTERS} characters that are accepted"
            raise InputError.of(f"{name}:{number}", fact, "choose a CSV, TSV or JSON file")
        if read > MAX_TRACE_CHARACTERS:
            fact = f"holds more than the {MAX_TRACE_CHARACTERS} characters that are accepted"
            raise InputError.of(name, fact, "cut it to the days that you need")
        yield line
