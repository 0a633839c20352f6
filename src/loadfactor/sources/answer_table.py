"""An answer of Prometheus as a table of demand: one row for each moment, its series added up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from loadfactor.errors import Fault, InputError
from loadfactor.sources.prometheus import Answer, Numbers, Series, read_answer

TIME = "time"
EVERYTHING = "value"
_COUNTER = "_total"
_LONGEST_LIST = 300


def rows_of_answer(text: str, name: str, columns: Sequence[str]) -> tuple[list[tuple[str | None, ...]], list[Fault]]:
    """Return the wanted columns of an answer to query_range, one row a moment, and a fault for each series left out.

    `time` is the moment in seconds since 1970, `value` the sum of all series, and any other column the sum of the
    series of that metric. A counter (its name ends in `_total`) becomes its increase per second until its next moment,
    where one that fell was set back to 0. A moment at which no series is known is no row. Raises `InputError` where
    the text is no answer, or lacks a column.
    """
    answer = read_answer(text, name)
    faults = [row.fault for row in answer.left_out]
    times = np.unique(np.concatenate([one.times for one in answer.series] or [np.empty(0)]))
    if not len(times):
        raise InputError.of(name, "holds no sample", "ask Prometheus for a time at which it has some")
    values = {column: _sum(_series_of(answer, column), times) for column in columns if column != TIME}
    cells = [_cells(times) if column == TIME else _cells(values[column]) for column in columns]
    silent = np.all([np.isnan(value) for value in values.values()], axis=0) if values else np.zeros(len(times), bool)
    rows = zip(*cells, strict=True)
    return [row for row, is_silent in zip(rows, silent, strict=True) if not is_silent], faults


def _series_of(answer: Answer, column: str) -> list[Series]:
    found = [one for one in answer.series if column in (EVERYTHING, one.metric)]
    if not found:
        known = ", ".join(dict.fromkeys([EVERYTHING, *(one.metric for one in answer.series if one.metric)]))
        fact, remedy = f"has no series of {column!r}", f"name one of {known[:_LONGEST_LIST]} with --columns"
        raise InputError.of(answer.name, fact, remedy)
    return found


def _sum(series: list[Series], times: Numbers) -> Numbers:
    total, known = np.zeros(len(times)), np.zeros(len(times), dtype=bool)
    for one in series:
        own_times, values = _per_second(one) if one.metric.endswith(_COUNTER) else (one.times, one.values)
        finite = np.isfinite(values)
        places = np.searchsorted(times, own_times[finite])
        np.add.at(total, places, values[finite])
        known[places] = True
    return np.where(known, total, np.nan)


def _per_second(counter: Series) -> tuple[Numbers, Numbers]:
    """Return the increase per second from each known moment of a counter to the next."""
    finite = np.isfinite(counter.values)
    times, first = np.unique(counter.times[finite], return_index=True)
    values = counter.values[finite][first]
    grown = np.diff(values)
    return times[:-1], np.where(grown >= 0, grown, values[1:]) / np.diff(times)


def _cells(numbers: Numbers) -> Iterator[str | None]:
    return (None if np.isnan(number) else repr(float(number)) for number in numbers)
