"""What only a process of its own can show: colour, pipes, signals, and what a bug looks like from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import SMALL

LOADFACTOR = [sys.executable, "-c", "from loadfactor.cli import main; main()"]
ESCAPE = "\x1b["


def loadfactor(*arguments: str, stdin: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if name not in {"FORCE_COLOR", "COLUMNS"}}
    return subprocess.run(
        [*LOADFACTOR, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env=environment | variables,
        timeout=120,
    )


def test_the_installed_command_is_ours() -> None:
    script = Path(sys.executable).with_name("loadfactor")
    shown = subprocess.run([str(script), "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("loadfactor ")


def test_no_colour_in_a_pipe(small: str) -> None:
    shown = loadfactor("allocate", small, "--policy", "fifo")
    assert shown.returncode == 0
    assert ESCAPE not in shown.stdout + shown.stderr


def test_colour_where_it_is_asked_for(small: str) -> None:
    assert ESCAPE in loadfactor("allocate", small, "--policy", "fifo", FORCE_COLOR="1").stdout


def test_json_is_never_coloured(small: str) -> None:
    assert ESCAPE not in loadfactor("allocate", small, "--policy", "fifo", "--format", "json", FORCE_COLOR="1").stdout


def test_standard_input() -> None:
    shown = loadfactor("allocate", "-", "--policy", "fifo", "--format", "json", stdin=SMALL)
    assert (shown.returncode, shown.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="this system has no SIGPIPE")
def test_a_reader_that_leaves_ends_us_quietly(small: str) -> None:
    arguments = [*LOADFACTOR, "allocate", small, "--policy", "fifo", "--format", "json"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == -signal.SIGPIPE


def test_an_interrupt_ends_us_quietly() -> None:
    with subprocess.Popen(
        [*LOADFACTOR, "allocate", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        process.stdin.write("name: waiting")
        process.stdin.flush()
        _wait_until_it_reads(process.pid)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (130, "", "")


def test_a_bug_is_told_as_one(small: str) -> None:
    program = (
        "import sys, loadfactor.allocator as allocator\n"
        "def broken(*arguments): raise ZeroDivisionError('planted')\n"
        "allocator.decide = broken\n"
        "from loadfactor.cli import main; main()"
    )
    arguments = [sys.executable, "-c", program, "allocate", small]
    shown = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert (shown.returncode, len(shown.stdout.splitlines())) == (70, 1)  # what was read, and nothing of a plan
    assert shown.stderr.startswith("internal error: ZeroDivisionError: planted; this is a bug in loadfactor")
    assert shown.stderr.count("\n") == 1
    told = subprocess.run(
        arguments, capture_output=True, text=True, check=False, env=os.environ | {"LOADFACTOR_TRACEBACK": "1"}
    )
    assert "Traceback" in told.stderr


def _wait_until_it_reads(pid: int) -> None:
    """Wait until the process has read what was written and sleeps in its next read."""
    import time

    for _ in range(600):
        time.sleep(0.05)
        state = Path(f"/proc/{pid}/wchan")
        if state.exists() and "pipe" in state.read_text(encoding="utf-8"):
            return
    pytest.skip("this system does not say what a process waits for")
