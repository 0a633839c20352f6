"""Splitting a log into records: every record has its line, every text that is none is refused with a remedy."""

from __future__ import annotations

import gzip

import pytest

from loadfactor.errors import InputError
from loadfactor.sources.tables import Layout, read_table

PLAIN = b"id,gpus\na,1\nb,2\n"


def test_every_row_has_the_line_it_stands_on() -> None:
    table = read_table(b'id,note\na,"two\nlines"\n\nb,x\n', Layout(), ["id", "note"], "log")
    assert table.frame.rows() == [(2, "a", "two\nlines"), (5, "b", "x")]


@pytest.mark.parametrize(
    "content",
    [PLAIN, b"\xef\xbb\xbf" + PLAIN, PLAIN.replace(b"\n", b"\r\n"), PLAIN.rstrip(b"\n"), gzip.compress(PLAIN)],
    ids=["plain", "byte order mark", "CRLF", "no newline at the end", "gzip"],
)
def test_the_ways_to_write_the_same_table(content: bytes) -> None:
    table = read_table(content, Layout(), ["gpus", "id"], "log")
    assert table.frame.rows() == [(2, "1", "a"), (3, "2", "b")]


def test_a_table_without_header_and_with_bare_quotes() -> None:
    layout = Layout(separator="\t", quoted=False, header=("command", "gpus"))
    table = read_table(b'say "hi, %s\t3\n', layout, ["gpus", "command"], "log")
    assert table.frame.rows() == [(1, "3", 'say "hi, %s')]


def test_a_row_with_too_few_or_too_many_cells_is_a_bad_row() -> None:
    table = read_table(b"id,gpus\na\nb,2\nc,3,4\n", Layout(), ["id"], "log")
    assert [str(fault).split(";")[0] for fault in table.bad_rows] == [
        "log:2: has 1 cells, and the table has 2 columns",
        "log:4: has 3 cells, and the table has 2 columns",
    ]
    assert table.frame.rows() == [(3, "b")]
    assert table.rows_read == 3


def test_json_lines() -> None:
    content = b'{"t": 0, "n": 5}\n\n{"t": 1}\nnot json\n[1]\n{"t": 2, "n": null}\n'
    table = read_table(content, Layout(syntax="jsonl"), ["t", "n"], "log")
    assert table.frame.rows() == [(1, "0", "5"), (6, "2", None)]
    assert [fault.path for fault in table.bad_rows] == ["log:3", "log:4", "log:5"]
    assert table.bad_rows[0].fact == "has no field 'n'"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "log: is empty; choose another file"),
        (b"id,gpus\n", "log: holds no row; choose another file"),
        (b"\x00\x01\x02,\n\x00", "log:1: holds a NUL byte: it is no text"),
        (b"id,gpus\n\xff\xfe,1\n", "log: is not UTF-8 text; save it as UTF-8"),
        (gzip.compress(PLAIN)[:-9], "log: is a damaged gzip file"),
        (b'id,gpus\n"a,1\nb,2\n', "log:2: a record starts here that cannot be split"),
        (b"id,cards\na,1\n", "log:1: has no column 'gpus'; name one of its columns (id, cards)"),
        (b"id,gpus,gpus\na,1,2\n", "log:1: the column 'gpus' appears twice"),
    ],
    ids=["empty", "no row", "NUL byte", "no UTF-8", "damaged gzip", "open quote", "no column", "column twice"],
)
def test_what_is_no_table_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_table(content, Layout(), ["id", "gpus"], "log")
    assert message in str(caught.value)


def test_all_missing_columns_are_named_at_once() -> None:
    with pytest.raises(InputError) as caught:
        read_table(PLAIN, Layout(), ["submit", "gpus", "end"], "log")
    assert [fault.fact for fault in caught.value.faults] == ["has no column 'submit'", "has no column 'end'"]
