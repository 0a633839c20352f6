"""Every command and every option has its place on the page of commands, and every command has tests."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from loadfactor.cli.application import COMMANDS, application
from tests.style.source import ROOT

GROUP: Any = typer.main.get_command(application())
NAMES = sorted(GROUP.commands)


def section(name: str) -> str:
    """Return the section of the page that is about a command."""
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert f"\n## {name}\n" in text, f"docs/commands.md has no section {name}"
    return text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def test_the_commands_are_listed() -> None:
    assert sorted(command.__name__ for command in COMMANDS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_described(name: str) -> None:
    text = section(name)
    options = {
        option
        for parameter in GROUP.commands[name].params
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option.startswith("--") and option != "--help"
    }
    assert {option for option in options if f"`{option}`" not in text} == set()


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_the_command_at_work(name: str) -> None:
    assert f"$ loadfactor {name}" in section(name)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_a_test(name: str) -> None:
    tests = (ROOT / "tests" / "cli" / f"test_{name}.py").read_text(encoding="utf-8")
    assert f'"{name}"' in tests


@pytest.mark.parametrize("name", NAMES)
def test_every_command_lives_in_a_file_of_its_own(name: str) -> None:
    assert (ROOT / "src" / "loadfactor" / "cli" / f"{name}.py").is_file()
