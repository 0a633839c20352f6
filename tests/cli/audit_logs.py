"""Small logs for the tests of `loadfactor audit`: what sacct prints, nodes, demand and telemetry of one day."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HEADER = "JobID|JobName|User|Account|Partition|State|Submit|Start|End|Timelimit|AllocTRES|NodeList"
DAY = "2026-03-03"
CHAT = "1|chat|ops|platform|inference|RUNNING|2026-02-01T00:00:00|2026-02-01T00:00:00|Unknown|UNLIMITED|gres/gpu=4|n1"
TRAIN = (
    f"2|train|ann|lab|batch|COMPLETED|{DAY}T00:00:00|{DAY}T00:00:00|{DAY}T12:00:00|1-00:00:00|gres/gpu=2|n1",
    f"3|sweep|bob|lab|batch|FAILED|{DAY}T06:00:00|{DAY}T06:00:00|2026-03-04T00:00:00|2-00:00:00|gres/gpu=1|n1",
)
HELD_HOURS = 4 * 24 + 2 * 12 + 18
"""What all three jobs held on the day."""
NODES = "NodeName=n1 Gres=gpu:h100:8 State=MIXED Partitions=inference,batch\n"
SERVICES = ("--service-partition", "inference")


def sacct_text(rows: Sequence[str] = (CHAT, *TRAIN)) -> str:
    """Return a log of sacct with these rows."""
    return "\n".join((HEADER, *rows)) + "\n"


def answer(metric: str, value: float) -> str:
    """Return what Prometheus answers about one GPU of node n1, every hour of the day."""
    first = 1_772_496_000
    values = [[first + 3600 * hour, str(value)] for hour in range(24)]
    series = {"metric": {"__name__": metric, "Hostname": "n1", "gpu": "0"}, "values": values}
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [series]}})


@dataclass(frozen=True)
class Files:
    """The files of the day, as paths in text."""

    log: str
    nodes: str
    demand: str
    activity: str
    power: str

    @property
    def day(self) -> tuple[str, ...]:
        """The arguments of an audit of the day, without replays."""
        of_time = ("--timezone", "UTC", "--since", DAY, "--until", "2026-03-04")
        return ("audit", self.log, "--nodes", self.nodes, *of_time, "--no-replay")


def write_files(folder: Path) -> Files:
    """Write all files into `folder`."""
    hours = "".join(f"{DAY}T{hour:02}:00:00Z,{2 if hour < 12 else 3}\n" for hour in range(24))
    texts = {
        "log": sacct_text(),
        "nodes": NODES,
        "demand": f"time,gpus\n{hours}",
        "activity": answer("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.5),
        "power": answer("DCGM_FI_DEV_POWER_USAGE", 300),
    }
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return Files(**{name: str(folder / f"{name}.txt") for name in texts})
