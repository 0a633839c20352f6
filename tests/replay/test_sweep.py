"""Sweeps: every combination, resumed where it stopped, and a table with mean and spread over seeds."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from loadfactor.errors import InputError
from loadfactor.replay.runners import in_this_process, processes, ray_cluster
from loadfactor.replay.sweep import Point, Result, parse_variation, points_of, read_results, run_sweep
from loadfactor.replay.sweep_view import grouped, sweep_view
from tests.replay.stories import recipe_document

VARIED: dict[str, list[Any]] = {"load": [1.0, 2.0], "seed": [0, 1]}


class Counted:
    """Runs points in this process, up to a number of them, and counts them."""

    def __init__(self, most: int = 1_000) -> None:
        self.most, self.ran = most, 0

    def __call__(self, points: Sequence[Point]) -> Iterator[Result]:
        for point in points[: self.most]:
            self.ran += 1
            yield from in_this_process([point])


@pytest.fixture
def points(tmp_path: Path) -> list[Point]:
    return points_of(recipe_document(tmp_path), tmp_path, VARIED)


def without_timing(results: Sequence[Result]) -> list[Result]:
    return [{name: value for name, value in result.items() if name != "timing"} for result in results]


def test_every_combination_under_every_policy(points: list[Point]) -> None:
    assert len({point.key for point in points}) == len(points) == 8
    assert [(point.varied["load"], point.varied["seed"], point.policy) for point in points[:3]] == [
        (1.0, 0, "fifo+peak"), (1.0, 0, "priority+reactive"), (1.0, 1, "fifo+peak"),
    ]  # fmt: skip
    assert points[-1].recipe().load == 2.0


def test_a_sweep_goes_on_where_it_stopped(points: list[Point], tmp_path: Path) -> None:
    whole = run_sweep(points, tmp_path / "whole.jsonl", Counted())
    path = tmp_path / "results.jsonl"
    with pytest.raises(KeyError):  # the runner stops early
        run_sweep(points, path, Counted(most=3))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"key": "cut o')
    assert len(read_results(path, points)) == 3
    told: list[tuple[int, int]] = []
    again = Counted()
    results = run_sweep(points, path, again, lambda done, total: told.append((done, total)))
    assert again.ran == 5
    assert told == [(done, 8) for done in range(3, 9)]
    assert without_timing(results) == without_timing(whole)
    assert len(path.read_text(encoding="utf-8").splitlines()) == 8
    assert run_sweep(points, path, Counted(most=0)) == results


def test_a_changed_recipe_is_another_sweep(points: list[Point], tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    run_sweep(points[:1], path, Counted())
    changed = points_of(recipe_document(tmp_path, peak_share=0.2), tmp_path, VARIED)
    with pytest.raises(InputError, match=r"--output: 'results.jsonl' has 1 results, and none is of this sweep"):
        read_results(path, changed)


def test_a_file_that_is_no_sweep_is_refused_and_kept(points: list[Point], tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text("dear diary\n{}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"notes.jsonl:1: is no line of a sweep; name another --output"):
        run_sweep(points, path, Counted())
    assert path.read_text(encoding="utf-8") == "dear diary\n{}\n"


def test_processes_give_what_one_process_gives(points: list[Point], tmp_path: Path) -> None:
    here = run_sweep(points[:3], tmp_path / "a.jsonl", in_this_process)
    there = run_sweep(points[:3], tmp_path / "b.jsonl", processes(2))
    assert without_timing(here) == without_timing(there)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("load", "'load' names no field with values; write it as load=1.0,1.4,1.8"),
        ("load=1,,2", "'load=1,,2' names no field"),
        ("load=1,1", "'load=1,1' has a value twice; name it once"),
        ("load=[1]", r"'\[1\]' is no plain value; write numbers or words"),
    ],
)
def test_wrong_variations_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_variation(text)


def test_a_variant_that_is_no_recipe_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"peak_share: is 1\.5, and must be at most 1"):
        points_of(recipe_document(tmp_path), tmp_path, {"peak_share": [0.5, 1.5]})
    with pytest.raises(InputError, match="--vary: 1,000,000 variants, and at most 100,000 are run; vary less at once"):
        points_of(recipe_document(tmp_path), tmp_path, {"seed": range(1000), "load": range(1000)})


def test_words_numbers_and_parts_can_be_varied(tmp_path: Path) -> None:
    field, values = parse_variation("knowledge.run_times=limit,perfect")
    points = points_of(recipe_document(tmp_path), tmp_path, {field: values})
    known = [point.recipe().knowledge.run_times for point in points]
    assert known == ["limit", "limit", "perfect", "perfect"]


def test_the_table_has_mean_and_spread_over_seeds(points: list[Point], tmp_path: Path) -> None:
    results = run_sweep(points, tmp_path / "results.jsonl", Counted())
    for number, result in enumerate(results):
        result["measures"]["utilization"] = 0.5 + 0.1 * (number // 2 % 2)
    assert [len(members) for members in grouped(results).values()] == [2, 2, 2, 2]
    console = Console(file=io.StringIO(), width=160)
    console.print(sweep_view(results))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "8 replays; mean ± standard deviation over 2 seeds" in text
    assert text.count("55.0 ± 7.1") == 4


def test_without_ray_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match="--ray: Ray is not installed; install it"):
        ray_cluster("auto")


def test_results_are_lines_of_json(points: list[Point], tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    run_sweep(points[:2], path, Counted())
    for line in path.read_text(encoding="utf-8").splitlines():
        assert set(json.loads(line)) == {"key", "varied", "policy", "measures", "timing"}


# A real Ray cluster


@pytest.fixture(scope="module")
def ray_address() -> Iterator[str]:
    """Start the head of a Ray cluster on this machine, and stop it."""
    ray = pytest.importorskip("ray", reason="Ray is not installed (pip install 'loadfactor[ray]')")
    from ray.cluster_utils import Cluster as RayCluster

    head = RayCluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield head.address
    ray.shutdown()
    head.shutdown()


@pytest.mark.filterwarnings("ignore")
def test_points_run_on_a_ray_cluster(ray_address: str, points: list[Point], tmp_path: Path) -> None:
    few = points[:2]
    there = run_sweep(few, tmp_path / "ray.jsonl", ray_cluster(ray_address))
    here = run_sweep(few, tmp_path / "here.jsonl", in_this_process)
    assert [(each["key"], each["measures"]) for each in there] == [(each["key"], each["measures"]) for each in here]
