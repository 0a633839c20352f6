"""Small texts of sacct -P that the tests build on: each test says only what is different in its own."""

from __future__ import annotations

from datetime import UTC
from zoneinfo import ZoneInfo

from loadfactor.sources.facts import JobInterval, Reading
from loadfactor.sources.slurm.moments import Zone
from loadfactor.sources.slurm.sacct import read_sacct

BERLIN = ZoneInfo("Europe/Berlin")
GOOD = {
    "JobID": "100",
    "JobName": "train",
    "User": "ada",
    "Account": "vision",
    "Partition": "gpu",
    "QOS": "normal",
    "Submit": "2026-03-02T08:00:00",
    "Eligible": "2026-03-02T08:00:00",
    "Start": "2026-03-02T09:00:00",
    "End": "2026-03-02T11:00:00",
    "Elapsed": "02:00:00",
    "State": "COMPLETED",
    "ExitCode": "0:0",
    "NNodes": "1",
    "NCPUS": "32",
    "ReqMem": "128G",
    "ReqTRES": "billing=32,cpu=32,gres/gpu=4,mem=128G,node=1",
    "AllocTRES": "billing=32,cpu=32,gres/gpu:a100=4,gres/gpu=4,mem=128G,node=1",
    "Timelimit": "1-00:00:00",
    "NodeList": "gpu001",
}
WAITING = {"Start": "Unknown", "End": "Unknown", "Elapsed": "00:00:00", "AllocTRES": "", "NodeList": "None assigned"}
RUNNING = {"State": "RUNNING", "End": "Unknown"}


def text_of(*rows: dict[str, str], columns: tuple[str, ...] = tuple(GOOD), end: str = "\n") -> bytes:
    """Return a log with a header; each row is the good one with changes."""
    lines = ["|".join(columns), *("|".join((GOOD | row)[column] for column in columns) for row in rows)]
    return (end.join(lines) + end).encode()


def read(*rows: dict[str, str], zone: Zone = UTC, columns: tuple[str, ...] = tuple(GOOD)) -> Reading[JobInterval]:
    """Return what is read of such a log."""
    return read_sacct(text_of(*rows, columns=columns), zone=zone, name="log")


def one(row: dict[str, str], zone: Zone = UTC, columns: tuple[str, ...] = tuple(GOOD)) -> JobInterval:
    """Return the only interval in a log of one row."""
    reading = read(row, zone=zone, columns=columns)
    assert reading.left_out == ()
    (interval,) = reading.facts
    return interval


def gpu_seconds(reading: Reading[JobInterval]) -> float:
    """Return the GPU-seconds of the intervals that have ended."""
    return sum(
        interval.gpus * (interval.ended - interval.started)
        for interval in reading.facts
        if interval.started is not None and interval.ended is not None
    )
