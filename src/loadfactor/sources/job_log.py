"""The jobs of a log as one table, which problems and replays are built from; and intervals turned into it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from loadfactor.errors import Fault
from loadfactor.sources.facts import JobInterval, JobState, LeftOut, Reading
from loadfactor.sources.tables import LINE

_SCHEMA = {
    LINE: pl.Int64,
    **dict.fromkeys(("id", "kind", "user", "name", "account"), pl.String),
    **dict.fromkeys(("submit_s", "start_s", "duration_s", "limit_s", "gpus", "priority"), pl.Float64),
    "capped": pl.Boolean,
}

_TOLD = (LINE, "id", "user", "name", "account", "submit_s", "start_s", "duration_s", "limit_s", "gpus", "priority")


@dataclass(frozen=True)
class JobLog:
    """The jobs of a log.

    `frame` has the columns line, id, kind, user, name, account (text), submit_s, start_s (seconds; start null where the
    log does not say), duration_s and limit_s (null where the log states none), gpus (a fraction where the log has
    fractions), priority (or null) and capped (whether the log cut the run time). `merged` rows went into the job that
    they are a task of.
    """

    frame: pl.DataFrame
    rows_read: int
    bad_rows: tuple[Fault, ...]
    merged: int = 0
    in_repeated_hour: int = 0


def job_log_of(reading: Reading[JobInterval]) -> JobLog:
    """Return the intervals of `reading` as a `JobLog`; rows of steps and of jobs without GPUs are not counted in it.

    A job that never started has the GPUs that it asked for. One that still ran when the log was written has run until
    then, as far as the log tells when that was, and counts as capped. Slurm's priorities order jobs within one cluster
    and weigh nothing, so none is taken over. An array's waiting tasks stay one row.
    """
    faults = [entry.fault for entry in reading.left_out]
    rows = []
    for interval in reading.facts:
        if interval.submitted is None and interval.started is None:
            fact = f"job {interval.id}: states no moment at which it was submitted or started"
            faults.append(Fault(f"{reading.source}:{interval.row}", fact, "add one, or drop the row"))
        else:
            rows.append(_row(interval, reading.written_at))
    frame = numbered(pl.DataFrame(rows, schema=_SCHEMA, orient="row"))
    return JobLog(frame, len(reading.facts) + len(reading.left_out), tuple(faults))


def numbered(frame: pl.DataFrame) -> pl.DataFrame:
    """Return `frame` with the second row of an id renamed to id#2, the third to id#3: every id is one job's own."""
    number = pl.int_range(1, pl.len() + 1).over("id")
    later = pl.format("{}#{}", pl.col("id"), number)
    return frame.with_columns(id=pl.when(number == 1).then(pl.col("id")).otherwise(later))


def _row(interval: JobInterval, written_at: float | None) -> tuple[object, ...]:
    started = interval.started
    runs = started is not None and interval.ended is None
    ended = written_at if runs else interval.ended
    limit = interval.limit_seconds
    return (
        interval.row,
        interval.id,
        None,
        interval.user,
        interval.name,
        interval.account,
        started if interval.submitted is None else interval.submitted,
        started,
        max(0.0, ended - started) if started is not None and ended is not None else None,
        None if limit is None or math.isinf(limit) else limit,
        float(interval.gpus if started is not None else interval.gpus_requested),
        None,
        runs and ended is not None,
    )


def intervals_of_log(log: JobLog, name: str) -> Reading[JobInterval]:
    """Return the jobs of a log that is no scheduler's accounting (a public trace, say) as intervals.

    Where the log does not say when a job started, it is taken to have started when it was submitted; a note says how
    many. A job without a run time is left out. A fraction of a GPU counts as one that is shared.
    """
    facts, left_out, assumed = [], [LeftOut(fault) for fault in log.bad_rows], 0
    for row, job_id, user, title, account, submit, start, duration, limit, gpus, priority in log.frame.select(
        _TOLD
    ).iter_rows():
        if duration is None:
            fault = Fault(f"{name}:{row}", f"job {job_id}: states no run time", "add it, or drop the row")
            left_out.append(LeftOut(fault))
            continue
        assumed += start is None
        begin = submit if start is None else start
        facts.append(
            JobInterval(
                row=row,
                id=job_id,
                state=JobState.COMPLETED,
                name=title,
                user=user,
                account=account,
                priority=priority,
                submitted=submit,
                started=begin,
                ended=begin + duration,
                limit_seconds=limit,
                gpus=math.ceil(gpus),
                gpus_requested=math.ceil(gpus),
                gpu_share=min(1.0, gpus) if gpus else 1.0,
            )
        )
    note = f"{name}: {assumed} jobs state no start, and are taken to have started when they were submitted"
    return Reading(name, facts, log.rows_read, tuple(left_out), (note,) if assumed else ())
