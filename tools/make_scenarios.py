"""Makes the shipped scenarios: writes them from their recorded seeds, finds the seeds, or proves what they promise.

A seed is accepted when fifo's utilized cells are those of the recipe and the proven optimum (exact counts model, then
positions for its counts; no heuristic is ever run) has the cells and the gain that the recipe asks for. The first such
seed is taken.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from scenario_optimum import Optimum, has_positions, optimum_in_counts
from scenario_recipes import RECIPES, JobRecipe, Recipe, ServiceRecipe

from loadfactor.bench.dice import Dice, day_curve
from loadfactor.model import Metrics, Problem
from loadfactor.policies import policy

STEPS = 24
PROOF_SECONDS = 30.0
TEXT_WIDTH = 108
TARGET = Path(__file__).resolve().parent.parent / "src" / "loadfactor" / "bench" / "scenarios"
# The accepted seeds, as `--search` prints them: each is the first of its recipe, counting from 0.
SEEDS = {
    "mixed": 2406,
    "training-heavy": 5485,
    "inference-heavy": 182,
    "batch-backlog": 6,
    "quantization-burst": 129,
    "slack": 0,
    "scale": 3262,
}


def draw(recipe: Recipe, seed: int) -> dict[str, Any]:
    """Return the problem document that the recipe gives for this seed."""
    dice = Dice(seed)
    services = [_service(dice, service) for service in recipe.services]
    jobs = [job for family in recipe.jobs for job in _jobs(dice, family)]
    jobs.sort(key=lambda job: job["submit"])
    nodes = [{"name": f"node-{index}", **recipe.node} for index in range(recipe.nodes)]
    return {
        "name": recipe.name,
        "horizon": {"steps": STEPS, "step_minutes": 60.0, "start": "2026-12-01T00:00:00Z", "finish_inside": True},
        "objective": {"realtime_penalty": 8.0, "decay": 0.98},
        "cluster": {"block_sizes": "power_of_two", "nodes": nodes},
        "jobs": jobs,
        "services": services,
    }


def _service(dice: Dice, recipe: ServiceRecipe) -> dict[str, Any]:
    night, peak, hour = dice.between(recipe.night), dice.between(recipe.peak), dice.between(recipe.peak_hour)
    demand = day_curve(night, peak, hour, recipe.width_hours, STEPS)
    return {"id": recipe.id, "priority": recipe.priority, "demand": demand, "max_swap": recipe.max_swap}


def _jobs(dice: Dice, recipe: JobRecipe) -> Iterator[dict[str, Any]]:
    for name in dice.sample(recipe.names, recipe.count):
        size, hours = dice.choice(recipe.sizes), dice.between(recipe.hours)
        priority, submit = dice.choice(recipe.priorities), dice.between(recipe.submit)
        job: dict[str, Any] = {"id": name, "kind": recipe.kind, "priority": priority, "submit": submit}
        if dice.between((1, 10)) <= recipe.moldable and size > 1:
            job |= {"gpus": {"min": size // 2, "max": size}, "work": size * hours}
        else:
            job |= {"gpus": size, "duration": hours}
        if recipe.gpu_memory_gib is not None:
            job["gpu_memory_gib"] = recipe.gpu_memory_gib
        yield job


def to_yaml(recipe: Recipe, document: dict[str, Any]) -> str:
    """Return the document as YAML with one line for each node, job and service, under the recipe's text."""
    header = [
        f"# {recipe.title}.",
        *(f"# {line}" for line in textwrap.wrap(recipe.stands_for, TEXT_WIDTH, break_on_hyphens=False)),
    ]
    lines = [*header, "# Made by tools/make_scenarios.py from a stated recipe and seed; see docs/design/scenarios.md."]
    for key, value in document.items():
        if isinstance(value, list):
            lines += [f"{key}:", *(f"  - {_flow(item)}" for item in value)]
        elif key == "cluster":
            lines += [f"{key}:", f"  block_sizes: {value['block_sizes']}", "  nodes:"]
            lines += [f"    - {_flow(node)}" for node in value["nodes"]]
        else:
            lines.append(f"{key}: {_flow(value)}")
    return "\n".join(lines) + "\n"


def _flow(value: Any) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000)
    return text.removesuffix("\n").removesuffix("\n...")


@dataclass
class Tally:
    """How many seeds a search tried, and how far each got."""

    tried: int = 0
    fifo_met: int = 0
    proven: int = 0
    figures_met: int = 0


