"""Turning columns of text into numbers and moments, with every cell that cannot be read named by its line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import polars as pl

from loadfactor.errors import Fault, InputError
from loadfactor.sources.tables import LINE, Table
from loadfactor.units import (
    MILLISECONDS_PER_SECOND,
    MINUTES_PER_HOUR,
    SECONDS_PER_DAY,
    SECONDS_PER_HOUR,
    SECONDS_PER_MINUTE,
)

TimeKind = Literal["timestamp", "epoch_seconds", "seconds", "milliseconds"]
"""Text such as 2020-05-14 08:30:00 (with or without an offset); seconds since 1970 in UTC; seconds or milliseconds
since the trace's own start, which belong to no calendar."""
WITHOUT_CALENDAR: frozenset[TimeKind] = frozenset({"seconds", "milliseconds"})

_MICROSECONDS_PER_SECOND = 1_000_000
_MOMENT = r"^(\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?) ?(Z|[+-]\d{2}:?\d{2})?$"
_CLOCK = r"^(?:(\d+)-)?(?:(\d+):)?(\d{1,2}):(\d{2}(?:\.\d+)?)$"
_GPUS_OF_TRES = r"(?:^|,)gres/gpu(?::[^=,]+)?=(\d+)"
_GPUS_WITHOUT_TYPE = r"(?:^|,)gres/gpu=(\d+)"
_LONGEST_SHOWN = 40


@dataclass(frozen=True)
class Column:
    """One parsed column: `values` (null where the cell is empty or bad) and the faults, one for every bad cell."""

    values: pl.Series
    faults: tuple[Fault, ...] = ()


def parse_numbers(table: Table, column: str, empty: Sequence[str], unit: float = 1.0) -> Column:
    """Return `column` as finite numbers that are not negative, times `unit`."""
    text = _text_of(table, column, empty)
    values = text.cast(pl.Float64, strict=False) * unit
    values = pl.select(pl.when(values.is_finite() & (values >= 0)).then(values)).to_series()
    return _checked(table, column, text, values, "is no number of 0 or more", "correct the cell")


def parse_clock(table: Table, column: str, empty: Sequence[str]) -> Column:
    """Return `column` of run times such as 10-13:27:06 or 08:30 (Slurm's [days-][hours:]minutes:seconds) in seconds."""
    text = _text_of(table, column, empty)
    groups = text.to_frame("text").select(
        pl.col("text").str.extract(_CLOCK, group).cast(pl.Float64).alias(str(group)) for group in (1, 2, 3, 4)
    )
    units = (SECONDS_PER_DAY, SECONDS_PER_HOUR, SECONDS_PER_MINUTE, 1)
    total = [pl.col(str(group + 1)).fill_null(0.0) * unit for group, unit in enumerate(units)]
    seconds = groups.select(pl.when(pl.col("4").is_not_null()).then(pl.sum_horizontal(total))).to_series()
    return _checked(table, column, text, seconds, "is no run time", "write it as days-hours:minutes:seconds")


def parse_tres(table: Table, column: str, empty: Sequence[str]) -> Column:
    """Return the GPUs in `column` of Slurm's trackable resources (`cpu=12,gres/gpu=2`); 0 where it names none.

    Slurm lists the total `gres/gpu=4` beside the typed `gres/gpu:a100=4`; without a total the typed ones are added up.
    """
    text = _text_of(table, column, empty).fill_null("")
    total = text.str.extract(_GPUS_WITHOUT_TYPE, 1).cast(pl.Float64)
    typed = text.str.extract_all(_GPUS_OF_TRES).list.eval(pl.element().str.extract(r"=(\d+)$", 1).cast(pl.Float64))
    return Column(total.fill_null(typed.list.sum()).fill_null(0.0))


