"""The page of an audit: complete, true to the figures, inert whatever the log says, and small whatever the fleet."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from loadfactor.audit.activity import Activity
from loadfactor.audit.charts import MOST_STRETCHES, USES, stretches, week_chart
from loadfactor.audit.costs import Costs
from loadfactor.audit.grid import KINDS, LEVELS, MOST_COLUMNS, MOST_ROWS, grid_shades, grid_svg
from loadfactor.audit.html_page import audit_page
from loadfactor.audit.record import make_record
from loadfactor.audit.report import AuditReport, audit
from loadfactor.audit.services import ServiceRule
from loadfactor.audit.window import Window
from loadfactor.audit.wording import figure, held_against, recoverable, waterfall_rows
from loadfactor.errors import Fault
from loadfactor.model import to_json
from loadfactor.sources.facts import JobInterval, LeftOut, Outage
from tests.audit.facts import HOUR, at, fleet, held, record
from tests.audit.pages import Page, busy_jobs, demo_report

MOST_BYTES = 2_000_000
EVIL = "</td></style><script>alert(1)</script><img src=https://example.org/x onerror='alert(1)'>\"${title}$style"


@pytest.fixture(scope="module")
def demo() -> tuple[AuditReport, Page]:
    """Return the audit of the shipped week, and its page taken apart."""
    return demo_report(), Page(audit_page(demo_report()))


def unpriced(jobs: list[JobInterval], hours: float, *gpus: int, **changes: Any) -> AuditReport:
    """Return the audit of made-up jobs without a price and without replays."""
    return audit(record(jobs, hours, fleet(*gpus), **changes), replays=False)


def test_every_finding_has_its_article_and_the_flagged_come_first(demo: tuple[AuditReport, Page]) -> None:
    report, page = demo
    found = [(str(attributes["id"]), str(attributes["class"])) for attributes in page.named("article")]
    assert sorted(found) == sorted((finding.rule, finding.verdict) for finding in report.findings)
    verdicts = [verdict for _, verdict in found]
    assert verdicts == sorted(verdicts, key=["flagged", "fine", "unknown"].index)
    assert all(finding.sentence in page.text for finding in report.findings)
    assert [row[1] for row in page.rows["glance"][1:]] == [report.finding(rule).title for rule, _ in found]


def test_the_page_states_the_figures_of_the_document(demo: tuple[AuditReport, Page]) -> None:
    report, page = demo
    document = json.loads(to_json(report.to_document()))
    parts = {key: hours for key, hours in document["waterfall_gpu_hours"].items() if hours > 0}
    assert [row[1:4] for row in page.rows["waterfall"][1:]] == [
        [f"{hours:,.0f}", f"{100 * hours / parts['installed']:.1f}", f"{2.5 * hours:,.0f}"] for hours in parts.values()
    ]
    assert [row[0] for row in page.rows["waterfall"][1:]] == [name for _, name, _ in waterfall_rows(report)]
    assert {row[1]: row[2] for row in page.rows["glance"][1:]} == {
        each["title"]: "unknown" if each["value"] is None else figure(report.finding(each["rule"]))
        for each in document["findings"]
    }
    assert {row[1]: row[3:] for row in page.rows["glance"][1:]} == {
        finding.title: [held_against(finding), recoverable(report, finding)] for finding in report.findings
    }
    assert document["verdict"] in page.text
    assert f"{100 * document['wasted_share']:.1f} %" in page.text


def test_every_row_of_evidence_is_there(demo: tuple[AuditReport, Page]) -> None:
    report, page = demo
    for finding in report.findings:
        rows = [[f"{c:,}" if isinstance(c, int | float) else c or "" for c in row] for row in finding.evidence.rows]
        assert page.rows.get(finding.rule, [[]])[1:] == rows


def test_the_bars_of_the_waterfall_hand_over_to_each_other() -> None:
    seen = Activity(np.array([0]), np.array([at(0)]), np.array([at(4)]), np.array([0.5]))
    jobs = [held("a", 4, 0, 5, nodes=("n0",)), held("b", 2, 3, 8, nodes=("n0",))]
    report = unpriced(jobs, 10, 8, activity=seen)
    bars = re.findall(r'data-part="(\w+)">.*?<rect x="([\d.]+)" width="([\d.]+)"', audit_page(report))
    spans = {key: (float(x), float(x) + float(width)) for key, x, width in bars}
    losses = [loss.key for loss in report.losses if loss.gpu_hours > 0]
    assert spans["installed"] == (0, 1000)
    assert len(losses) > 1
    level = 1000.0
    for key in (*losses, "of_unknown_activity"):
        begin, end = spans[key]
        assert end == pytest.approx(level, abs=0.2)
        level = begin
    assert spans["useful"] == pytest.approx((0, level), abs=0.2)


def test_names_cannot_leave_their_places() -> None:
    jobs = [
        held(f"{number}{EVIL}", 3, number, number + 1, nodes=(EVIL,), user=EVIL, limit_seconds=90 * HOUR)
        for number in range(4)
    ]
    nodes = fleet(8)
    left = (LeftOut(Fault("row 1", EVIL, "leave it")),)
    found = make_record(EVIL, jobs, nodes, Window(at(0), at(9), UTC), left_out=left, notes=(EVIL,))
    written = audit_page(audit(found, Costs(1.0, EVIL), replays=False))
    page, plain = Page(written), Page(audit_page(demo_report()))
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in plain.elements}
    names = {name for _, attributes in page.elements for name in attributes}
    assert names <= {name for _, attributes in plain.elements for name in attributes}
    assert f"Audit of {EVIL}" in page.text
    assert any(EVIL in row[0] for row in page.rows["limits"][1:])
    assert EVIL in page.rows["waterfall"][0]
    assert page.text.count(EVIL) >= 6


def test_the_page_asks_for_nothing_and_runs_nothing() -> None:
    written = audit_page(demo_report())
    page = Page(written)
    policy = next(each["content"] for each in page.named("meta") if "http-equiv" in each)
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert not page.named("script")
    assert not page.named("link")
    assert {link["href"] for link in page.named("a")} == {f"#{each['id']}" for each in page.named("article")}
    assert not re.findall(r"url\((?!#)|@import|\bsrc=", written)
    assert set(re.findall(r"https?://[^\s\"'<]+", written)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_a_log_of_one_job_without_its_submission_still_makes_a_page() -> None:
    job = held("a", 4, 0, None, submitted=None, nodes=("n0",))
    page = Page(audit_page(unpriced([job], 24, 8)))
    assert "The log does not say when jobs were submitted." in page.text
    assert [row[:3] for row in page.rows["waterfall"][1:]] == [
        ["installed", "192", "100.0"],
        ["free, and no work waited", "96", "50.0"],
        ["held by jobs and services", "96", "50.0"],
    ]
    assert not re.findall(r"\b(nan|inf|None)\b", page.text)


@pytest.mark.parametrize(
    ("nodes", "jobs", "hours", "longest"), [(1250, 400, 168, 30), (16, 9000, 336, 3), (32, 1000, 24 * 90, 50)]
)
def test_the_page_is_small(nodes: int, jobs: int, hours: float, longest: float) -> None:
    report = unpriced(busy_jobs(nodes, jobs, hours, longest), hours, *[8] * nodes)
    assert len(audit_page(report).encode()) < MOST_BYTES
    rows, columns = grid_shades(report).shape
    assert rows <= MOST_ROWS
    assert columns <= MOST_COLUMNS
    assert len(stretches(report)) <= MOST_STRETCHES


def test_stretches_lose_no_gpu_hour_and_no_moment() -> None:
    report = unpriced(busy_jobs(2, 50, 24 * 40, 60), 24 * 40, 8, 8)
    parts = stretches(report)
    assert [part["end"] for part in parts[:-1]] == [part["begin"] for part in parts[1:]]
    for use in USES:
        hours = sum(part[use] * (part["end"] - part["begin"]) / HOUR for part in parts)
        assert hours == pytest.approx(report.record.hours(use))


def test_an_hour_that_the_clock_has_twice_does_not_lie_over_itself() -> None:
    zone = ZoneInfo("Europe/Berlin")
    begin = datetime(2026, 10, 24, 22, tzinfo=zone).timestamp()
    span = Window(begin, begin + 10 * HOUR, zone)
    job = held("a", 8, (begin - at(0)) / HOUR, (begin - at(0)) / HOUR + 10, nodes=("n0",))
    svg = week_chart(audit(make_record("test", [job], fleet(8), span), replays=False))
    outline = re.search(rf'd="([^"]*)"[^>]*fill="{USES["jobs"][1]}"', svg)
    assert outline is not None
    points = [tuple(map(float, point)) for point in re.findall(r"(-?[\d.]+),(-?[\d.]+)", outline[1])]
    assert max(y for _, y in points) == 190
    assert {y for _, y in points} == {0, 190}


def test_a_cell_has_its_largest_use_and_a_shade_for_how_much_it_was() -> None:
    jobs = [
        held("a", 1, 0, 1.5, nodes=("n0",)),
        held("s", 1, 2, None, nodes=("n1",), partition="inference"),
    ]
    outage = Outage(node="n2", began=at(1), ended=at(3))
    report = unpriced(jobs, 3, 1, 1, 1, rule=ServiceRule(partitions=("inference",)), outages=(outage,))
    job, service, out = (LEVELS * (1 + kind) for kind in range(len(KINDS)))
    assert grid_shades(report).tolist() == [[job, job - LEVELS // 2, 0], [0, 0, service], [0, out, out]]
    svg = grid_svg(report)
    assert re.findall(r'<path class="(\w+)"[^>]*?(?:opacity="([\d.]+)")? d="([^"]*)"', svg) == [
        ("jobs", "0.5", "M1 0h1v.9h-1z"),
        ("jobs", "", "M0 0h1v.9h-1z"),
        ("services", "", "M2 1h1v.9h-1z"),
        ("unavailable", "", "M1 2h2v.9h-2z"),
    ]


def test_a_row_of_several_gpus_is_as_full_as_these_were() -> None:
    jobs = [held("a", 4, 0, 1, nodes=("n0",))]
    shades = grid_shades(unpriced(jobs, 1, *[8] * 128))
    assert shades.shape == (128, 1)
    assert shades[0, 0] == LEVELS // 2
    assert not shades[1:].any()
