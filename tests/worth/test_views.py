"""How the worth of hardware looks: golden text, and charts that need no network."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from loadfactor.model import Problem
from loadfactor.worth import worth
from loadfactor.worth.chart import worth_chart
from loadfactor.worth.view import BAR_CELLS, bar, sparkline, worth_view
from tests.worth import examples


@pytest.mark.parametrize("example", [examples.badly_planned, examples.short_of_gpus])
def test_the_terminal(example: Callable[..., Problem], snapshot: SnapshotAssertion) -> None:
    told = worth(example(start="2026-12-01T00:00:00Z"), policy_name="backfill")
    text = Console(width=110, no_color=True)
    with text.capture() as shown:
        text.print(worth_view(told))
    assert shown.get() == snapshot


def test_without_prices_the_view_says_so() -> None:
    console = Console(width=110, no_color=True)
    with console.capture() as shown:
        console.print(worth_view(worth(examples.short_of_work(), policy_name="backfill", price_seconds=0)))
    assert "The price of a GPU was not computed" in shown.get()


def test_the_chart_is_self_contained() -> None:
    told = worth(examples.badly_planned(), policy_name="backfill")
    page = worth_chart(told)
    assert not re.search(r"<(?:script|link)[^>]+(?:src|href)=", page)
    assert "What GPUs are worth: by hand" in page
    drawing = worth_chart(told, "svg")
    assert drawing.startswith("<svg")
    assert "fifo would need 4 GPUs" in " ".join(re.sub(r"<[^>]+>", " ", drawing).split())


@pytest.mark.parametrize(("share", "cells"), [(0.0, 0), (0.5, BAR_CELLS // 2), (1.0, BAR_CELLS), (7.0, BAR_CELLS)])
def test_a_bar_is_as_long_as_its_share(share: float, cells: int) -> None:
    assert bar(share) == "█" * cells


def test_a_sparkline_shows_the_smallest_worth_and_blanks_for_nothing() -> None:
    assert sparkline((0.0, 0.01, 4.0, 8.0)) == " ▁▄█"
    assert sparkline((0.0, 0.0)) == "  "
