"""The machine that a benchmark ran on: without it no time means anything."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("loadfactor", "numpy", "numba", "ortools", "pydantic")


@dataclass(frozen=True, slots=True)
class Machine:
    """Processor, cores that this process may use, system, and the versions of what does the work."""

    processor: str
    cores: int
    system: str
    python: str
    libraries: dict[str, str]

    def __str__(self) -> str:
        libraries = ", ".join(f"{name} {number}" for name, number in self.libraries.items())
        return f"{self.processor}, {self.cores} cores, {self.system}; Python {self.python}, {libraries}"


def this_machine() -> Machine:
    """Return the machine that this process runs on."""
    return Machine(
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        libraries={name: found for name in LIBRARIES if (found := _version(name)) is not None},
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or "unknown processor")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
