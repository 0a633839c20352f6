"""Every public document of Slurm and of telemetry. Skipped where ../shared/traces (or LOADFACTOR_TRACES) is missing."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from loadfactor.errors import InputError
from loadfactor.sources.slurm.jobs_json import read_slurm_jobs_json
from loadfactor.sources.slurm.nodes_json import read_slurm_nodes_json
from loadfactor.sources.telemetry.dcgm import Scrape, read_dcgm_scrapes
from loadfactor.sources.telemetry.kernel_log import read_xid_log
from loadfactor.sources.telemetry.metrics import METRICS

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
    assert len(reading.facts) + len(reading.left_out) + reading.rows_without_gpus == reading.rows_read == len(jobs)
    told = {job.row for job in reading.facts} | {
        int(row.fault.path.split("[")[1].split("]")[0]) for row in reading.left_out
    }
    assert all(independent_count(jobs[row]) == 0 for row in set(range(len(jobs))) - told)
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


def node_files() -> list[Path]:
    return files("slurm*/slurm-node*.json.gz", "slurm*/sinfo*.json.gz")


@pytest.mark.parametrize("path", node_files(), ids=short)
def test_every_node_is_read(path: Path) -> None:
    if "unfound" in path.name:
        with pytest.raises(InputError, match="holds no nodes, but Slurm's error: Failure to query node"):
            read_slurm_nodes_json(text_of(path), path.name)
        return
    reading = read_slurm_nodes_json(text_of(path), path.name)
    raw = json.loads(text_of(path))["nodes"]
    assert (len(reading.facts), reading.left_out, reading.notes) == (len(raw), (), ())
    for fact, node in zip(reading.facts, raw, strict=True):
        assert fact.gpus == sum(int(count) for count in re.findall(r":(\d+)(?=,|\(|$)", node["gres"]))
        states = node["state"] if isinstance(node["state"], list) else [node["state"].upper()]
        broken = {"DOWN", "DRAIN"} & set(states)
        assert fact.available is not bool(broken)
        changed = node["reason_changed_at"]
        since = changed["number"] if isinstance(changed, dict) else changed
        assert fact.unavailable_since == ((since or None) if broken else None)


def test_gpus_of_the_nodes_in_sum() -> None:
    held = {
        short(path): sum(node.gpus for node in read_slurm_nodes_json(text_of(path), path.name).facts)
        for path in files("slurmrestd-*/slurm-nodes.json.gz")
    }
    assert list(held.values()) == [0, 12, 16]


def test_the_other_documents_of_slurm_are_refused_by_name() -> None:
    others = files("slurmrestd-*/slurm-[apqr]*.json.gz", "slurmrestd-*/slurmdb-associations.json.gz")
    assert len(others) == 18
    for path in others:
        for reader in (read_slurm_jobs_json, read_slurm_nodes_json):
            with pytest.raises(InputError, match=r"looks like another document of Slurm in JSON; expected"):
                reader(text_of(path), path.name)


def test_a_real_scrape_of_two_hosts() -> None:
    text = text_of(TELEMETRY / "dcgm_exporter_datadog_t4.prom.gz")
    telemetry = read_dcgm_scrapes([Scrape(text, "t4.prom", 1000.0)])
    columns = ("host", "gpu", "model", "utilization", "utilization_of", "memory_used_mib", "memory_free_mib")
    assert telemetry.samples.select(*columns, "power_watts", "energy_joules", "xid").rows() == [
        ("424773df46e0", 0, "Tesla T4", 0.0, "device", 0.0, 15109.0, 8.969, 128996.013, 0)
    ]
    assert (telemetry.samples_read, telemetry.left_out, telemetry.notes) == (6, (), ())


def test_every_metric_that_is_read_is_one_of_dcgms() -> None:
    names = text_of(TELEMETRY / "dcgm_field_names_623.txt.gz").split()
    assert set(METRICS) <= set(names)


def test_a_real_kernel_log() -> None:
    reading = read_xid_log(text_of(TELEMETRY / "dmesg_xid119_h100.log.gz"), "dmesg.log", "UTC")
    assert [fact.line for fact in reading.facts] == [3, 38, 40, 42, 43]
    assert [fact.time for fact in reading.facts] == [1740327858 + after for after in (0, 6, 12, 174, 355)]
    assert {(fact.number, fact.uuid) for fact in reading.facts} == {(119, "GPU-509665ad-b600-ac93-3616-d754b23d636d")}
