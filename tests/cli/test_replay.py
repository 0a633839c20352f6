"""`loadfactor replay`."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from tests.cli.conftest import Command
from tests.replay.stories import recipe_document

SAMPLE = ("--sample", "--policies", "fifo+peak,priority+reactive", "--days", "2")


def test_the_sample_in_figures(command: Command) -> None:
    told = command("replay", *SAMPLE)
    assert (told.code, told.errors) == (0, "")
    assert told.output.startswith("sample-week: ")
    assert "Policies side by side" in told.output
    assert "priority+reactive" in told.output


def test_the_report_as_a_document_twice_the_same(command: Command, tmp_path: Path) -> None:
    first = command("replay", *SAMPLE, "--format", "json", "--no-timing", "--output", str(tmp_path / "report.json"))
    second = command("replay", *SAMPLE, "--format", "json", "--no-timing")
    assert (first.code, first.output) == (0, second.output)
    assert (tmp_path / "report.json").read_text(encoding="utf-8") == first.output
    document = json.loads(first.output)
    assert [each["policy"] for each in document["policies"]] == ["fifo+peak", "priority+reactive"]
    assert "timing" in json.loads(command("replay", *SAMPLE, "--format", "json").output)


def test_the_page_is_written(command: Command, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert command("replay", *SAMPLE, "--html", str(page)).code == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_recipe_with_options_over_it(command: Command, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(yaml.safe_dump(recipe_document(tmp_path)), encoding="utf-8")
    told = command("replay", str(recipe), "--load", "2", "--seed", "4", "--format", "json")
    document = json.loads(told.output)
    assert (document["recipe"]["load"], document["recipe"]["seed"]) == (2.0, 4)


def test_wrong_options_are_refused(command: Command, tmp_path: Path) -> None:
    wrong = {
        (): "error: RECIPE: nothing to replay is named; name a recipe, logs with --jobs, or --sample",
        ("--sample", "recipe.yaml"): "error: --sample: is a recipe of its own, and RECIPE is given too; leave one",
        ("--sample", "--policies", "best"): "error: policies[0]: 'best' is no policy that can be replayed; choose",
        ("--sample", "--policies", "fast,"): "error: --policies: 'fast,' has an empty name; write it as",
        ("--sample", "--peak-share", "2"): "error: peak_share: is 2.0, and must be at most 1; lower it",
        ("--sample", "--html", "report.pdf"): "error: --html: 'report.pdf' ends in none of .html; choose",
        ("--sample", "--run-times", "guessed"): "error: knowledge.run_times: is 'guessed', and must be",
        ("--jobs", "none.csv", "--cluster", "2x8"): "error: --jobs-preset: 0 for 1 files; give",
        ("--jobs", "none.csv", "--jobs-preset", "swf", "--cluster", "2x8"): "error: none.csv: cannot be read (No such",
        (str(tmp_path / "none.yaml"),): f"error: {tmp_path}/none.yaml: ",
    }
    for options, message in wrong.items():
        told = command("replay", *options)
        assert (told.code, told.output) == (2, ""), options
        assert told.errors.startswith(message), told.errors
