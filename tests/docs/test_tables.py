"""Tables and lists of the pages say what the code says."""

from __future__ import annotations

import re

import pytest

from loadfactor.audit.report import audit
from loadfactor.model import Cluster, Horizon, Job, Metrics, Node, Objective, Plan, Service, Unavailable, limits
from tests.audit.facts import fleet, held, record
from tests.style.source import ROOT

DOCS = ROOT / "docs"


def page(name: str) -> str:
    """Return the text of a page."""
    return (DOCS / name).read_text(encoding="utf-8")


def test_the_limits_are_the_real_ones() -> None:
    told = re.findall(r"^\| `(MAX_\w+)` \| ([\d,]+) \|", page("documents.md"), re.MULTILINE)
    real = {name: value for name, value in vars(limits).items() if name.startswith("MAX_")}
    assert {name: int(value.replace(",", "")) for name, value in told} == real


@pytest.mark.parametrize("noun", [Horizon, Objective, Cluster, Node, Unavailable, Job, Service, Plan])
def test_every_field_is_described(noun: type) -> None:
    text = page("documents.md")
    fields = {field.alias or name for name, field in noun.model_fields.items()}  # type: ignore[attr-defined]
    assert {
        name for name in fields if f"`{name}`" not in text and f".{name}`" not in text and f"{name}[]`" not in text
    } == set()


def test_every_metric_is_defined() -> None:
    assert {name for name in Metrics.model_fields if f"`{name}`" not in page("problem.md")} == set()


def test_every_rule_is_stated_judged_and_modelled() -> None:
    places = {
        "docs/problem.md": page("problem.md"),
        "the judge": _sources("src/loadfactor/judge"),
        "the exact model": _sources("src/loadfactor/policies/full"),
        "the tests of the judge": _sources("tests/judge"),
    }
    missing = [
        (rule, where)
        for rule in ("R1", "R2", "R3", "R4", "R5")
        for where, text in places.items()
        if not re.search(rf"(?i)(?<![a-z0-9]){rule}(?![0-9])", text)
    ]
    assert missing == []


def test_every_word_of_the_field_is_in_the_glossary() -> None:
    text = page("glossary.md")
    words = (
        "cluster node GPU block step horizon grid job service demand shortfall swap churn "
        "plan placement policy value bound gap"
    )
    assert [word for word in words.split() if not re.search(rf"^{word}$", text, re.MULTILINE)] == []


def test_the_thresholds_of_the_audit_are_the_real_ones() -> None:
    told = re.findall(r"^\| `(\w+)` \| .* \| ?([\d.]*) \| .* \|$", page("audit.md"), re.MULTILINE)
    found = audit(record([held("a", 1, 0, 1)], 4, fleet(2)), replays=False).findings
    real = {each.rule: f"{each.threshold.value:g}" if each.threshold else "" for each in found}
    assert dict(told) == real


def test_links_between_the_front_pages_lead_somewhere() -> None:
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        targets = re.findall(r"\]\((?!https?:|#)([^)#]+)[^)]*\)|src=\"(?!https?:)([^\"]+)\"", text)
        missing = [target for pair in targets for target in pair if target and not (ROOT / target).exists()]
        assert missing == [], name


def _sources(folder: str) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / folder).rglob("*.py")))
