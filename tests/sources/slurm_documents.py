"""Small documents of Slurm's REST interface, written by hand after what real daemons answer."""

from __future__ import annotations

import json
from typing import Any

UNSET = {"set": False, "infinite": False, "number": 0}
ENDLESS = {"set": False, "infinite": True, "number": 0}


def number(value: float) -> dict[str, Any]:
    return {"set": True, "infinite": False, "number": value}


def gres(name: str, count: float) -> dict[str, Any]:
    return {"type": "gres", "name": name, "id": 1001, "count": count}


def accounted(**changes: Any) -> dict[str, Any]:
    """Return a job of the accounting database: 4 H100 on gpu1 from 2000 to 2600, submitted at 1000."""
    job = {
        "job_id": 10,
        "name": "train",
        "user": "ada",
        "account": "vision",
        "partition": "gpu",
        "qos": "normal",
        "nodes": "gpu1",
        "allocation_nodes": 1,
        "priority": number(272),
        "array": {"job_id": 0, "task_id": UNSET, "task": ""},
        "het": {"job_id": 0, "job_offset": UNSET},
        "state": {"current": ["COMPLETED"], "reason": "None"},
        "exit_code": {"status": ["SUCCESS"], "return_code": number(0)},
        "submit_line": "sbatch --gpus 4 train.sh",
        "time": {
            "submission": 1000,
            "eligible": 1500,
            "start": 2000,
            "end": 2600,
            "elapsed": 600,
            "limit": number(20),
        },
        "tres": {
            "allocated": [{"type": "cpu", "name": "", "count": 8}, gres("gpu", 4), gres("gpu:h100", 4)],
            "requested": [{"type": "mem", "name": "", "count": 2048}, gres("gpu", 4)],
        },
    }
    return job | changes


def controlled(**changes: Any) -> dict[str, Any]:
    """Return a job of the controller: 5 H100 on gpu1 and gpu2 since 2000, submitted at 1000, planned to end at 5600."""
    job = {
        "job_id": 11,
        "name": "serve",
        "user_name": "bob",
        "account": "speech",
        "partition": "gpu",
        "qos": "high",
        "job_state": ["RUNNING"],
        "state_reason": "None",
        "submit_time": number(1000),
        "eligible_time": number(1000),
        "start_time": number(2000),
        "end_time": number(5600),
        "time_limit": number(60),
        "priority": number(545),
        "nodes": "gpu[1-2]",
        "node_count": number(2),
        "tasks": number(2),
        "restart_cnt": 0,
        "array_job_id": number(0),
        "array_task_id": UNSET,
        "array_task_string": "",
        "het_job_id": number(0),
        "het_job_offset": number(0),
        "gres_detail": ["gpu:h100:4(IDX:0-3)", "gpu:h100:1(IDX:6)"],
        "tres_per_job": "gres/gpu:5",
        "tres_per_node": "",
        "tres_per_task": "",
        "tres_per_socket": "",
        "tres_req_str": "cpu=2,mem=1G,node=2,billing=2",
        "tres_alloc_str": "cpu=2,mem=1G,node=2,billing=2",
        "exit_code": {"status": ["SUCCESS"], "return_code": number(0)},
    }
    return job | changes


def document(*jobs: Any, **changes: Any) -> str:
    plugin = {"type": "openapi/slurmdbd", "data_parser": "data_parser/v0.0.42"}
    return json.dumps({"jobs": list(jobs), "meta": {"plugin": plugin}, "errors": [], "warnings": []} | changes)
