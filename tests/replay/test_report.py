"""The report: the table, the page and the document; the same recipe gives the same bytes of each."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from loadfactor.model import to_json
from loadfactor.replay.build import build_scenario
from loadfactor.replay.html_page import html_report
from loadfactor.replay.report import MOST_POINTS, ReplayReport, replay_report
from loadfactor.replay.rows import sections
from loadfactor.replay.view import replay_view
from tests.replay.stories import small_recipe
from tests.style.source import ROOT


def report_in(directory: Path) -> ReplayReport:
    return replay_report(build_scenario(small_recipe(directory, load=2.0)))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> ReplayReport:
    return report_in(tmp_path_factory.mktemp("small"))


def shown(report: ReplayReport, timing: bool = False) -> str:
    console = Console(file=io.StringIO(), width=140)
    console.print(replay_view(report, timing))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_table(report: ReplayReport, snapshot: SnapshotAssertion) -> None:
    assert shown(report) == snapshot


def test_the_same_recipe_gives_the_same_bytes(report: ReplayReport, tmp_path: Path) -> None:
    again = report_in(tmp_path)
    assert to_json(again.to_document(timing=False)) == to_json(report.to_document(timing=False))
    assert html_report(again, timing=False) == html_report(report, timing=False)


def test_time_stands_apart(report: ReplayReport) -> None:
    document = report.to_document()
    assert set(document["timing"]) == {"fifo+peak", "priority+reactive"}
    assert "timing" not in report.to_document(timing=False)
    assert "_ms" not in json.dumps(report.to_document(timing=False))
    assert "p99 (ms)" in shown(report, timing=True)
    assert "p99 (ms)" not in shown(report)


def test_another_seed_is_another_story(report: ReplayReport, tmp_path: Path) -> None:
    other = replay_report(build_scenario(small_recipe(tmp_path, load=2.0, seed=5)))
    assert other.measures[0].value != report.measures[0].value


def test_a_bound_has_a_column_of_its_own(report: ReplayReport) -> None:
    bounded = replace(report, bound={"utilization": 0.875})
    assert "bound" in shown(bounded)
    assert "87.5%" in shown(bounded)
    assert "87.5%" in html_report(bounded)
    assert bounded.to_document()["bound"] == {"utilization": 0.875}


@pytest.mark.parametrize("seed", range(3))
def test_no_policy_exceeds_what_is_reachable(tmp_path: Path, seed: int) -> None:
    """A small cluster, so that jobs compete; at a load of 4 the bound on utilization is close."""
    recipe = small_recipe(tmp_path, seed=seed, cluster="2x8", load=4.0, drain_days=1, step_seconds=300)
    bounded = replay_report(build_scenario(recipe), bounded=True)
    assert bounded.bound is not None
    for name in ("objective", "value", "utilization"):
        assert all(getattr(measures, name) <= bounded.bound[name] + 1e-6 for measures in bounded.measures), name
    assert bounded.bound["objective"] <= bounded.bound["value"]
    assert bounded.bound["value"] <= 3 * bounded.measures[1].value  # far, but not a number without meaning


def test_the_page_needs_no_network_and_runs_no_script(report: ReplayReport) -> None:
    page = html_report(report)
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert not re.findall(r"(?:src|href)=\"?https?:", page)
    assert page.count("<svg") == 5
    assert page.count('role="img"') >= 5


def test_the_page_escapes_what_recipes_say(report: ReplayReport) -> None:
    recipe = report.scenario.recipe.model_copy(update={"name": "<b>week</b>"})
    page = html_report(replace(report, scenario=replace(report.scenario, recipe=recipe)))
    assert "<b>week" not in page
    assert "&lt;b&gt;week" in page


def test_series_are_means_that_add_up_to_the_cluster(report: ReplayReport) -> None:
    for outcome in report.outcomes:
        assert 0 < len(outcome.series) <= MOST_POINTS
        for point in outcome.series:
            parts = (point.jobs, point.services, point.overhead, point.spare, point.idle, point.lost)
            assert sum(parts) == pytest.approx(16)


def test_every_row_is_explained_on_the_page_of_the_docs() -> None:
    text = (ROOT / "docs" / "replay.md").read_text(encoding="utf-8")
    rows = [row for title, rows in sections(timing=True).items() for row in rows]
    assert [row.label.strip() for row in rows if f"| {row.label.strip()} |" not in text] == []
