"""The grid as numbers: who owns each cell, and the busy share of groups of cells where there are too many to draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from loadfactor.model import Cluster
from loadfactor.pictures.palette import KINDS
from loadfactor.pictures.scene import Scene

IDLE, UNAVAILABLE, FIRST_OWNER = 0, 1, 2
SERVICES = len(KINDS)
"""The class of all services in `Density.foremost`; the kinds of job have the classes before it, as in `KINDS`."""

Codes = NDArray[np.int32]


def owners(scene: Scene) -> Codes:
    """Return the owner of every cell, N x T: idle, unavailable, the jobs of the scene, then its services."""
    codes = np.full((scene.gpu_count, scene.steps), IDLE, dtype=np.int32)
    everyone = [scene.unavailable, *(d.boxes for d in scene.jobs), *(d.boxes for d in scene.services)]
    for code, boxes in enumerate(everyone, start=UNAVAILABLE):
        for box in boxes:
            codes[box.first_gpu : box.until_gpu, box.start : box.end] = code
    return codes


def foremost_owners(codes: Codes, steps_per_column: int) -> Codes:
    """Return for every GPU and column of steps the owner of most of its cells, the first of several."""
    if steps_per_column == 1:
        return codes
    edges = range(0, codes.shape[1], steps_per_column)
    columns = [codes[:, edge : edge + steps_per_column] for edge in edges]
    return np.array([[np.bincount(row).argmax() for row in column] for column in columns], dtype=np.int32).T


def row_edges(cluster: Cluster, most: int) -> list[int]:
    """Return the first GPUs of at most `most` rows, and N: single GPUs, whole nodes or parts of large nodes."""
    count = cluster.gpu_count
    if count <= most:
        return list(range(count + 1))
    nodes = len(cluster.nodes)
    if nodes >= most // 4:
        per_row = -(-nodes // most)
        return [*cluster.node_offsets[:-1:per_row], count]
    per_row = -(-count // (most - nodes))
    return [*(g for first, until in pairwise(cluster.node_offsets) for g in range(first, until, per_row)), count]


def steps_per_column(steps: int, most: int) -> int:
    """Return how many steps a column covers if there are to be at most `most` columns."""
    return -(-steps // most)


@dataclass(frozen=True)
class Density:
    """Groups of cells: the busy share of what is available (NaN where nothing is), and the class that holds most."""

    row_edges: Sequence[int]
    steps_per_column: int
    busy: NDArray[np.float64]
    foremost: NDArray[np.int64]


def density(scene: Scene, edges: Sequence[int], steps_per_column: int) -> Density:
    """Return the density of rows that begin at `edges` (the last one is N) and columns of `steps_per_column` steps."""
    codes = owners(scene)
    classes = _classes(scene)[codes]
    columns = np.arange(0, scene.steps, steps_per_column)

    def counted(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        by_row = np.add.reduceat(mask, np.asarray(edges[:-1]), axis=0, dtype=np.int64)
        return np.asarray(np.add.reduceat(by_row, columns, axis=1))

    held = np.stack([counted(classes == each) for each in range(SERVICES + 1)])
    available = counted(codes != UNAVAILABLE)
    with np.errstate(invalid="ignore", divide="ignore"):
        busy = held.sum(axis=0) / np.where(available == 0, np.nan, available)
    return Density(edges, steps_per_column, busy, held.argmax(axis=0))


def _classes(scene: Scene) -> NDArray[np.int8]:
    """Return the class of every owner; idle and unavailable have none (-1)."""
    jobs = [KINDS.index(drawn.job.kind) for drawn in scene.jobs]
    return np.array([-1, -1, *jobs, *[SERVICES] * len(scene.services)], dtype=np.int8)
