"""Reading a log of jobs: one row for every job, with moments, run time and GPUs as numbers; bad rows listed."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import polars as pl

from loadfactor.errors import Fault, InputError
from loadfactor.sources.cells import Column, count_repeated_hour, parse_clock, parse_moments, parse_numbers, parse_tres
from loadfactor.sources.formats import JobField, JobFormat
from loadfactor.sources.job_log import JobLog, job_log_of, numbered
from loadfactor.sources.slurm.sacct import read_sacct
from loadfactor.sources.tables import LINE, Source, Table, line_of, read_table

MOMENTS: tuple[JobField, ...] = ("submit", "start", "end")
TEXTS: tuple[JobField, ...] = ("id", "kind", "user", "name", "account")


def read_jobs(source: Source, form: JobFormat, name: str) -> JobLog:
    """Return the jobs in the log `source`; raise `InputError` when it cannot be read as `form` says.

    A row with a cell that cannot be read, with an end before its start or without a moment is a bad row: it is listed
    with its line, and left out.
    """
    if form.reader == "sacct":
        return _read_sacct(source, form, name)
    table = read_table(source, form.layout, list(form.columns.values()), name)
    columns: dict[JobField, Column] = {
        field: _parsed(table, field, form) for field in form.columns if field not in TEXTS
    }
    faults = [fault for column in columns.values() for fault in column.faults]
    values: dict[JobField, pl.Series] = {field: column.values for field, column in columns.items()}
    frame = _assembled(table, form, values)
    frame = frame.filter(~pl.col(LINE).is_in([line_of(fault) for fault in faults]))
    faults += _impossible(frame, name)
    sound = frame.filter(~pl.col(LINE).is_in([line_of(fault) for fault in faults]))
    jobs = _gangs(sound) if form.same_id == "sum" else numbered(sound)
    ordered = sorted([*table.bad_rows, *faults], key=line_of)
    repeated = _in_repeated_hour(table, form)
    return JobLog(jobs, table.rows_read, tuple(ordered), sound.height - jobs.height, repeated)


def _read_sacct(source: Source, form: JobFormat, name: str) -> JobLog:
    """Return what `sacct -P` printed; the times in it name no zone, so the format must."""
    if form.zone is None:
        remedy = "state the zone of the cluster's clock, such as Europe/Berlin or UTC"
        raise InputError.of(name, "the times that sacct prints name no time zone", remedy)
    return job_log_of(read_sacct(source, zone=ZoneInfo(form.zone), columns=form.layout.header, name=name))


def bad_row_count(faults: tuple[Fault, ...]) -> int:
    """Return how many rows `faults` are about: one row may have several bad cells."""
    return len({fault.path for fault in faults})


def _parsed(table: Table, field: JobField, form: JobFormat) -> Column:
    column = form.columns[field]
    if field in MOMENTS:
        return parse_moments(table, column, form.empty, form.times, form.zone)
    units = {"duration": form.duration_unit, "limit": form.limit_unit, "gpus": form.gpus_unit}
    unit = units.get(field, 1.0)
    if unit == "clock":
        return parse_clock(table, column, form.empty)
    if field == "gpus" and form.gpus_from == "tres":
        return parse_tres(table, column, form.empty)
    return parse_numbers(table, column, form.empty, unit if isinstance(unit, float) else 1.0)


def _assembled(table: Table, form: JobFormat, values: dict[JobField, pl.Series]) -> pl.DataFrame:
    lines = table.frame[LINE]
    nothing = pl.Series([None], dtype=pl.Float64).new_from_index(0, len(lines))
    start, end = values.get("start", nothing), values.get("end", nothing)
    if "wait" in values and "submit" in values:
        start = pl.select(pl.coalesce(start, values["submit"] + values["wait"])).to_series()
    texts: dict[str, pl.Series] = {field: _text(table, form, field) for field in TEXTS}
    frame = pl.DataFrame(
        {
            LINE: lines,
            **texts,
            "submit_s": values.get("submit", start),
            "start_s": start,
            "duration_s": values.get("duration", end - start),
            "limit_s": values.get("limit", nothing),
            "gpus": values["gpus"],
            "priority": values.get("priority", nothing),
            "capped": values.get("capped", nothing).fill_null(0.0) > 0,
        }
    )
    named = pl.col("id").is_not_null() & (pl.col("id") != "")
    return frame.with_columns(
        id=pl.when(named).then(pl.col("id")).otherwise(pl.format("line-{}", pl.col(LINE))),
        submit_s=pl.col("submit_s").fill_null(pl.col("start_s")),
    )


def _text(table: Table, form: JobFormat, field: JobField) -> pl.Series:
    if field not in form.columns:
        return pl.Series([None], dtype=pl.String).new_from_index(0, table.frame.height)
    text = table.frame[form.columns[field]].str.strip_chars().str.slice(0, 150).str.replace_all(r"[\x00-\x1f\x7f]", "?")
    if field in ("id", "kind"):
        return text
    return pl.select(pl.when(~text.is_in(["", *form.empty])).then(text)).to_series()


def _impossible(frame: pl.DataFrame, name: str) -> list[Fault]:
    """Return the faults of rows whose cells are each readable but contradict one another."""
    found = frame.filter((pl.col("duration_s") < 0) | pl.col("submit_s").is_null())
    return [
        Fault(f"{name}:{line}", "states no moment at which it was submitted or started", "add one, or drop the row")
        if submit is None
        else Fault(f"{name}:{line}", f"ends {-duration:g} s before it starts", "correct its times")
        for line, submit, duration in found.select(LINE, "submit_s", "duration_s").iter_rows()
    ]


def _gangs(frame: pl.DataFrame) -> pl.DataFrame:
    """Return one job for all rows of the same id: its GPUs added, from the first start to the last end."""
    begin = pl.coalesce("start_s", "submit_s")
    merged = (
        frame.with_columns(end_s=begin + pl.col("duration_s"), begin_s=begin)
        .group_by("id", maintain_order=True)
        .agg(
            pl.col(LINE, "kind", "user", "name", "account").first(),
            pl.col("submit_s", "start_s").min(),
            duration_s=pl.col("end_s").max() - pl.col("begin_s").min(),
            limit_s=pl.col("limit_s").max(),
            gpus=pl.col("gpus").sum(),
            priority=pl.col("priority").max(),
            capped=pl.col("capped").any(),
        )
    )
    return merged.select(frame.columns)


def _in_repeated_hour(table: Table, form: JobFormat) -> int:
    if form.times != "timestamp" or form.zone is None:
        return 0
    return count_repeated_hour(
        table, form.columns["submit" if "submit" in form.columns else "start"], form.empty, form.zone
    )
