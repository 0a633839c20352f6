"""The report of a replay: every policy in the same world, measured side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from loadfactor.engines import Use
from loadfactor.replay.build import Scenario
from loadfactor.replay.measure import Measures, measure
from loadfactor.replay.recorder import Books, Record
from loadfactor.replay.run import replay
from loadfactor.units import SECONDS_PER_HOUR

MOST_POINTS = 300
"""Points of a series in documents and pictures: a longer replay is averaged over longer stretches."""
AFTERWARDS = 0.25
DIGITS = 6

Told = Callable[[str, float], None]
"""Is told which policy is replayed, and the share of the arrivals that have come."""


@dataclass(frozen=True, slots=True)
class Point:
    """The mean of a stretch of time from `hour` on, in GPUs; `waiting` are the jobs in the queue at its end."""

    hour: float
    jobs: float
    services: float
    overhead: float
    spare: float
    idle: float
    lost: float
    unmet: float
    waiting: int


@dataclass(frozen=True)
class Outcome:
    """What one policy made of the world."""

    measures: Measures
    series: tuple[Point, ...]


@dataclass(frozen=True)
class ReplayReport:
    """The policies of a recipe in the same world. `bound` says what no policy could have exceeded, by measure."""

    scenario: Scenario
    outcomes: tuple[Outcome, ...]
    bound: Mapping[str, float] | None = None

    @property
    def measures(self) -> tuple[Measures, ...]:
        """Return the measures of every policy."""
        return tuple(outcome.measures for outcome in self.outcomes)

    def to_document(self, timing: bool = True) -> dict[str, Any]:
        """Return the report as plain mappings; all but `timing` is the same for the same recipe."""
        document: dict[str, Any] = {
            "recipe": self.scenario.recipe.to_document(),
            "world": self.scenario.to_document(),
            "policies": [measures.to_document(timing=False) for measures in self.measures],
            "bound": None if self.bound is None else dict(self.bound),
            "series": {outcome.measures.policy: _columns(outcome.series) for outcome in self.outcomes},
        }
        if timing:
            document["timing"] = {each.policy: asdict(each.timing) for each in self.measures}
        return document


def replay_report(scenario: Scenario, progress: Told | None = None, bounded: bool = False) -> ReplayReport:
    """Replay every policy of the scenario's recipe, one after another, and measure them.

    With `bounded` it is computed, too, what no policy could have exceeded.
    """
    outcomes = tuple(outcome_of(scenario, name, progress) for name in scenario.recipe.policies)
    return ReplayReport(scenario, outcomes, _bounds(scenario, progress) if bounded else None)


def _bounds(scenario: Scenario, progress: Told | None) -> dict[str, float]:
    from loadfactor.replay.reachable import bounds_of

    if progress is not None:
        progress("bound", 0.0)
    bounds = {name: round(value, DIGITS) for name, value in bounds_of(scenario).items()}
    if progress is not None:
        progress("bound", 1.0)
    return bounds


def outcome_of(scenario: Scenario, name: str, progress: Told | None = None) -> Outcome:
    """Replay one policy; no decision is ever too late, so that the same recipe gives the same outcome."""

    def told(share: float) -> None:
        if progress is not None:
            progress(name, share)

    told(0.0)
    replayed = replay(
        scenario.world,
        scenario.planner(name),
        progress=told,
        deadline_seconds=math.inf,
        measured_from=scenario.measured_from(),
    )
    told(1.0)
    return Outcome(measure(name, replayed, scenario.yardstick()), tuple(series_of(replayed.record)))


def series_of(record: Record) -> Iterator[Point]:
    """Yield the means between the samples of a record, in at most MOST_POINTS stretches.

    What is left of the queue a quarter of the window after its end is not told.
    """
    first = record.samples[0].at
    until = record.window.at + AFTERWARDS * (record.window.at - first)
    told = [books for books in record.samples if books.at <= until]
    samples = told if len(told) > 1 else record.samples[:2]
    stride = max(1, -(-(len(samples) - 1) // MOST_POINTS))
    kept = [*samples[:-1:stride], samples[-1]]
    for before, after in pairwise(kept):
        yield _point(before, after, first)


def _point(before: Books, after: Books, first: int) -> Point:
    seconds = after.at - before.at

    def gpus(*uses: Use) -> float:
        return sum(after.gpu_seconds[use] - before.gpu_seconds[use] for use in uses) / seconds

    def services(figure: Callable[[Any], int]) -> float:
        return sum(figure(after.services[name]) - figure(before.services[name]) for name in after.services) / seconds

    starting = gpus(Use.PADDING, Use.JOB_STARTING, Use.REPLICA_STARTING, Use.REPLICA_STOPPING)
    return Point(
        hour=(before.at - first) / SECONDS_PER_HOUR,
        jobs=gpus(Use.JOB_WORKING),
        services=services(lambda books: books.met),
        overhead=starting,
        spare=services(lambda books: books.spare),
        idle=gpus(Use.IDLE),
        lost=gpus(Use.LOST),
        unmet=services(lambda books: books.unmet),
        waiting=after.waiting,
    )


def _columns(series: Sequence[Point]) -> dict[str, list[float]]:
    return {name: [round(getattr(point, name), DIGITS) for point in series] for name in Point.__slots__}
