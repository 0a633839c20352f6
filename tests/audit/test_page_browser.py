"""The page of an audit in a real browser: drawn, quiet, alone, never wider than its window, and true to the figures."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, sync_playwright

from loadfactor.audit.html_page import audit_page
from loadfactor.audit.report import AuditReport
from loadfactor.model import to_json
from tests.audit.pages import BROWSER_ARGUMENTS, browser_path, demo_report, replayed_report

Scheme = Literal["light", "dark"]
VIEWS: list[tuple[int, Scheme]] = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
MARKS = {
    "week": (".mark-area path", 2),
    "heat": (".mark-rect path", 8),
    "grid": ("g[transform] > path", 3),
    "orders": (".mark-area path", 6),
    "blocks": (".mark-rect path", 1),
    "sizes": (".mark-rect path", 1),
}
"""For every section with a picture: what its marks are, and the least number of them."""
PAPER = {"width": 703, "height": 1032}
"""A4 within its margins of 12 mm, in pixels of 1/96 inch."""
MOST_SHEETS = 6

MEASURED = """selector => [...document.querySelectorAll(selector)].map(mark => {
  const box = mark.getBoundingClientRect(); return [box.width, box.height]; })"""
CLIPPED = """() => [...document.querySelectorAll('figure text')].filter(text => {
  const inner = text.getBoundingClientRect(), outer = text.closest('figure').getBoundingClientRect();
  const frame = text.closest('.scroll');
  return inner.width && (inner.left < outer.left || inner.right > outer.left + frame.scrollWidth + 20
    || inner.top < outer.top || inner.bottom > outer.bottom);
}).map(text => text.textContent)"""
ROWS = """id => [...document.querySelectorAll(`#${id} tbody tr`)].map(
  row => [...row.cells].map(cell => cell.textContent))"""
BARS = """() => [...document.querySelectorAll('#waterfall tbody tr')].map(row => {
  const bar = row.querySelector('rect').getBoundingClientRect();
  return [bar.width / row.querySelector('svg').getBoundingClientRect().width, bar.height]; })"""
PANELS = "body, figure, figure svg > rect, figure path.background"
LIGHT_PANELS = """selector => [...document.querySelectorAll(selector)].filter(panel => {
  const style = getComputedStyle(panel), colour = panel.closest('svg') ? style.fill : style.backgroundColor;
  const parts = (colour.match(/[\\d.]+/g) || []).map(Number);
  return parts.length >= 3 && parts[3] !== 0 && Math.min(...parts.slice(0, 3)) > 200;
}).map(panel => panel.outerHTML.slice(0, 80))"""


@dataclass
class Opened:
    """A page that a browser has open, what its console said, and what it asked for."""

    page: Any
    address: str
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start the browser that is installed."""
    path = browser_path()
    if path is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(BROWSER_ARGUMENTS))
        yield started
        started.close()


