"""Wrong input of every kind: exit code 2, one line for each fault, nothing on standard output, never a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Command

BAD_DOCUMENTS = {
    "bad YAML": b"name: [unclosed",
    "bad JSON": b'{"name": "x",',
    "no document": b"",
    "a list": b"[1, 2]",
    "text": b"hello",
    "not UTF-8": b"name: \xff\xfe",
    "unknown field": b"{name: a, horizon: {steps: 1}, cluster: {nodes: [{name: n, gpus: 1}]}, color: red}",
    "not a number": b'{"name": "a", "horizon": {"steps": NaN}, "cluster": {"nodes": []}}',
    "an alias bomb": b"a: &a [x, x, x, x, x, x, x, x, x]\n"
    + b"".join(
        f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n".encode()
        for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    ),
}


@pytest.mark.parametrize("content", BAD_DOCUMENTS.values(), ids=BAD_DOCUMENTS.keys())
@pytest.mark.parametrize("name", ["allocate", "check"])
def test_a_bad_document(command: Command, tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / "problem.yaml"
    path.write_bytes(content)
    told = command(name, *([str(path)] * (2 if name == "check" else 1)))
    assert (told.code, told.output) == (2, "")
    assert told.errors.splitlines()
    for line in told.errors.splitlines():
        assert line.startswith("error: ")
        assert "; " in line


def test_a_missing_file(command: Command) -> None:
    told = command("allocate", "missing.yaml")
    assert (told.code, told.output) == (2, "")
    expected = "error: missing.yaml: cannot be read (No such file or directory); check the name and your rights\n"
    assert told.errors == expected


def test_a_directory(command: Command, tmp_path: Path) -> None:
    told = command("allocate", str(tmp_path))
    assert (told.code, told.output) == (2, "")
    assert "cannot be read (Is a directory)" in told.errors


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_rights(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "problem.yaml"
    path.write_text("name: a")
    path.chmod(0)
    assert command("allocate", str(path)).code == 2


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("alocate",),
            "error: loadfactor: No such command 'alocate'. Did you mean 'allocate'?; see `loadfactor --help`",
        ),
        (("allocate",), "error: PROBLEM: is missing; see `loadfactor allocate --help`"),
        (
            ("allocate", "a", "--quick"),
            "error: loadfactor allocate: No such option: --quick; see `loadfactor allocate --help`",
        ),
        (("--quick",), "error: loadfactor: No such option: --quick; see `loadfactor --help`"),
        (
            ("allocate", "a", "b"),
            "error: loadfactor allocate: Got unexpected extra argument(s) (b); see `loadfactor allocate --help`",
        ),
    ],
)
def test_a_wrong_command_line(command: Command, arguments: tuple[str, ...], line: str) -> None:
    told = command(*arguments)
    assert (told.code, told.output, told.errors) == (2, "", line + "\n")


def test_without_arguments_the_help_is_shown(command: Command) -> None:
    told = command()
    assert told.code == 0
    assert "Usage: loadfactor" in told.output
    assert command("--help").output == told.output


def test_the_version(command: Command) -> None:
    told = command("--version")
    assert (told.code, told.errors) == (0, "")
    assert told.output.startswith("loadfactor ")
