"""The machinery behind the pages' examples finds what is wrong in them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.docs.examples import commands_in, run_console


def console(text: str) -> Any:
    """Return a block as sybil hands it over."""
    return SimpleNamespace(parsed=text)


def test_commands_and_what_they_print() -> None:
    assert list(commands_in("$ loadfactor a \\\n  b\none\ntwo\n$ loadfactor c\n")) == [
        ("loadfactor a    b", "one\ntwo\n"),
        ("loadfactor c", ""),
    ]


def test_what_is_printed_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_console(console("$ loadfactor --version\nloadfactor ...\n")) is None
    assert "printed" in str(run_console(console("$ loadfactor --version\nsomething else\n")))


def test_the_exit_code_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "exit code 2" in str(run_console(console("$ loadfactor allocate none.yaml\n")))
    assert run_console(console("$ loadfactor allocate none.yaml   # exit code 2\n")) is None
