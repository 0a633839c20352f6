"""The page: complete, inert whatever its texts say, free of the network, and readable without the drawing."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest

from loadfactor.errors import InputError
from loadfactor.model import Metrics, Plan
from loadfactor.pictures import html_picture

from .examples import SMALL, made_up, small_plan, small_problem

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"


class Page(HTMLParser):
    """Takes a page apart into its elements, the text of its scripts and the rest of its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def specification(self) -> Any:
        return json.loads(self.scripts[0])


def other_plan() -> Plan:
    metrics = Metrics(
        utilization=0.7, value=700.0, batch_reward=900.0, shortfall_penalty=200.0,
        shortfall_gpu_steps=3, jobs_finished=6, churn=8,
    )  # fmt: skip
    return small_plan().model_copy(update={"policy": "other", "metrics": metrics, "jobs": small_plan().jobs[:-1]})


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(html_picture(small_problem(), [small_plan(), other_plan()], "Two plans"))


def test_every_job_is_in_the_drawing_and_in_the_tables(page: Page) -> None:
    drawn = page.scripts[0]
    for placement in small_plan().jobs:
        assert f'"title":"{placement.id}"' in drawn
    for job in small_problem().jobs:
        assert job.id in page.text
    assert "not placed needs a whole node for 20 steps" in page.text


def test_hover_tells_job_and_service_stories(page: Page) -> None:
    text = page.scripts[0]
    assert '"submit":"step 8"' in text
    assert '"waited":"2 steps"' in text
    assert '"clock":"Tue 1 Dec 10:00 to 19:00"' in text
    assert '"submit":"inherited, already running"' in text
    assert '"demand":4.0,"held":3.0' in text


def test_metrics_are_compared_with_their_difference(page: Page) -> None:
    assert "+10.0 points" in page.text
    assert "+87.5 (+14.3 %)" in page.text
    assert "\N{MINUS SIGN}88 (-30.6 %)" in page.text


def test_shortfall_is_in_the_drawing_and_in_words(page: Page) -> None:
    assert '"shortfall":1.0' in page.scripts[0]
    assert "4 GPU-steps: 1 in steps [10, 14)" in page.text


def test_texts_of_users_stay_texts() -> None:
    jobs = [{**SMALL["jobs"][0], "id": EVIL}]
    services = [{**SMALL["services"][0], "id": f"svc{EVIL}"}]
    document = {
        "problem": "p", "policy": EVIL, "unplaced": [],
        "jobs": [{"id": EVIL, "start": 0, "end": 10, "gpus": [0, 1, 2, 3]}],
    }  # fmt: skip
    cluster = {"nodes": [{"name": f"n{EVIL}", "gpus": 8}, {"name": "b", "gpus": 4}]}
    problem = small_problem(name=EVIL, jobs=jobs, services=services, cluster=cluster)
    page = Page(html_picture(problem, [Plan.from_document(document)], EVIL))
    assert len(page.scripts) == 3
    assert not set("<>&") & set(page.scripts[0])
    assert not page.named("img")
    assert EVIL in page.text
    assert EVIL in json.dumps(page.specification())


def test_the_policy_admits_only_the_scripts_of_the_page(page: Page) -> None:
    (policy,) = [each["content"] for each in page.named("meta") if "http-equiv" in each]
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    hashes = {b64encode(sha256(script.encode()).digest()).decode() for script in page.scripts[1:]}
    assert set(re.findall(r"'sha256-([^']+)'", policy)) == hashes


def test_nothing_is_fetched(page: Page) -> None:
    loading = {"src", "href", "data", "action", "srcset", "poster"}
    assert not [(tag, attrs) for tag, attrs in page.elements if loading & attrs.keys()]
    assert '"url"' not in page.scripts[0]


def test_the_page_says_what_it_is_to_those_who_cannot_see_it(page: Page) -> None:
    assert page.named("html")[0]["lang"] == "en"
    assert "Two plans" in page.text
    (picture,) = [each for each in page.named("div") if each.get("role") == "img"]
    assert "by hand: utilization 60.0 %" in str(picture["aria-label"])
    assert picture["tabindex"] == "0"
    assert len(page.named("details")) == 3
    assert all("scope" in each for each in page.named("th"))


def test_both_plans_share_one_time_axis(page: Page) -> None:
    spec = page.specification()
    assert [column["title"]["text"] for column in spec["vconcat"]] == ["a small day: by hand", "a small day: other"]
    grids = [column["vconcat"][0] for column in spec["vconcat"]]
    domains = {
        json.dumps(layer["encoding"]["x"]["scale"]["domain"])
        for grid in grids
        for layer in grid["layer"]
        if "x" in layer.get("encoding", {})
    }
    assert domains == {'{"expr": "x_domain"}'}


def test_a_large_plan_stays_a_file_that_opens() -> None:
    page = html_picture(*_with_list(*made_up(1280, 2000, 20, 96)), "large")
    assert len(page) < 6_000_000


def _with_list(problem: Any, plan: Any) -> tuple[Any, list[Any]]:
    return problem, [plan]


def test_no_plan_is_refused() -> None:
    with pytest.raises(InputError, match="plans: there is no plan to draw; give at least one"):
        html_picture(small_problem(), [], "none")
