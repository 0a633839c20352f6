"""A layout of the search as the decisions of a plan."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from loadfactor.policies.draft import Draft, Gpus
from loadfactor.policies.fast.counts import NONE
from loadfactor.policies.instance import SIZE, Instance, Ints


@dataclass
class Layout:
    """A legal plan in arrays: option, start and first GPU of every waiting job, and what the services gain and lose.

    `changes` has rows (service, step, GPU, 1 given or -1 taken away), by service and step.
    """

    chosen: Ints
    begin: Ints
    where: Ints
    changes: Ints
    value: float


def draft_of(instance: Instance, layout: Layout) -> Draft:
    """Return the decisions of a layout by job and service."""
    placed: dict[str, tuple[int, Gpus]] = {job.id: (0, job.running.gpus) for job in instance.running if job.running}
    sizes = instance.options[layout.chosen, SIZE] if len(instance.options) else layout.chosen
    for job, start, gpu, size in zip(
        instance.waiting, layout.begin.tolist(), layout.where.tolist(), sizes.tolist(), strict=True
    ):
        if gpu != NONE:
            placed[job.id] = (start, tuple(range(gpu, gpu + size)))
    return Draft(instance.problem, placed, _allocations(instance, layout.changes))


def _allocations(instance: Instance, changes: Ints) -> list[list[Gpus]]:
    """Return the GPUs of every service at every step; steps without a change share one tuple."""
    bounds = np.searchsorted(changes[:, 0], np.arange(len(instance.services) + 1)).tolist()
    return [
        allocation_of(instance.problem.services[index].held or (), changes[low:high], instance.steps)
        for index, (low, high) in enumerate(pairwise(bounds))
    ]


def allocation_of(held: Gpus, changes: Ints, steps: int) -> list[Gpus]:
    """Return the GPUs of one service at every step, from those held before step 0 and its changes by step."""
    gpus = np.unique(np.concatenate([np.array(held, dtype=np.int64), changes[:, 2]]))
    holds = np.zeros(len(gpus), dtype=np.int64)
    holds[np.searchsorted(gpus, np.array(held, dtype=np.int64))] = 1
    allocation: list[Gpus] = []
    current = tuple(held)
    at, low = np.searchsorted(gpus, changes[:, 2]), 0
    step_of = changes[:, 1].tolist()
    while low < len(step_of):
        step = step_of[low]
        high = int(np.searchsorted(changes[:, 1], step + 1))
        np.add.at(holds, at[low:high], changes[low:high, 3])
        allocation += [current] * (step - len(allocation))
        current, low = tuple(gpus[holds > 0].tolist()), high
    return allocation + [current] * (steps - len(allocation))
