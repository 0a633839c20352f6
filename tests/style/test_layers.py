"""The house: a package imports only from the floors below its own (the contract is in pyproject.toml)."""

from __future__ import annotations

import tomllib

from importlinter.cli import lint_imports

from tests.style.source import ROOT, SOURCE

PASSED = 0


def test_the_contract_is_kept() -> None:
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == PASSED


def test_every_room_is_on_a_floor() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    floors = {room.strip() for floor in contract["contracts"][0]["layers"] for room in floor.split("|")}
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    modules = {path.stem for path in SOURCE.glob("*.py")} - {"__init__"}
    assert packages | modules == floors
