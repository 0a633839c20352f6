"""Reading a log of demand: requests and tokens per second in bins of equal width, with what is missing left missing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from loadfactor.errors import Fault, InputError
from loadfactor.sources.cells import Column, parse_moments, parse_numbers
from loadfactor.sources.formats import DemandField, DemandFormat
from loadfactor.sources.tables import LINE, Source, Table, line_of, read_table
from loadfactor.units import SECONDS_PER_MINUTE

Rates = npt.NDArray[np.float64]
RATES: tuple[DemandField, ...] = ("rate", "input_tokens", "output_tokens")
MAX_BINS = 10_000_000


@dataclass(frozen=True)
class DemandLog:
    """Demand in bins: bin k covers [`first_s` + k·`bin_seconds`, …) and has one entry in each array.

    `requests`, `input_tokens` and `output_tokens` are per second; NaN where the log has no such bin, and tokens also
    where the bin has none of them or the log has no such column. `coverage` is the share of the rate with token counts.
    """

    first_s: float
    bin_seconds: float
    requests: Rates
    input_tokens: Rates
    output_tokens: Rates
    coverage: Rates
    rows_read: int
    bad_rows: tuple[Fault, ...]


def read_demand(source: Source, form: DemandFormat, name: str) -> DemandLog:
    """Return the demand in the log `source`; raise `InputError` when it cannot be read as `form` says.

    A row with a cell that cannot be read, without a time, or in the bin of an earlier row is a bad row.
    """
    table = read_table(source, form.layout, list(form.columns.values()), name)
    columns: dict[DemandField, Column] = {field: _parsed(table, field, form) for field in form.columns}
    faults = [*table.bad_rows, *(fault for column in columns.values() for fault in column.faults)]
    bad = [line_of(fault) for fault in faults]
    values: dict[str, pl.Series] = {field: column.values for field, column in columns.items()}
    frame = pl.DataFrame({LINE: table.frame[LINE], **values})
    faults += [
        Fault(f"{name}:{line}", "states no time", "add it, or drop the row")
        for line in frame.filter(pl.col("time").is_null() & ~pl.col(LINE).is_in(bad))[LINE]
    ]
    frame = frame.filter(~pl.col(LINE).is_in(bad) & pl.col("time").is_not_null()).sort("time", maintain_order=True)
    if not frame.height:
        raise InputError(faults[:20] or [Fault(name, "holds no row that can be read", "choose another file")])
    return _binned(frame, form, _width(frame, form), faults, table)


def _parsed(table: Table, field: DemandField, form: DemandFormat) -> Column:
    column = form.columns[field]
    if field == "time":
        return parse_moments(table, column, form.empty, form.times, form.zone)
    return parse_numbers(table, column, form.empty)


def _width(frame: pl.DataFrame, form: DemandFormat) -> float:
    if form.bin_seconds is not None:
        return form.bin_seconds
    if form.rows == "requests":
        return float(SECONDS_PER_MINUTE)
    distances = np.diff(frame["time"].to_numpy())
    positive = distances[distances > 0]
    return float(positive.min()) if len(positive) else float(SECONDS_PER_MINUTE)


def _binned(frame: pl.DataFrame, form: DemandFormat, width: float, faults: list[Fault], table: Table) -> DemandLog:
    times = frame["time"].to_numpy()
    of_requests = form.rows == "requests"
    first = float(np.floor(times[0] / width) * width if of_requests else times[0])
    nearest = np.floor((times - first) / width) if of_requests else np.round((times - first) / width)
    count = int(nearest[-1]) + 1
    if count > MAX_BINS:
        fact = f"spans {count} bins of {width:g} s, and {MAX_BINS} are accepted"
        raise InputError.of(table.name, fact, "cut it to the days that you need, or state a larger bin_seconds")
    frame = frame.with_columns(bin=pl.Series(nearest.astype(np.int64)))
    if of_requests:
        frame = _of_requests(frame, width, count)
    else:
        doubled = frame.filter(~pl.col("bin").is_first_distinct())
        fact = "falls into the bin of an earlier row"
        faults += [Fault(f"{table.name}:{line}", fact, "drop it, or state bin_seconds") for line in doubled[LINE]]
        frame = frame.filter(pl.col("bin").is_first_distinct())
    arrays = {field: _array(frame, field, count) for field in (*RATES, "coverage")}
    if form.rows == "bins" and form.tokens == "per_request":
        for field in ("input_tokens", "output_tokens"):
            arrays[field] = arrays[field] * arrays["rate"]
    if "rate" not in frame.columns:  # a log of token rates: a bin is there where any rate is
        arrays["rate"] = np.fmax(arrays["input_tokens"], arrays["output_tokens"])
    faults.sort(key=line_of)
    return DemandLog(
        first, width, arrays["rate"], arrays["input_tokens"], arrays["output_tokens"], arrays["coverage"],
        table.rows_read, tuple(faults),
    )  # fmt: skip


def _of_requests(frame: pl.DataFrame, width: float, count: int) -> pl.DataFrame:
    """Return one row for every bin between the first request and the last: a bin without any is a true zero."""
    tokens = [field for field in ("input_tokens", "output_tokens") if field in frame.columns]
    totals = [pl.len().alias("rate"), *(pl.col(field).sum() for field in tokens)]
    sums = frame.group_by("bin").agg(total / width for total in totals)
    every = pl.DataFrame({"bin": np.arange(count)})
    return every.join(sums, on="bin", how="left").with_columns(pl.col("rate", *tokens).fill_null(0.0))


def _array(frame: pl.DataFrame, field: str, count: int) -> Rates:
    array = np.full(count, np.nan)
    if field in frame.columns:
        array[frame["bin"].to_numpy()] = frame[field].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return array
