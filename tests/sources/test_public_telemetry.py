"""Every public document of Slurm and of telemetry. Skipped where ../shared/traces (or LOADFACTOR_TRACES) is missing."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from loadfactor.sources.slurm.jobs_json import read_slurm_jobs_json

ROOT = Path(__file__).parents[2]
TRACES = Path(os.environ.get("LOADFACTOR_TRACES", ROOT.parent / "shared" / "traces"))
TELEMETRY = TRACES / "telemetry"
pytestmark = pytest.mark.skipif(
    not TELEMETRY.is_dir(), reason=f"the public traces are not at {TRACES}; set LOADFACTOR_TRACES to their folder"
)
PER_PART = {"tres_per_node": "node_count", "tres_per_task": "tasks"}


def text_of(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


def files(*patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns for path in TELEMETRY.glob(pattern))


def job_files() -> list[Path]:
    return files("slurm*/slurm-job*.json.gz", "slurm*/slurmdb-job*.json.gz", "slurm*/squeue*.json.gz")


def short(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def test_the_files_are_found() -> None:
    assert len(job_files()) == 109


@pytest.mark.parametrize("path", job_files(), ids=short)
def test_every_job_is_read_or_left_out_with_its_place(path: Path) -> None:
    reading = read_slurm_jobs_json(text_of(path), path.name)
    jobs = json.loads(text_of(path))["jobs"]
    assert len(reading.facts) + len(reading.left_out) == reading.rows_read == len(jobs)
    for row in reading.left_out:
        assert row.fault.path.startswith(f"{path.name}:jobs[")
        assert re.search("half written|resources name no GPU|on each socket", row.fault.fact)
    for job in reading.facts:
        raw = jobs[job.row]
        assert job.id.startswith(str(raw["job_id"]))
        assert (job.gpus if job.started is not None else job.gpus_requested) == independent_count(raw)


def independent_count(raw: dict[str, Any]) -> int:
    """Count GPUs from the raw text of a job, without any of the parsers under test."""
    listed = re.findall(r"gpu:[^:]+:(\d+)\(", " ".join(raw.get("gres_detail", [])))
    if listed:
        return sum(map(int, listed))
    if raw.get("tres_per_job"):
        return sum(int(count) for count in re.findall(r"(\d+)(?:,|$)", raw["tres_per_job"]))
    for key, parts in PER_PART.items():
        counts = re.findall(r"[:=](\d+)(?:,|$)", raw.get(key) or "")
        if counts:
            return sum(map(int, counts)) * int(raw[parts]["number"])
    return 0


def test_gpus_of_the_running_jobs_in_sum() -> None:
    held = {
        version: sum(
            job.gpus
            for path in files(f"slurmrestd-{version}-*/slurm-job-*.json.gz")
            for job in read_slurm_jobs_json(text_of(path), path.name).facts
            if job.state == "RUNNING"
        )
        for version in ("24.05", "24.11", "25.11")
    }
    # 4 gres + 8 nodes + 1 types + 2 per node + 2 per socket + 4 per task + 4 running + 1 type; 24.11 has 6 GPUs a node
    assert held == {"24.05": 26, "24.11": 35, "25.11": 26}


def test_the_gpu_seconds_of_an_untracked_accounting_are_told() -> None:
    found = {
        short(path): [row.gpu_seconds for row in read_slurm_jobs_json(text_of(path), path.name).left_out]
        for path in files("slurmrestd-*/slurmdb-job-gpus-completed.json.gz")
    }
    assert list(found.values()) == [[4 * 30.0], [6 * 30.0], [4 * 30.0]]
