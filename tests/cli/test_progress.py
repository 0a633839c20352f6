"""Progress is shown to somebody who looks, and to nobody else."""

from __future__ import annotations

import os
import pty
import subprocess
import time
from pathlib import Path

import pytest

from loadfactor.cli import progress
from loadfactor.cli.progress import progress_line
from loadfactor.policies import Progress
from tests.cli.test_process import LOADFACTOR


def test_a_line_names_value_bound_and_gap() -> None:
    assert progress_line(Progress(1.5, 900.0, 1000.0)) == "  1.50 s  value 900.00  bound 1,000.00  gap 10.000%"
    assert progress_line(Progress(0.25, 900.0, None)) == "  0.25 s  value 900.00  no bound yet"


def test_a_terminal_sees_the_search_and_the_document_stays_alone(small: str, tmp_path: Path) -> None:
    shown = tmp_path / "output"
    terminal, other_end = pty.openpty()
    with shown.open("wb") as output:
        process = subprocess.Popen(
            [*LOADFACTOR, "allocate", small, "--policy", "full", "--format", "json"],
            stdout=output,
            stderr=other_end,
            env=os.environ | {"TERM": "xterm"},
        )
        os.close(other_end)
        seen = _read_all(terminal)
        assert process.wait(60) == 0
    assert "full: searching" in seen
    assert shown.read_text(encoding="utf-8").startswith("{")


def test_who_waits_for_the_compiler_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.01)
    with progress.progress_of("fast"):
        time.sleep(0.5)
    assert "compiles the search" in capsys.readouterr().err
    with progress.progress_of("fifo"):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_who_does_not_wait_is_told_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.progress_of("fast"):
        pass
    assert capsys.readouterr().err == ""


def _read_all(terminal: int) -> str:
    """Return everything that a terminal receives until its other end is closed."""
    received = b""
    try:
        while part := os.read(terminal, 4096):
            received += part
    except OSError:  # Linux says so when the last writer has gone
        pass
    finally:
        os.close(terminal)
    return received.decode("utf-8", "replace")