def parse_moments(table: Table, column: str, empty: Sequence[str], kind: TimeKind, zone: str | None) -> Column:
    """Return `column` as seconds: since 1970 in UTC, or since the trace's start where it belongs to no calendar.

    Text without an offset is local time in `zone`. Where clocks were put back, the hour that exists twice is taken to
    be the earlier one; a local time that never existed, because clocks were put forward, is a bad cell. Raises
    `InputError` when the text names no zone and none is given.
    """
    if kind != "timestamp":
        return parse_numbers(table, column, empty, 1 / MILLISECONDS_PER_SECOND if kind == "milliseconds" else 1.0)
    text = _text_of(table, column, empty)
    frame = text.to_frame("text").select(
        local=_naive(pl.col("text").str.extract(_MOMENT, 1)), offset=pl.col("text").str.extract(_MOMENT, 2)
    )
    naive = frame["local"].is_not_null() & frame["offset"].is_null()
    if zone is None and naive.any():
        fact = f"the times in column {column!r} name no time zone"
        raise InputError.of(table.name, fact, "state the zone that they are written in, such as Asia/Shanghai or UTC")
    shifted = frame["local"].dt.epoch("us") / _MICROSECONDS_PER_SECOND - _offset_seconds(frame["offset"])
    local = _in_zone(frame["local"], zone) if zone is not None else shifted
    seconds = pl.select(pl.when(naive).then(local).otherwise(shifted)).to_series()
    return _checked(table, column, text, seconds, "is no moment that existed", "write it as 2020-05-14 08:30:00")


def count_repeated_hour(table: Table, column: str, empty: Sequence[str], zone: str) -> int:
    """Return how many local times in `column` exist twice in `zone`, because clocks were put back."""
    text = _text_of(table, column, empty)
    local = _naive_series(text.filter(text.str.extract(_MOMENT, 2).is_null()).str.extract(_MOMENT, 1))
    return int((_in_zone(local, zone, "earliest") != _in_zone(local, zone, "latest")).sum())


def is_zone(zone: str) -> bool:
    """Return whether polars' time zone database knows `zone`."""
    try:
        pl.Series([datetime(2020, 1, 1)]).dt.replace_time_zone(zone)  # noqa: DTZ001 - the zone is what is tested
    except (pl.exceptions.ComputeError, pl.exceptions.SchemaError):
        return False
    return True


def epoch_of_local(moment: datetime, zone: str) -> float:
    """Return the seconds since 1970 at which clocks in `zone` first show `moment` (or pass it, where they skip it)."""
    for hours in (0, 1, 2):
        value = _in_zone(pl.Series([moment + timedelta(hours=hours)]), zone)[0]
        if value is not None:
            return float(value)
    raise InputError.of("", f"{moment} does not exist in {zone}", "choose another day")


def _in_zone(local: pl.Series, zone: str, ambiguous: Literal["earliest", "latest"] = "earliest") -> pl.Series:
    aware = local.cast(pl.Datetime("us")).dt.replace_time_zone(zone, ambiguous=ambiguous, non_existent="null")
    return aware.dt.epoch("us") / _MICROSECONDS_PER_SECOND


def _naive(text: pl.Expr) -> pl.Expr:
    spaced = text.str.replace("T", " ")
    formats = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M")
    return pl.coalesce(spaced.str.to_datetime(form, strict=False, time_unit="us") for form in formats)


def _naive_series(text: pl.Series) -> pl.Series:
    return text.to_frame("text").select(_naive(pl.col("text"))).to_series()


def _offset_seconds(offset: pl.Series) -> pl.Series:
    sign = offset.str.starts_with("-").cast(pl.Float64).fill_null(0.0) * -2 + 1
    hours = offset.str.extract(r"^[+-](\d{2})", 1).cast(pl.Float64).fill_null(0.0)
    minutes = offset.str.extract(r"(\d{2})$", 1).cast(pl.Float64).fill_null(0.0)
    return sign * (hours * MINUTES_PER_HOUR + minutes) * SECONDS_PER_MINUTE


def _text_of(table: Table, column: str, empty: Sequence[str]) -> pl.Series:
    text = table.frame[column].str.strip_chars()
    return pl.select(pl.when(~text.is_in(["", *empty])).then(text)).to_series()


def _checked(table: Table, column: str, text: pl.Series, values: pl.Series, fact: str, remedy: str) -> Column:
    bad = pl.DataFrame({LINE: table.frame[LINE], "text": text}).filter(text.is_not_null() & values.is_null())
    faults = [
        Fault(f"{table.name}:{line}", f"{column} is {cell[:_LONGEST_SHOWN]!r}, which {fact}", remedy)
        for line, cell in bad.iter_rows()
    ]
    return Column(values, tuple(faults))
