"""Small logs and recipes that the tests build on: each test says only what is different in its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loadfactor.sources import JobFormat, ProblemRecipe

JOB_COLUMNS = "id,submit,seconds,gpus"
SIMPLE_JOBS = JobFormat(columns={"id": "id", "submit": "submit", "duration": "seconds", "gpus": "gpus"}, zone="UTC")


def jobs_text(*rows: str, columns: str = JOB_COLUMNS) -> str:
    """Return a log of jobs."""
    return "\n".join((columns, *rows)) + "\n"


def demand_text(*rows: str, columns: str = "t_s,rate") -> str:
    """Return a log of demand."""
    return "\n".join((columns, *rows)) + "\n"


def recipe_with(
    directory: Path, *, jobs: str | bytes | None = None, demand: str | None = None, **changes: Any
) -> ProblemRecipe:
    """Return a recipe for the given logs on 2 x 8 GPUs; `changes` are dotted: `jobs.day`, `services.gaps`."""
    document: dict[str, Any] = {"name": "small", "cluster": "2x8"}
    if jobs is not None:
        (directory / "jobs.csv").write_bytes(jobs.encode() if isinstance(jobs, str) else jobs)
        document["jobs"] = {"file": "jobs.csv", "format": _simple_jobs(), "day": "2026-03-03"}
    if demand is not None:
        (directory / "demand.csv").write_text(demand, encoding="utf-8")
        form = {"columns": {"time": "t_s", "rate": "rate"}, "times": "seconds"}
        service = {"id": "chat", "file": "demand.csv", "format": form, "day": 0, "throughput": {"requests": 1.0}}
        document["services"] = [service | ({} if changes.get("services.peak_share") else {"headroom": 0.0})]
    for place, value in changes.items():
        _put(document, place.split("."), value)
    return ProblemRecipe.from_document(document, directory)


def _simple_jobs() -> dict[str, Any]:
    columns = {"id": "id", "submit": "submit", "duration": "seconds", "gpus": "gpus"}
    return {"zone": "UTC", "columns": columns}


def _put(document: dict[str, Any], parts: list[str], value: Any) -> None:
    *outer, last = parts
    target: Any = document
    for part in outer:
        target = target.setdefault(part, {})
        target = target[0] if isinstance(target, list) else target
    if value is None:
        target.pop(last, None)
    else:
        target[last] = value
