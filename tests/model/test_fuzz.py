"""Whatever the document, it is accepted or refused with an `InputError`; nothing else ever comes out."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as some

from loadfactor.errors import InputError
from loadfactor.judge import judge
from loadfactor.model import Plan, Problem, parse_document
from tests.support.examples import PLAN, PROBLEM, small_problem

SCALARS = (
    some.none()
    | some.booleans()
    | some.integers(-3, 12)
    | some.sampled_from([2**31, 2**63, -(2**70), 10**400, 1e308, -0.0])
    | some.floats()
    | some.text(max_size=8)
    | some.sampled_from(["training", "train", "chat", "H100", "2026-12-01T00:00:00Z", "whole_nodes", "\ud800"])
)
VALUES = some.recursive(
    SCALARS,
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value inside `document`."""
    entries = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    return [place for key, value in entries for place in [(*path, key), *places(value, (*path, key))]]


@some.composite
def mutated(draw: Callable[[Any], Any], original: dict[str, Any]) -> dict[str, Any]:
    """Draw `original` with a few of its values replaced, removed or added to."""
    document = deepcopy(original)
    for _ in range(draw(some.integers(1, 3))):
        path = draw(some.sampled_from(places(document)))
        parent = document
        for key in path[:-1]:
            parent = parent[key]
        change = draw(some.sampled_from(["replace", "replace", "replace", "remove", "add"]))
        if change == "remove":
            del parent[path[-1]]
        elif change == "add" and isinstance(parent, dict):
            parent[draw(some.text(max_size=5))] = draw(VALUES)
        else:
            parent[path[-1]] = draw(VALUES)
        if not places(document):
            break
    return document


def accepted_or_refused(make: Callable[[], Any]) -> Any:
    """Return what `make` returns, or None where it raises an `InputError` of readable faults."""
    try:
        return make()
    except InputError as error:
        refusal = error
    assert refusal.faults
    assert all(fault.fact and fault.remedy for fault in refusal.faults)
    assert str(refusal).encode()
    return None


@given(mutated(PROBLEM))
@settings(max_examples=150)
def test_a_mutated_problem(document: dict[str, Any]) -> None:
    problem = accepted_or_refused(lambda: Problem.from_document(document))
    if problem is not None:
        assert Problem.from_document(json.loads(json.dumps(problem.to_document()))) == problem
        assert judge(problem, Plan.from_document(PLAN)).metrics.utilization >= 0


@given(mutated(PLAN))
@settings(max_examples=150)
def test_a_mutated_plan(document: dict[str, Any]) -> None:
    plan = accepted_or_refused(lambda: Plan.from_document(document))
    if plan is not None:
        assert Plan.from_document(json.loads(json.dumps(plan.to_document()))) == plan
        json.dumps(judge(small_problem(), plan).to_document())


@given(VALUES)
def test_any_value_at_all(document: Any) -> None:
    accepted_or_refused(lambda: Problem.from_document(document))
    accepted_or_refused(lambda: Plan.from_document(document))


@given(some.text() | some.binary())
@example("? !!int '' : 1")
@example("a: !!bool x")
@example("{<<: [1]}")
@example("%YAML 9.9\n---\n1")
def test_any_text_at_all(text: str | bytes) -> None:
    accepted_or_refused(lambda: Problem.from_document(parse_document(text)))


@given(mutated(PROBLEM), some.randoms(use_true_random=False))
@settings(max_examples=100)
def test_a_text_with_a_few_wrong_characters(document: dict[str, Any], random: Any) -> None:
    text = list(yaml.safe_dump(document) if random.random() < 0.5 else json.dumps(document))
    for _ in range(random.randint(1, 4)):
        text[random.randrange(len(text))] = random.choice('{}[]:,"&*!-?|>%@ \n\t0x\x00\ue000')
    accepted_or_refused(lambda: Problem.from_document(parse_document("".join(text))))
