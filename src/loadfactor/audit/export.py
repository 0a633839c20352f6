"""All figures of an audit as one CSV table: for a spreadsheet, or for the next month's comparison."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from loadfactor.audit.report import AuditReport

_DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n")


def figures_csv(report: AuditReport) -> str:
    """Return every figure of the report's document, one a line: where it stands, and what it is.

    A text that a spreadsheet would take for a formula is written with a quote in front. All texts are quoted, since a
    lone carriage return would begin a row of its own in some readers.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(("figure", "value"))
    writer.writerows((_safe(path), _safe(value)) for path, value in _leaves(report.to_document(), ""))
    return stream.getvalue()


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _leaves(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from _leaves(each, f"{path}[{number}]")
    else:
        yield path, value


def _safe(value: Any) -> Any:
    """Return text that no spreadsheet runs (OWASP, CSV injection); numbers, also negative ones, stay numbers."""
    return f"'{value}" if isinstance(value, str) and value[:1] in _DANGEROUS else value
