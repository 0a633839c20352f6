"""The checkers stand alone, count what was worked out by hand, and complain of every promise that is broken."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest

import loadfactor.engines.checkers
from loadfactor.engines.checkers import Facts, JobTally, Outage, Promises, Story, recount

FILES = sorted(Path(loadfactor.engines.checkers.__file__).parent.glob("*.py"))
FACTS = Facts(
    node_gpus=(4, 2, 2),
    whole_nodes=False,
    asked={"job": 3, "other": 1},
    run_seconds={"job": 100, "other": 50},
    job_start_seconds=10,
    replica_start_seconds={"chat": 20},
    replica_stop_seconds=5,
    max_swap={"chat": 2},
    max_gpus={"chat": 1},
    demand={"chat": (1, 2)},
    step_seconds=100,
    outages=(Outage(150, 170, (0, 1)),),
)
Line = tuple[int, str, dict[str, object]]


def told(at: int, kind: str, **fields: object) -> Line:
    return at, "told", {"event": kind, "at": at, **fields}


def wants(at: int, kind: str, **fields: object) -> Line:
    return at, "wanted", {"effect": kind, **fields}


def start(at: int, job: str = "job", attempt: int = 1, first: int = 0, size: int = 4) -> Line:
    return wants(at, "StartJob", job_id=job, attempt=attempt, first_gpu=first, size=size)


def submitted(job: str = "job") -> Line:
    return told(0, "JobSubmitted", job={"id": job})


def replica(at: int, kind: str = "StartReplica", gpu: int = 7, attempt: int = 1) -> Line:
    return wants(at, kind, service_id="chat", gpu=gpu, attempt=attempt)


def story_of(*lines: Line) -> Story:
    story, number = Story(), 0
    for second, verb, fields in lines:
        if verb == "told":
            story.told(second, json.dumps(fields).encode())
        else:
            number += 1
            story.wanted(second, json.dumps({"number": number, **fields}).encode())
    return story


def imports(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    return plain | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_checkers_stand_alone(path: Path) -> None:
    for module in imports(path):
        ours = module.startswith("loadfactor.engines.checkers") or module.partition(".")[0] == "numpy"
        assert ours or module.partition(".")[0] in sys.stdlib_module_names, module


def test_the_files_are_found() -> None:
    assert len(FILES) == 4


def test_a_story_is_counted_second_by_second() -> None:
    lost = told(150, "JobLost", job_id="job", attempt=1)
    stop = replica(120, "StopReplica")
    story = story_of(submitted(), submitted("other"), start(50), replica(0), stop, lost, start(200, "other", 1, 2, 1))
    count = recount(story, FACTS, 300)
    assert count.complaints == []
    assert count.jobs == {"job": JobTally(1, 1, 400, None), "other": JobTally(1, 0, 60, 260)}
    idle = 8 * 300 - 400 - 60 - 125 - 40
    assert count.seconds() == [idle, 40 + 10, 270 + 50, 90, 20, 100, 5, 40]
    assert count.unmet == {"chat": 20 + 100 + 80 + 100}


def test_a_refused_start_holds_nothing() -> None:
    refused = told(50, "StartRefused", job_id="job", attempt=1, reason="lost")
    count = recount(story_of(submitted(), start(50), refused), FACTS, 300)
    assert count.jobs["job"] == JobTally()
    assert count.seconds()[1:4] == [0, 0, 0]


def test_two_holders_at_once_are_seen() -> None:
    count = recount(story_of(start(10), start(20, "other", 1, 2, 1)), FACTS, 100)
    assert count.complaints[0].startswith("'other' holds GPUs 2 to 2 in the seconds 20 to 30")


LOST = told(5, "GpusLost", gpus=[0], number=2)
DIED = told(2, "JobLost", job_id="job", attempt=1)
BACK = told(6, "GpusBack", gpus=[0], number=1)
ENDED = told(9, "JobEnded", job_id="job", attempt=1, outcome="finished")
CANCELLED = told(3, "JobCancelled", job_id="job")
CANCEL = wants(4, "CancelJob", job_id="job", attempt=1)
KEPT = {
    "a job starts": [submitted(), start(1)],
    "a lost job starts again": [
        submitted(),
        start(1),
        told(2, "JobLost", job_id="job", attempt=1),
        start(3, attempt=2),
    ],
    "GPUs are back": [submitted(), LOST, told(7, "GpusBack", gpus=[0], number=3), start(8)],
    "a job is cancelled": [submitted(), start(1), CANCELLED, CANCEL],
    "a replica makes room": [replica(0), replica(1, "StopReplica"), told(100, "TimerFired"), replica(100, gpu=6)],
}
BROKEN = {
    "nobody submitted it": [start(1)],
    "it holds a block already": [submitted(), start(1), start(2, attempt=2, first=4)],
    "it is over or taken back": [submitted(), start(1), ENDED, start(10, attempt=2)],
    "attempt 1 is the next": [submitted(), start(1, attempt=2)],
    "it asks for more GPUs": [submitted(), start(1, size=2)],
    "that is no block": [submitted(), start(1, first=1)],
    "GPU 0 is held by job job": [submitted(), submitted("other"), start(1), start(1, "other", 1, 0, 1)],
    "GPU 0 is lost or drained": [submitted(), LOST, BACK, start(7)],
    "GPU 3 is lost or drained": [submitted(), told(1, "NodeDrained", node=0, number=1), start(7)],
    "its user did not take it back": [submitted(), start(1), CANCEL],
    "no such attempt": [submitted(), CANCELLED, CANCEL],
    "more swaps": [replica(0), replica(1, "StopReplica"), replica(2, gpu=6)],
    "max_gpus already": [replica(0), replica(1, gpu=6)],
    "no such replica": [replica(0, "StopReplica")],
    "does not count up": [submitted(), wants(1, "StopReplica", number=7, service_id="chat", gpu=7, attempt=1)],
    "is no command": [submitted(), wants(1, "SetTimer", number=1)],
}


@pytest.mark.parametrize("lines", KEPT.values(), ids=KEPT)
def test_kept_promises_are_no_complaint(lines: list[Line]) -> None:
    assert Promises(FACTS).read_all(story_of(*lines)) == []


@pytest.mark.parametrize(("complaint", "lines"), BROKEN.items(), ids=BROKEN)
def test_a_broken_promise_is_complained_of(complaint: str, lines: list[Line]) -> None:
    complaints = Promises(FACTS).read_all(story_of(*lines))
    assert any(complaint in each for each in complaints), complaints
