"""The public log of XDMoD, whose 26 columns have no header, against a sum of its GPU-hours made in another way."""

from __future__ import annotations

import gzip
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from loadfactor.sources import JOB_PRESETS, read_jobs
from loadfactor.sources.facts import JobState
from loadfactor.sources.slurm.memory import parse_memory
from loadfactor.sources.slurm.sacct import read_sacct
from loadfactor.sources.slurm.tres import amount_in_tres
from tests.sources.slurm.sacct_logs import gpu_seconds

ROOT = Path(__file__).parents[3]
TRACES = Path(os.environ.get("LOADFACTOR_TRACES", ROOT.parent / "shared" / "traces"))
LOG = TRACES / "sacct_xdmod_phillips.psv.gz"
pytestmark = pytest.mark.skipif(
    not LOG.is_file(), reason=f"the public traces are not at {TRACES}; set LOADFACTOR_TRACES to their folder"
)
COLUMNS = JOB_PRESETS["xdmod-sacct"].layout.header


def rows() -> list[list[str]]:
    return [line.split("|") for line in gzip.decompress(LOG.read_bytes()).decode().splitlines()]


def independent_gpu_seconds() -> float:
    total = 0.0
    for row in rows():
        gpus = sum(int(part[9:]) for part in row[22].split(",") if part.startswith("gres/gpu="))
        start, end = (datetime.fromisoformat(row[column]).replace(tzinfo=UTC) for column in (12, 13))
        total += gpus * (end - start).total_seconds()
    return total


def test_gpu_hours_agree_with_an_independent_sum() -> None:
    reading = read_sacct(LOG, zone=UTC, columns=COLUMNS)
    assert gpu_seconds(reading) == independent_gpu_seconds() == 2 * (912_426 + 17)
    assert [(entry.id, entry.state) for entry in reading.facts] == [
        ("163485", JobState.CANCELLED),
        ("196835", JobState.COMPLETED),
    ]
    assert (reading.rows_read, reading.rows_without_gpus, reading.left_out) == (4_285, 4_283, ())


def test_every_row_is_read_once_each_holds_a_gpu() -> None:
    """The same log with a GPU in every row: all its states, memories, nodes and limits are read."""
    changed = [[*row[:22], row[22].replace("gres/gpu=2,", "") + ",gres/gpu=1", *row[23:]] for row in rows()]
    reading = read_sacct("\n".join(map("|".join, changed)).encode(), zone=UTC, columns=COLUMNS, name="log")
    times = [[datetime.fromisoformat(row[column]) for column in (12, 13)] for row in rows()]
    assert (len(reading.facts), reading.left_out, reading.notes) == (4_285, (), ())
    assert gpu_seconds(reading) == sum((end - start).total_seconds() for start, end in times)
    assert [entry.state.value for entry in reading.facts] == [row[16].split()[0] for row in rows()]
    in_queue = [entry for entry in reading.facts if entry.started is None]
    assert (len(in_queue), sum(entry.gpus for entry in in_queue)) == (239, 0)  # cancelled before they started


def test_the_old_mark_for_memory_of_each_cpu_explains_every_total() -> None:
    marked = [row for row in rows() if row[20] == "2147486648Mn"]
    for row in marked:
        memory, total = parse_memory(row[20]), parse_memory(amount_in_tres(row[21], "mem") or "")
        assert memory is not None
        assert total is not None
        assert memory.total_mib(int(row[17]), int(row[18])) == pytest.approx(total.mebibytes, rel=0.01)
    assert len(marked) == 4_238


def test_both_readers_of_this_log_find_the_same_jobs() -> None:
    table = read_jobs(LOG, JOB_PRESETS["xdmod-sacct"], "log").frame
    own = JOB_PRESETS["sacct"].model_copy(update={"zone": "UTC", "layout": JOB_PRESETS["xdmod-sacct"].layout})
    assert read_jobs(LOG, own, "log").frame.equals(table.filter(table["gpus"] > 0))
