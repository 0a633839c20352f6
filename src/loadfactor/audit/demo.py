"""The week that the package ships for `loadfactor audit --demo`; `tools/make_demo_week.py` makes it, and says how."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from loadfactor.audit.request import AuditRequest
from loadfactor.audit.services import ServiceRule
from loadfactor.sources.formats import DemandFormat


def demo_directory() -> Path:
    """Return the directory of the shipped week."""
    return Path(str(files("loadfactor.audit"))) / "week"


def demo_request() -> AuditRequest:
    """Return the audit of the shipped week: a scheduler's log, its nodes, demand and telemetry."""
    week = demo_directory()
    return AuditRequest(
        files=(week / "jobs.txt",),
        zone="Europe/Berlin",
        nodes=str(week / "nodes.txt"),
        since="2026-03-02",
        until="2026-03-09",
        rule=ServiceRule(partitions=("inference",)),
        demand=week / "demand.csv",
        demand_form=DemandFormat(columns={"time": "time", "rate": "gpus"}, zone="UTC"),
        telemetry=(week / "activity.json.gz", week / "power.json.gz"),
    )
