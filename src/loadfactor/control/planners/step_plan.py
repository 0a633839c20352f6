"""The plan of a step while it stands: where a job that comes while nobody waits starts at once.

Planning the whole horizon for it would move nothing but the job: what runs is held (R5), services swap once a step, and
nobody else is there. So it gets the block that the decoder of `fast` gives it on the grid of the last plan, which has
the services' GPUs along the horizon taken. Where that grid has no block for it now, the horizon is planned anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from loadfactor.policies.blocks import Starts
from loadfactor.policies.compiled import kernel, making_kernel
from loadfactor.policies.fast.layout import Layout
from loadfactor.policies.fast.packing import earliest_best
from loadfactor.policies.instance import DURATION, SIZE, Instance
from loadfactor.policies.occupancy import NOWHERE, Bits, summarise, take, take_block

Ints = npt.NDArray[np.int64]


@kernel
def block_now(
    grid: Bits,
    node_of_gpu: Ints,
    first_of_node: Ints,
    starts: Starts,
    low: int,
    high: int,
    size: int,
    duration: int,
    steps: int,
) -> int:
    """Return the first GPU of the block that is free from step 0 on for `duration` steps and fits best, or -1.

    Of the candidates `starts[low:high]`, by the rule of `loadfactor.policies.fast.packing`.
    """
    _, gpu = earliest_best(grid, node_of_gpu, first_of_node, starts, low, high, size, duration, 0, 0, steps)
    return gpu


@kernel
def take_span(grid: Bits, node_of_gpu: Ints, first_of_node: Ints, gpu: int, size: int, start: int, end: int) -> None:
    """Take a block in the steps [start, end), with the rows that say when its nodes have room."""
    take_block(grid, node_of_gpu, first_of_node, gpu, size, start, end)


FEWEST_GPUS = 2_000
"""GPUs from which on plans stand: on smaller clusters a new one costs a few milliseconds at most."""


@dataclass
class StepPlan:
    """The last plan made in a step, and what was started around it since, on clusters of `fewest_gpus` or more.

    The grid is made when it is first asked for: in most steps nobody asks.
    """

    fewest_gpus: int = FEWEST_GPUS
    step_at: int = -1
    instance: Instance | None = None
    layout: Layout | None = None
    grid: Bits | None = None

    def keep(self, step_at: int, instance: Instance, layout: Layout) -> None:
        """Let `layout` stand for the step that began at second `step_at`."""
        self.step_at, self.instance, self.layout, self.grid = step_at, instance, layout, None

    def forget(self) -> None:
        """Let no plan stand: what it was made from has changed."""
        self.step_at, self.instance, self.layout, self.grid = -1, None, None, None

    def block(self, step_at: int, size: int, duration: int, low: int, high: int) -> int:
        """Return the first GPU of a block that the plan leaves free from now on for `duration` steps, or -1.

        The candidates are the plan's `starts[low:high]`. -1, too, where no plan stands for the step at `step_at`.
        """
        if self.step_at != step_at or self.instance is None or self.layout is None:
            return NOWHERE
        i = self.instance
        if self.grid is None:
            self.grid = grid_of(i, self.layout)
        return block_now(self.grid, i.node_of_gpu, i.first_of_node, i.starts, low, high, size, duration, i.steps)

    def take(self, gpu: int, size: int, duration: int) -> None:
        """Note that a block of the plan was taken from now on for `duration` steps."""
        if self.instance is not None and self.grid is not None:
            i = self.instance
            take_span(self.grid, i.node_of_gpu, i.first_of_node, gpu, size, 0, min(duration, i.steps))


@making_kernel
def take_services(changes: Ints, services: int, held: Ints, steps: int, grid: Bits, first_of_node: Ints) -> None:
    """Take what the services hold before step 0 and after `changes`, sorted by service and step, in the grid.

    Its summaries are written too.
    """
    since, row = np.empty(len(held), dtype=np.int64), 0
    for service in range(services):
        for gpu in range(len(held)):
            since[gpu] = 0 if held[gpu] == service else NOWHERE
        while row < len(changes) and changes[row, 0] == service:
            step, gpu = changes[row, 1], changes[row, 2]
            if changes[row, 3] > 0:
                since[gpu] = step
            else:
                if since[gpu] != NOWHERE and since[gpu] < step:
                    take(grid, gpu, 1, since[gpu], step)
                since[gpu] = NOWHERE
            row += 1
        for gpu in range(len(held)):
            if since[gpu] != NOWHERE:
                take(grid, gpu, 1, since[gpu], steps)
    summarise(grid, first_of_node, 0, len(first_of_node) - 1)


def grid_of(instance: Instance, layout: Layout) -> Bits:
    """Return the instance's grid with all that the layout places taken, its summaries included."""
    i, grid = instance, instance.grid.copy()
    take_services(layout.changes, len(i.services), i.held, i.steps, grid, i.first_of_node)
    for job in np.flatnonzero(layout.where != NOWHERE).tolist():
        size, duration = i.options[layout.chosen[job], [SIZE, DURATION]].tolist()
        start, gpu = int(layout.begin[job]), int(layout.where[job])
        take_span(grid, i.node_of_gpu, i.first_of_node, gpu, size, start, min(start + duration, i.steps))
    return grid
