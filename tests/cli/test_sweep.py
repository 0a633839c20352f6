"""`loadfactor sweep`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Command
from tests.replay.stories import recipe_document


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe_document(tmp_path, policies=["fifo+peak"])), encoding="utf-8")
    return str(path)


def test_a_sweep_and_the_same_again(command: Command, recipe: str, tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    options = ("--vary", "load=1,2", "--vary", "seed=0,1", "--output", str(results), "--workers", "1")
    told = command("sweep", recipe, *options)
    assert (told.code, told.errors) == (0, "")
    assert "4 replays; mean ± standard deviation over 2 seeds" in told.output
    written = results.read_text(encoding="utf-8")
    again = command("sweep", recipe, *options, "--format", "json")
    assert json.loads(again.output)[0]["varied"] == {"load": 1, "seed": 0}
    assert results.read_text(encoding="utf-8") == written


def test_wrong_options_are_refused(
    command: Command, recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.chdir(tmp_path)
    wrong = {
        (): "error: RECIPE: one recipe is needed; name a recipe, or give --sample",
        (recipe, "--sample"): "error: RECIPE: one recipe is needed; name a recipe, or give --sample",
        (recipe, "--vary", "load"): "error: --vary: 'load' names no field with values; write it as",
        (recipe, "--vary", "loads=1"): "error: loads: is not a field of this document; remove it or correct its name",
        (recipe, "--vary", "load=1", "--vary", "load=2"): "error: --vary: names a field twice; list all of its values",
        (recipe, "--output", "results.csv"): "error: --output: 'results.csv' ends in none of .jsonl; choose one",
        (recipe, "--ray", "auto"): "error: --ray: Ray is not installed; install it",
        (recipe, "--ray", "auto", "--workers", "2"): "error: --workers: is given beside --ray, which spreads the work",
    }
    for options, message in wrong.items():
        told = command("sweep", *options)
        assert (told.code, told.output) == (2, ""), options
        assert told.errors.startswith(message), told.errors
