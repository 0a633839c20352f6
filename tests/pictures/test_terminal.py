"""The grid in the terminal: golden for a small plan, and what must hold on any console and at any size."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from loadfactor.model import Plan, Problem
from loadfactor.pictures import terminal_grid

from .examples import SMALL, made_up, small_plan, small_problem


def printed(problem: Problem, plan: Plan, width: int = 120, *, colour: bool = False, encoding: str = "utf-8") -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(
        file=file,
        width=width,
        force_terminal=colour,
        color_system="truecolor" if colour else None,
        legacy_windows=False,
    )
    console.print(terminal_grid(problem, plan))
    file.seek(0)
    return file.read()


def test_small_plan_without_colour(snapshot: SnapshotAssertion) -> None:
    assert printed(small_problem(), small_plan()) == snapshot


def test_small_plan_in_colour(snapshot: SnapshotAssertion) -> None:
    assert printed(small_problem(), small_plan(), colour=True).replace("\x1b", "ESC") == snapshot


def test_small_plan_on_a_terminal_that_knows_only_ascii(snapshot: SnapshotAssertion) -> None:
    text = printed(small_problem(), small_plan(), encoding="ascii")
    assert text.isascii()
    assert text == snapshot


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize(
    "size", [(1, 5, 1, 7), (8, 40, 2, 48), (1280, 300, 20, 96), (2, 10, 1, 10_000), (200, 100, 3, 500)]
)
def test_no_line_is_wider_than_the_console(size: tuple[int, int, int, int], width: int) -> None:
    lines = printed(*made_up(*size), width=width).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert len(lines) <= 64 + 12 + 30


def test_large_clusters_and_long_horizons_say_what_was_grouped() -> None:
    text = printed(*made_up(1280, 500, 20, 960), width=100)
    assert "each row is up to 160 GPUs; the shade is the share of them that is busy" in text
    assert "each column is 12 steps" in text
    assert any(glyph in text for glyph in "░▒▓")


def test_shortfall_is_written_under_the_steps_where_it_occurs() -> None:
    lines = printed(small_problem(), small_plan(), width=120).splitlines()
    (row,) = [line for line in lines if line.startswith("chat")]
    steps = next(line for line in lines if line.lstrip().startswith("step"))
    shown = [at for at, glyph in enumerate(row) if glyph == "1"]
    assert len(shown) == 4
    assert steps.index("10") <= shown[0] < shown[-1] <= steps.index("14")


def test_unplaced_jobs_are_named() -> None:
    assert "not placed: too-big" in printed(small_problem(), small_plan())


def test_ids_cannot_command_the_terminal() -> None:
    jobs = [{"id": "\x9b2J\u202eevil\u200b", "kind": "training", "priority": 1.0, "gpus": 8, "duration": 20}]
    problem = small_problem(jobs=jobs, services=[])
    plan = Plan.from_document(
        {"problem": "p", "policy": "x", "jobs": [{"id": jobs[0]["id"], "start": 0, "end": 20, "gpus": list(range(8))}]}
    )
    text = printed(problem, plan)
    assert "evil" in text
    assert "\x9b" not in text
    assert "\u202e" not in text


def test_wide_letters_keep_the_grid_straight() -> None:
    jobs = [{**SMALL["jobs"][0], "id": "日本語訓練"}]
    plan = Plan.from_document(
        {"problem": "p", "policy": "x", "jobs": [{"id": "日本語訓練", "start": 0, "end": 10, "gpus": [0, 1, 2, 3]}]}
    )
    lines = printed(small_problem(jobs=jobs, services=[]), plan).splitlines()
    rows = [line for line in lines if "│[" in line]
    assert len(rows) == 4
    assert len({cell_len(line[: line.rindex("]")]) for line in rows}) == 1


def test_a_horizon_without_start_counts_steps_only() -> None:
    text = printed(*made_up(1, 3, 1, 20, start=None))
    assert "step" in text
    assert "UTC" not in text
