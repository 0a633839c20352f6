"""The planners of today's clusters: jobs in an order, with or without overtaking, services by a simple rule."""

from __future__ import annotations

import numpy as np

from loadfactor.control.changes import Change
from loadfactor.control.decision import Decision, JobStart
from loadfactor.control.planners.book import Floats, JobBook
from loadfactor.control.planners.placing import start_in_order
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
        queue, columns = self.book.queue, self.book.columns
        started = np.empty((min(queue.count, len(free_at)), 2), dtype=np.int64)
        count = start_in_order(
            self.mode, queue.rows, columns.size.numbers, columns.run_seconds.numbers,
            columns.ready_at.numbers, free_at, float(now), state.first_of_node, started,
        )  # fmt: skip
        return [JobStart(row, gpu) for row, gpu in started[:count].tolist()]
