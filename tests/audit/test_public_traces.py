"""GPU-hours of the public logs as an audit counts them, against sums made in another way; skipped without them."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from loadfactor.audit.fleet import gathered_fleet, stated_fleet
from loadfactor.audit.inputs import read_facts
from loadfactor.audit.record import make_record
from loadfactor.audit.request import AuditRequest, record_of
from loadfactor.audit.window import Window
from loadfactor.sources.presets import JOB_PRESETS
from loadfactor.units import SECONDS_PER_DAY, SECONDS_PER_HOUR

ROOT = Path(__file__).parents[2]
TRACES = Path(os.environ.get("LOADFACTOR_TRACES", ROOT.parent / "shared" / "traces"))
pytestmark = pytest.mark.skipif(
    not TRACES.is_dir(), reason=f"the public traces are not at {TRACES}; set LOADFACTOR_TRACES to their folder"
)
VERSIONS = ("24.05", "24.11", "25.11")


def rows_of(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a gzipped CSV file."""
    with gzip.open(TRACES / name, "rt", encoding="utf-8") as stream:
        yield from csv.DictReader(stream)


def clipped_hours(spans: dict[str, tuple[float, float, float]], begin: float, end: float) -> float:
    """Return the GPU-hours of spans (start, end, GPUs) within [begin, end)."""
    return sum(gpus * max(0.0, min(end, last) - max(begin, first)) for first, last, gpus in spans.values()) / 3600


@pytest.mark.parametrize("by_preset", [True, False])
def test_the_log_of_xdmod(by_preset: bool) -> None:
    log, form = TRACES / "sacct_xdmod_phillips.psv.gz", JOB_PRESETS["xdmod-sacct"]
    given = {"form": form} if by_preset else {"columns": form.layout.header}
    facts = read_facts([log], UTC, nodes="2x2" if by_preset else None, **given)
    independent = 0.0
    for line in gzip.decompress(log.read_bytes()).decode().splitlines():
        row = line.split("|")
        gpus = sum(int(part.removeprefix("gres/gpu=")) for part in row[22].split(",") if part.startswith("gres/gpu="))
        start, end = (datetime.fromisoformat(row[column]).replace(tzinfo=UTC) for column in (12, 13))
        independent += gpus * (end - start).total_seconds() / SECONDS_PER_HOUR
    held = [each for each in facts.intervals if each.gpus]
    window = Window(min(each.started or 0 for each in held), max(each.ended or 0 for each in held), UTC)
    fleet = stated_fleet(facts.nodes) if facts.nodes else gathered_fleet(facts.intervals)
    made = make_record("log", facts.intervals, fleet, window)
    assert made.hours("jobs") == pytest.approx(independent) == pytest.approx(2 * (912_426 + 17) / 3600)
    assert (made.timeline.crowded_seconds, made.timeline.homeless_seconds) == (0, 0)


def counted_gpus(raw: dict[str, Any]) -> int:
    """Return the GPUs that the raw text of a running job says it holds."""
    return sum(map(int, re.findall(r"gpu:[^:]+:(\d+)\(IDX", " ".join(raw["gres_detail"]))))


@pytest.mark.parametrize("version", VERSIONS)
def test_every_running_job_of_slurmrestd(version: str) -> None:
    (folder,) = (TRACES / "telemetry").glob(f"slurmrestd-{version}-*")
    checked = 0
    for file in sorted(folder.glob("slurm-job-gpus-*.json.gz")):
        jobs = json.loads(gzip.decompress(file.read_bytes()))["jobs"]
        if [job["job_state"] for job in jobs] != [["RUNNING"]]:
            continue
        raw = jobs[0]
        facts = read_facts([file], UTC, nodes=str(folder / "slurm-nodes.json.gz"))
        start = raw["start_time"]["number"]
        window = Window(start - 1800, start + 7200, UTC)
        with_gpus = any(node.gpus for node in facts.nodes)  # those of 24.05 name none
        fleet = stated_fleet(facts.nodes) if with_gpus else gathered_fleet(facts.intervals)
        made = make_record(file.name, facts.intervals, fleet, window)
        assert made.hours("jobs") == pytest.approx(2 * counted_gpus(raw)) != 0
        assert (made.timeline.by_index, made.timeline.crowded_seconds, made.timeline.homeless_seconds) == (1, 0, 0)
        checked += 1
    assert checked >= 6


def test_three_days_of_helios_venus() -> None:
    since, until = "2020-05-14", "2020-05-17"
    made = record_of(
        AuditRequest(
            files=(TRACES / "jobs_helios_venus_gpu.csv.gz",),
            zone="Asia/Shanghai",
            nodes="135x8",
            form=JOB_PRESETS["helios-venus"],
            since=since,
            until=until,
        )
    )
    zone = ZoneInfo("Asia/Shanghai")
    spans: dict[str, tuple[float, float, float]] = {}
    for row in rows_of("jobs_helios_venus_gpu.csv.gz"):
        start = datetime.fromisoformat(row["submit_time_local"]).replace(tzinfo=zone).timestamp()
        spans[row["job_id"]] = (start, start + float(row["service_s"]), int(row["gpus"]))
    begin, end = (datetime.fromisoformat(day).replace(tzinfo=zone).timestamp() for day in (since, until))
    crowded = made.timeline.crowded_seconds / SECONDS_PER_HOUR
    assert made.hours("jobs") + crowded == pytest.approx(clipped_hours(spans, begin, end))
    assert (made.installed_hours, made.window.hours) == (1080 * 72, 72)
    assert sum(hours.sum() for hours in made.hours_by_use.values()) == pytest.approx(made.installed_hours)
    assert made.hours("jobs") > 10_000


def test_two_days_of_alibaba_pai() -> None:
    made = record_of(
        AuditRequest(
            files=(TRACES / "jobs_alibaba_pai_v2020_sample_a.csv.gz",),
            nodes="135x8",
            form=JOB_PRESETS["alibaba-pai"],
            since="1970-02-01",
            until="1970-02-03",
        )
    )
    gangs: defaultdict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for row in rows_of("jobs_alibaba_pai_v2020_sample_a.csv.gz"):
        start = float(row["start_s"])
        gangs[row["job_hash"]].append((start, start + float(row["service_s"]), float(row["gpus"])))
    spans = {
        job: (min(task[0] for task in tasks), max(task[1] for task in tasks), sum(task[2] for task in tasks))
        for job, tasks in gangs.items()
    }
    begin, end = 31 * SECONDS_PER_DAY, 33 * SECONDS_PER_DAY
    crowded = made.timeline.crowded_seconds / SECONDS_PER_HOUR
    assert made.hours("jobs") + crowded == pytest.approx(clipped_hours(spans, begin, end))
    assert made.hours("jobs") > 1_000
