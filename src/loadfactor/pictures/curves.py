"""Curves over time as runs of equal values: demand and holdings of a service, and the utilization of the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loadfactor.pictures.scene import DrawnService, Scene

MAX_COLUMNS = 600
"""The most points in time that a curve shows; beyond that each is the mean over several steps."""

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Run:
    """The values of several curves in steps [`start`, `end`), in which none of them changes."""

    start: int
    end: int
    values: tuple[float, ...]


def steps_per_column(steps: int) -> int:
    """Return how many steps a curve of `steps` steps averages over."""
    return -(-steps // MAX_COLUMNS)


def service_runs(drawn: DrawnService) -> list[Run]:
    """Return the runs of (demand, held, served, shortfall), in GPUs."""
    served = np.minimum(drawn.demand, drawn.held)
    return list(_runs([drawn.demand, drawn.held, served, drawn.shortfall]))


def utilization_runs(scene: Scene) -> list[Run]:
    """Return the runs of the shares of the available GPUs (held by jobs, meeting demand of services), each 0 to 1."""
    available = np.maximum(scene.available, 1)
    return list(_runs([scene.busy_with_jobs / available, scene.serving / available]))


def _runs(curves: Sequence[NDArray[np.int64] | Values]) -> Iterator[Run]:
    values = np.stack([np.asarray(curve, dtype=np.float64) for curve in curves])
    steps = values.shape[1]
    edges = np.arange(0, steps, steps_per_column(steps))
    widths = np.diff(np.append(edges, steps))
    means = np.add.reduceat(values, edges, axis=1) / widths
    changes = np.flatnonzero(np.any(np.diff(means, axis=1) != 0, axis=0)) + 1
    firsts = [0, *changes.tolist()]
    starts = [int(edges[first]) for first in firsts]
    for first, start, end in zip(firsts, starts, [*starts[1:], steps], strict=True):
        yield Run(start, end, tuple(map(float, means[:, first])))
