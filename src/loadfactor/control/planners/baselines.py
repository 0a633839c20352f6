"""The planners of today's clusters: jobs in an order, with or without overtaking, services by a simple rule."""

from __future__ import annotations

import numpy as np

from loadfactor.control.changes import Change
from loadfactor.control.decision import Decision, JobStart
from loadfactor.control.planners.book import Floats, JobBook
from loadfactor.control.planners.placing import start_in_order
from loadfactor.control.planners.queue import Ints
from loadfactor.control.planners.serving import ServingRule, swaps_towards
from loadfactor.control.state import ClusterState


class InOrder:
    """Starts jobs in the order of the book, in mode STRICT or EASY (see `start_in_order`); services come first."""

    def __init__(self, name: str, book: JobBook, mode: int, serving: ServingRule) -> None:
        self.name = name
        self.book, self.mode, self.serving = book, mode, serving

    def notice(self, change: Change, state: ClusterState) -> None:
        """Pass a change on to those who keep it in mind."""
        self.book.notice(change, state)
        self.serving.notice(change, state)

    def decide(self, state: ClusterState, now: int) -> Decision:
        """Give services what their rule says, then start what may start."""
        decision = swaps_towards(self.serving, state)
        if self.book.queue.count:
            free_at = self.book.free_at(state)
            for swap in decision.given:
                free_at[swap.gpu] = np.inf
            decision.starts = self._starts(state, free_at, now)
        return decision

    def _starts(self, state: ClusterState, free_at: Floats, now: int) -> list[JobStart]:
        queue, columns, blocks = self.book.queue, self.book.columns, state.block_sizes
        order, size, run_seconds = queue.rows, columns.size.numbers, columns.run_seconds.numbers
        if self._may_choose(order):
            shape = self.book.shapes_foreseen(order, free_at, state)
            size, run_seconds = size.copy(), run_seconds.copy()
            size[order] = columns.shapes.least.of(shape)
            run_seconds[order] = columns.seconds_on(order, size[order])
        suitable = np.array([blocks.nodes(need) for need in range(blocks.needs)])
        started = np.empty((min(queue.count, len(free_at)), 2), dtype=np.int64)
        count = start_in_order(
            self.mode, order, columns.need.numbers, size, run_seconds, columns.ready_at.numbers, free_at, float(now),
            state.first_of_node, suitable, started,
        )  # fmt: skip
        return [JobStart(row, gpu, int(size[row])) for row, gpu in started[:count].tolist()]

    def _may_choose(self, rows: Ints) -> bool:
        """Return whether any of the jobs is moldable."""
        shapes = self.book.columns.shapes
        return bool(shapes.moldable.numbers.any() and shapes.moldable.of(self.book.columns.shape.of(rows)).any())