def search(recipe: Recipe, seeds: Sequence[int]) -> tuple[int, Tally, Optimum] | None:
    """Return the first acceptable seed, how many were tried, and its optimum; None where no seed is acceptable."""
    tally = Tally()
    for seed in seeds:
        tally.tried += 1
        optimum = acceptable(recipe, seed, tally)
        if optimum is not None:
            return seed, tally, optimum
    return None


def acceptable(recipe: Recipe, seed: int, tally: Tally) -> Optimum | None:
    """Return the proven optimum of the seed's problem where all figures of the recipe are met, else None."""
    problem = Problem.from_document(draw(recipe, seed))
    fifo = fifo_metrics(problem)
    if not _within(round(fifo.utilization * grid_cells(problem)), recipe.fifo_cells):
        return None
    if recipe.finished is not None and fifo.jobs_finished != recipe.finished:
        return None
    tally.fifo_met += 1
    optimum = optimum_in_counts(problem, PROOF_SECONDS)
    if optimum is None:
        return None
    tally.proven += 1
    if not meets(recipe, fifo, optimum):
        return None
    tally.figures_met += 1
    return optimum if has_positions(problem, optimum, PROOF_SECONDS) else None


def fifo_metrics(problem: Problem) -> Metrics:
    """Return the metrics of fifo's plan."""
    metrics = policy("fifo").plan(problem).metrics
    assert metrics is not None  # noqa: S101 - every policy of ours fills them in
    return metrics


def meets(recipe: Recipe, fifo: Metrics, optimum: Optimum) -> bool:
    """Return whether the optimum has the cells, the gain and the finished jobs that the recipe asks for."""
    low, high = recipe.gain
    gain = optimum.value / fifo.value - 1
    finished = recipe.finished is None or optimum.finished() == recipe.finished
    # an optimum is exact to the rounding of its integer coefficients only
    return finished and _within(optimum.cells, recipe.optimum_cells) and low - 1e-6 <= gain <= high + 1e-6


def grid_cells(problem: Problem) -> int:
    """Return N·T."""
    return problem.cluster.gpu_count * problem.horizon.steps


def _within(value: int, limits: tuple[int, int]) -> bool:
    return limits[0] <= value <= limits[1]


def main() -> int:
    """Write the scenarios, or search for their seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(RECIPES), help="scenarios; all by default")
    parser.add_argument("--search", type=int, metavar="SEEDS", help="try this many seeds instead of writing files")
    parser.add_argument("--check", action="store_true", help="prove the figures of the recorded seeds instead")
    parser.add_argument("--output", type=Path, default=TARGET, help="directory to write to")
    options = parser.parse_args()
    recipes = [RECIPES[name] for name in options.names]
    if options.search:
        return _report_all(recipes, {recipe.name: range(options.search) for recipe in recipes})
    if options.check:
        return _report_all(recipes, {recipe.name: [SEEDS[recipe.name]] for recipe in recipes})
    for recipe in recipes:
        text = to_yaml(recipe, draw(recipe, SEEDS[recipe.name]))
        (options.output / f"{recipe.name}.yaml").write_text(text, encoding="utf-8")
    return 0


def _report_all(recipes: Sequence[Recipe], seeds: Mapping[str, Sequence[int]]) -> int:
    """Search for every recipe; return the exit code: 1 where one has no acceptable seed."""
    failed = [recipe.name for recipe in recipes if not _report_search(recipe, seeds[recipe.name])]
    return 1 if failed else 0


def _report_search(recipe: Recipe, seeds: Sequence[int]) -> bool:
    """Say what the search found; return whether it found a seed."""
    found = search(recipe, seeds)
    if found is None:
        sys.stdout.write(f"{recipe.name}: no seed in {seeds} is acceptable\n")
        return False
    seed, tally, optimum = found
    problem = Problem.from_document(draw(recipe, seed))
    fifo, cells = fifo_metrics(problem), grid_cells(problem)
    sys.stdout.write(
        f"{recipe.name}: seed {seed} ({tally.tried} tried, fifo met by {tally.fifo_met}, proven {tally.proven}, "
        f"figures met by {tally.figures_met}); fifo {fifo.utilization * cells:.0f}/{cells}, value {fifo.value:.2f}; "
        f"optimum {optimum.cells}/{cells}, value {optimum.value:.2f}, gain {optimum.value / fifo.value - 1:+.2%}\n"
    )
    return True


if __name__ == "__main__":
    sys.exit(main())
