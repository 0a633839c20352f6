"""The command run in this process, through its real door, and the small problem that most tests plan."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from loadfactor.cli.run import run

SMALL = """
name: small
horizon: {steps: 6, step_minutes: 60, start: 2026-12-01T00:00:00Z}
cluster:
  nodes:
    - {name: node-0, gpus: 4, gpu_type: H100-80GB, gpu_memory_gib: 80}
    - {name: node-1, gpus: 4, gpu_type: A100-40GB, gpu_memory_gib: 40}
  unavailable:
    - {gpus: [3], from: 0, until: 2}
jobs:
  - {id: pretrain, kind: training, priority: 8, gpus: 4, duration: 3}
  - {id: sweep, kind: batch_inference, priority: 3, submit: 1, gpus: {min: 1, max: 2}, work: 4, gpu_memory_gib: 80}
  - {id: huge, kind: training, priority: 9, gpus: 8, duration: 6}
services:
  - {id: chat, priority: 9, demand: [1, 2, 2, 1, 0, 1], max_swap: 1}
"""


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    output: str
    errors: str


Command = Callable[..., Outcome]


@pytest.fixture
def small(tmp_path: Path) -> str:
    """Return the path of the small problem."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL, encoding="utf-8")
    return str(path)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return a function that runs `loadfactor` with arguments and, where given, text on standard input."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def run_with(*arguments: str, stdin: str = "") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        capsys.readouterr()
        code = run(arguments)
        captured = capsys.readouterr()
        return Outcome(int(code), captured.out, captured.err)

    return run_with
