"""How an explanation looks in the terminal (golden text), and its document."""

from __future__ import annotations

import json

from rich.console import Console, RenderableType
from syrupy.assertion import SnapshotAssertion

from loadfactor.explain import Explanation, explain
from loadfactor.explain.view import explanation_view
from loadfactor.model import Problem
from tests.explain.examples import job, planned, problem, service


def _night() -> Problem:
    """Everything at once: an outage, running work, a late job, two left out, a service that falls short."""
    return problem(
        8,
        [4, 2],
        horizon={"start": "2026-12-01T22:00:00Z", "step_minutes": 30.0},
        cluster={"unavailable": [{"gpus": [5], "from": 0, "until": 4}]},
        jobs=[
            job("earlier", 5.0, 2, 9, running={"gpus": [0, 1], "remaining": 3}),
            job("nightly", 8.0, 2, 5),
            job("second", 2.0, 2, 3),
            job("wide", 4.0, 4, 4),
            job("picky", 4.0, 1, 1, gpu_types=["H100"]),
        ],
        services=[service("chat", [1, 1, 1, 2, 2, 1, 1, 1], max_swap=1, max_gpus=1)],
    )


def _shown(view: RenderableType) -> str:
    console = Console(width=120, no_color=True)
    with console.capture() as captured:
        console.print(view)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _explained(id_: str | None = None) -> Explanation:
    described = _night()
    return explain(described, planned(described, "backfill"), id_, policy_name="backfill")


def test_the_terminal(snapshot: SnapshotAssertion) -> None:
    assert _shown(explanation_view(_explained())) == snapshot


def test_the_document(snapshot: SnapshotAssertion) -> None:
    document = json.loads(json.dumps(_explained("wide").to_document()))
    assert document["jobs"][0].keys() >= {"status", "summary", "blockers", "opening", "making_way", "changes"}
    assert "plan" not in document["jobs"][0]["changes"][0]
    assert json.dumps(document, indent=1) == snapshot


def test_where_changes_were_not_searched_the_view_says_how_to_ask() -> None:
    described = problem(2, 1, jobs=[job(f"job-{number}", 1.0, 1, 2) for number in range(25)])
    told = explain(described, planned(described, "backfill"), policy_name="backfill")
    assert not any(item.searched for item in told.jobs)
    assert "loadfactor explain PROBLEM job-7" in _shown(explanation_view(told))


def test_brackets_in_names_are_no_markup() -> None:
    described = problem(2, 1, jobs=[job("[red]a[/red]", 1.0, 1, 2)])
    assert "[red]a[/red]" in _shown(explanation_view(explain(described, planned(described, "fifo"))))
