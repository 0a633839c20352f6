"""Reports for tests of the page, the page taken apart, and the browser that opens it."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np

from loadfactor.audit.comparison import ALIKE, Comparison
from loadfactor.audit.costs import Costs
from loadfactor.audit.demo import demo_request
from loadfactor.audit.findings.buying import find_buying
from loadfactor.audit.findings.ordering import find_ordering
from loadfactor.audit.report import AuditReport, audit
from loadfactor.audit.request import record_of
from loadfactor.audit.services import Demand, ServiceRule
from loadfactor.audit.whatif import POLICIES, run_policy, workload_of
from loadfactor.sources.facts import JobInterval
from tests.audit.facts import HOUR, at, fleet, held, record

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HOURS = 8
BROWSER_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")


def browser_path() -> str | None:
    """Return the browser that is installed, or None."""
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


@cache
def demo_report() -> AuditReport:
    """Return the audit of the shipped week with a price and without replays."""
    return audit(record_of(demo_request()), Costs(2.5), replays=False)


@cache
def replayed_report() -> AuditReport:
    """Return the audit of a made-up morning of 16 GPUs, half of them a service's, replayed under every policy once."""
    draw = random.Random(7)
    jobs = [_job(f"job-{number}", draw.choice((1, 2, 4)), draw) for number in range(9)]
    service = held("chat", 8, 0, None, partition="inference", nodes=("n0",))
    begin = at(0) + HOUR * np.arange(HOURS, dtype=np.float64)
    demand = Demand(begin, begin + HOUR, np.tile([2.0, 4.0, 7.0, 3.0], HOURS // 4))
    found = record([service, *jobs], HOURS, fleet(8, 8), rule=ServiceRule(partitions=("inference",)), demand=demand)
    workload = workload_of(found)
    outcomes = {policy: run_policy(policy, workload) for policy in POLICIES}
    measures = {policy: outcome.measures for policy, outcome in outcomes.items()}
    comparison = Comparison(workload, {ALIKE: measures}, {}, outcomes)
    report = audit(found, Costs(3.0, "USD"), replays=False)
    told = {each.rule: each for each in (find_ordering(comparison), find_buying(found, comparison))}
    findings = tuple(told.get(finding.rule, finding) for finding in report.findings)
    return replace(report, comparison=comparison, findings=findings)


def _job(name: str, gpus: int, draw: random.Random) -> JobInterval:
    begin = draw.uniform(0.5, HOURS - 3)
    end = begin + draw.uniform(0.5, 3)
    return held(name, gpus, begin, end, submitted=begin - 0.5, nodes=("n1",), limit_seconds=4 * HOUR)


def busy_jobs(nodes: int, count: int, hours: float, longest: float, largest: int = 8) -> list[JobInterval]:
    """Return jobs of a seed on nodes of 8 GPUs, their GPUs drawn evenly from 1 to `largest`."""
    draw = random.Random(count)
    found = []
    for number in range(count):
        begin = draw.uniform(0, hours - 1)
        end = min(hours, begin + draw.uniform(0.2, longest))
        node = f"n{draw.randrange(nodes)}"
        found.append(held(f"j{number}", draw.randint(1, largest), begin, end, nodes=(node,), user=f"u{number % 90}"))
    return found


class Page(HTMLParser):
    """Takes a page apart into its elements, and the rows of the tables inside each element that has an id."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.rows: dict[str, list[list[str]]] = {}
        self.text = ""
        self._inside, self._id = "", ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag in ("section", "article"):
            self._id = attributes.get("id") or ""
        if tag == "tr":
            self.rows.setdefault(self._id, []).append([])
        if tag in ("td", "th"):
            self.rows[self._id][-1].append("")
        self._inside = tag if tag in ("td", "th") or self._inside not in ("td", "th") else self._inside

    def handle_endtag(self, tag: str) -> None:
        self._inside = "" if tag in ("td", "th", "style") else self._inside

    def handle_data(self, data: str) -> None:
        if self._inside in ("td", "th"):
            self.rows[self._id][-1][-1] += data
        if self._inside != "style":
            self.text += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of every element of one name, in their order."""
        return [attributes for name, attributes in self.elements if name == tag]
