"""A layout of the search as the decisions of a plan."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass

from loadfactor.model import Service
from loadfactor.policies.draft import Draft, Gpus
from loadfactor.policies.fast.curves import NONE
from loadfactor.policies.instance import SIZE, Instance, Ints

Change = list[int]
"""(service, step, GPU, 1 given or -1 taken away)."""


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
    services = instance.problem.services
    changes: list[list[Change]] = [[] for _ in services]
    for row in layout.changes.tolist():
        changes[row[0]].append(row)
    return Draft(
        instance.problem,
        placed,
        [
            allocation_of(service.held or (), rows, instance.steps)
            for service, rows in zip(services, changes, strict=True)
        ],
        churn=[churn_of(service, rows) for service, rows in zip(services, changes, strict=True)],
    )


def allocation_of(held: Gpus, changes: Iterable[Change], steps: int) -> list[Gpus]:
    """Return the GPUs of one service at every step, from those held before step 0 and its changes by step.

    Steps without a change share one tuple.
    """
    holding = sorted(held)
    current = tuple(holding)
    allocation: list[Gpus] = []
    changed = -1
    for _, step, gpu, given in changes:
        if step != changed:
            if changed >= 0:
                current = tuple(holding)
            allocation += [current] * (step - len(allocation))
            changed = step
        if given > 0:
            insort(holding, gpu)
        else:
            del holding[bisect_left(holding, gpu)]
    if changed >= 0:
        current = tuple(holding)
    return allocation + [current] * (steps - len(allocation))


def churn_of(service: Service, changes: list[Change]) -> int:
    """Return the GPUs given plus taken away; at step 0 they count only against GPUs held before it."""
    return len(changes) if service.held is not None else sum(step > 0 for _, step, _, _ in changes)