@pytest.fixture(scope="module", params=["week", "replayed"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[AuditReport, Path]:
    """Write the page of the shipped week, or of a made-up morning with its replays."""
    report = demo_report() if request.param == "week" else replayed_report()
    file = tmp_path_factory.mktemp("page") / "audit.html"
    file.write_text(audit_page(report), encoding="utf-8")
    return report, file


@pytest.fixture
def opened(
    browser: Browser, written: tuple[AuditReport, Path], request: pytest.FixtureRequest
) -> Iterator[tuple[AuditReport, Opened]]:
    """Open the page in one of VIEWS, or as the test says."""
    report, file = written
    view: tuple[int, Scheme] = getattr(request, "param", VIEWS[0])
    width, scheme = view
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    found = Opened(page, file.as_uri())
    page.on("console", lambda message: found.said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: found.said.append(str(error)))
    page.on("request", lambda asked: found.asked.append(asked.url))
    page.goto(found.address)
    yield report, found
    page.close()


@pytest.mark.parametrize("opened", VIEWS, indirect=True)
def test_it_is_quiet_alone_and_fits_its_window(opened: tuple[AuditReport, Opened]) -> None:
    _, found = opened
    found.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    found.page.wait_for_timeout(100)
    assert found.said == []
    assert found.asked == [found.address]
    widths = found.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth, document.body.scrollWidth]")
    assert widths[0] <= widths[1]
    assert widths[2] <= widths[1]


@pytest.mark.parametrize("opened", VIEWS, indirect=True)
def test_every_picture_is_drawn_and_no_label_leaves_its_frame(opened: tuple[AuditReport, Opened]) -> None:
    report, found = opened
    for section, (selector, least) in MARKS.items():
        if section == "orders" and report.comparison is None:
            continue
        marks = found.page.evaluate(MEASURED, f"#{section} figure svg {selector}")
        drawn = [mark for mark in marks if mark[0] > 0 and mark[1] > 0]
        assert len(drawn) >= least, section
    assert found.page.evaluate(CLIPPED) == []


@pytest.mark.parametrize("opened", [(1280, "dark")], indirect=True)
def test_no_panel_is_white_on_a_dark_screen(opened: tuple[AuditReport, Opened]) -> None:
    _, found = opened
    assert found.page.evaluate(LIGHT_PANELS, PANELS) == []
    found.page.emulate_media(color_scheme="light")
    assert len(found.page.evaluate(LIGHT_PANELS, PANELS)) > 1


def test_what_is_seen_is_what_the_document_says(opened: tuple[AuditReport, Opened]) -> None:
    report, found = opened
    document = json.loads(to_json(report.to_document()))
    assert found.page.inner_text(".verdict") == document["verdict"]
    tiles = found.page.inner_text(".tiles")
    assert f"{document['installed_gpu_hours']:,.0f}" in tiles
    assert f"{100 * document['wasted_share']:.1f} %" in tiles
    parts = {key: hours for key, hours in document["waterfall_gpu_hours"].items() if hours > 0}
    assert [row[1] for row in found.page.evaluate(ROWS, "waterfall")] == [f"{hours:,.0f}" for hours in parts.values()]
    for (share, height), hours in zip(found.page.evaluate(BARS), parts.values(), strict=True):
        assert share == pytest.approx(max(0.003, hours / parts["installed"]), abs=0.001)
        assert height > 5
    for finding in document["findings"]:
        assert finding["sentence"] in found.page.inner_text(f"#{finding['rule']} .fact")
    told = {row[1]: row[2] for row in found.page.evaluate(ROWS, "glance")}
    for finding in document["findings"]:
        number = re.match(r"-?[\d,]+(\.\d)?", told[finding["title"]])
        assert (number is None) == (finding["value"] is None)
        if number is not None:
            assert float(number[0].replace(",", "")) == pytest.approx(finding["value"], abs=0.0501)


def test_the_replays_are_those_of_the_document(opened: tuple[AuditReport, Opened]) -> None:
    report, found = opened
    if report.comparison is None:
        assert "Nothing was replayed." in found.page.inner_text("#orders")
        return
    evidence = json.loads(to_json(report.to_document()))["findings"]
    rows = next(finding["evidence"] for finding in evidence if finding["rule"] == "ordering")
    shown = found.page.evaluate(ROWS, "orders")
    assert [(row[1], row[2], row[3]) for row in shown] == [
        (row["policy"], f"{row['utilization, %']:.1f}", f"{row['value']:,.1f}") for row in rows
    ]
    assert f"{report.finding('ordering').value:+.1f} %" in found.page.inner_text(".tiles")


def test_it_prints_on_few_sheets_and_the_first_has_the_findings(opened: tuple[AuditReport, Opened]) -> None:
    _, found = opened
    found.page.emulate_media(media="print")
    found.page.set_viewport_size(PAPER)
    first = found.page.evaluate("document.querySelector('.first').getBoundingClientRect().bottom")
    assert first <= PAPER["height"]
    assert found.page.evaluate("document.documentElement.scrollWidth") <= PAPER["width"]
    sheets = found.page.pdf(format="A4", prefer_css_page_size=False, print_background=False)
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b(?!s)", sheets)) <= MOST_SHEETS
