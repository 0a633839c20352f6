"""Opening a log as lines of text, gzipped or not, in UTF-8 or Latin-1; and saying what it looks like if it is none."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from loadfactor.errors import InputError
from loadfactor.sources.tables import MAX_LINE_CHARACTERS, MAX_TRACE_CHARACTERS

_GZIP = b"\x1f\x8b"
_PACKED = {
    b"BZh": "a file packed by bzip2",
    b"\xfd7zXZ\x00": "a file packed by xz",
    b"\x28\xb5\x2f\xfd": "a file packed by zstd",
    b"PK\x03\x04": "a zip archive",
    b"SQLite format 3": "an SQLite database",
    b"PAR1": "a Parquet file",
    b"%PDF": "a PDF",
}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_UTF8_MARK = b"\xef\xbb\xbf"
_HEAD = 4096


@dataclass
class Opened:
    """A log that is open: `lines` yields its lines without their ends, `share` tells how much of it has been read.

    `line` is the number of the last line read. `latin_lines` counts those that were no UTF-8 and were read as Latin-1;
    `cut` is whether the last line lacks its end, so that it may have been cut.
    """

    name: str
    stream: BinaryIO
    raw: BinaryIO
    size: int
    line: int = 0
    latin_lines: int = 0
    cut: bool = False

    def lines(self) -> Iterator[str]:
        """Yield the lines; raise `InputError` for a line or a log beyond the limits."""
        done = 0
        readline = self.stream.readline
        for number, line in enumerate(iter(lambda: readline(MAX_LINE_CHARACTERS), b""), start=1):
            done += len(line)
            if number == 1:
                line = line.removeprefix(_UTF8_MARK)  # noqa: PLW2901
            if len(line) == MAX_LINE_CHARACTERS or done > MAX_TRACE_CHARACTERS:
                raise _too_long(self.name, number, done > MAX_TRACE_CHARACTERS)
            self.line, self.cut = number, not line.endswith(b"\n")
            try:
                text = line.decode()
            except UnicodeDecodeError:
                self.latin_lines += 1
                text = line.decode("latin-1")
            yield text.rstrip("\r\n")

    @property
    def share(self) -> float:
        """The share of the bytes that have been read, 0 to 1."""
        return min(1.0, self.raw.tell() / self.size) if self.size else 1.0


EXPECTED = "give the text that `sacct -P` prints: a header line, then one job a line, cells separated by |"


@contextmanager
def opened(source: Path | bytes, name: str) -> Iterator[Opened]:
    """Open a log; raise `InputError` where it cannot be read, is damaged, or is plainly something else."""
    try:
        with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as raw:
            size = raw.seek(0, io.SEEK_END)
            raw.seek(0)
            packed = raw.read(2) == _GZIP
            raw.seek(0)
            stream = io.BufferedReader(gzip.GzipFile(fileobj=raw)) if packed else raw  # type: ignore[arg-type, unused-ignore]
            _refuse_others(stream.read(_HEAD), name)
            stream.seek(0)
            yield Opened(name, cast(BinaryIO, stream), cast(BinaryIO, raw), size)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError.of(name, f"is a damaged gzip file ({error})", "fetch or pack it again") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError.of(name, f"cannot be read ({reason})", "check the name and your rights") from None


def looks_like(first: str) -> str:
    """Return what a text looks like whose first line, `first`, is no header of sacct."""
    start = first.lstrip()
    if start.startswith(("{", "[")):
        return "JSON"
    if start.startswith("<"):
        return "HTML or XML"
    if re.match(r"\s*JobID\S*\s{2,}\S|\s*-{4,}\s", first, re.IGNORECASE):
        return "the table of fixed width that sacct prints without -P"
    if start.lower().startswith(("sacct:", "slurm_")):
        return f"a message of Slurm ({start[:80]!r})"
    for separator, kind in (("|", "text separated by |"), ("\t", "a table separated by tabs"), (",", "CSV")):
        if separator in first:
            return kind
    return f"other text ({first[:40]!r})"


def _refuse_others(head: bytes, name: str) -> None:
    if not head.strip():
        raise InputError.of(name, "is empty", EXPECTED)
    if head.startswith(_GZIP):
        raise InputError.of(name, "is a gzip file inside a gzip file", "unpack it once")
    if head.startswith(_UTF16):
        raise InputError.of(name, "looks like UTF-16 text", "save it as UTF-8")
    kind = next((kind for mark, kind in _PACKED.items() if head.startswith(mark)), None)
    if kind is not None:
        raise InputError.of(name, f"looks like {kind}", f"unpack or export it: {EXPECTED}")
    if b"\0" in head:
        raise InputError.of(name, "looks like a binary file (it holds NUL bytes)", EXPECTED)


def _too_long(name: str, number: int, whole: bool) -> InputError:
    if whole:
        fact = f"holds more than the {MAX_TRACE_CHARACTERS} bytes that are accepted"
        return InputError.of(name, fact, "cut it to the days that you need")
    fact = f"is longer than the {MAX_LINE_CHARACTERS} bytes that are accepted"
    return InputError.of(f"{name}:{number}", fact, EXPECTED)
