"""Conservative backfill: every waiting job is planned, in order, at the earliest place that delays nobody before it."""

from __future__ import annotations

import numpy as np

from loadfactor.control.changes import Change
from loadfactor.control.decision import Decision, JobStart
from loadfactor.control.planners.book import JobBook
from loadfactor.control.planners.horizon import HorizonSettings, RollingHorizon
from loadfactor.control.planners.serving import ServingRule, swaps_towards
from loadfactor.control.state import ClusterState
from loadfactor.policies.fast.filling import complete
from loadfactor.policies.instance import SIZE

NONE = -1


class Conservative:
    """Starts the jobs that a conservative plan puts at the present; services come first, by a simple rule.

    Only the first `settings.depth` jobs of the queue get a place in the future, those behind them one in the present or
    none: what a scheduler does that looks at so many jobs at most.
    """

    def __init__(self, name: str, book: JobBook, serving: ServingRule, settings: HorizonSettings | None = None) -> None:
        self.name = name
        self.book, self.serving = book, serving
        self.settings = settings or HorizonSettings()
        self._horizon: RollingHorizon | None = None

    def notice(self, change: Change, state: ClusterState) -> None:
        """Pass a change on to those who keep it in mind."""
        self.book.notice(change, state)
        self.serving.notice(change, state)

    def decide(self, state: ClusterState, now: int) -> Decision:
        """Give services what their rule says, then start what the plan puts at the present."""
        decision = swaps_towards(self.serving, state)
        usable = state.usable()
        usable[[swap.gpu for swap in decision.given]] = False
        if self.book.queue.count and usable.any():
            decision.starts = [
                start
                for start in self._starts(state, decision, now)
                if usable[
                    start.first_gpu : start.first_gpu + (start.size or 0)
                ].all()  # a stopping replica may be there
            ]
        return decision

    def _starts(self, state: ClusterState, decision: Decision, now: int) -> list[JobStart]:
        if self._horizon is None:
            self._horizon = RollingHorizon(state, self.settings)
        queue, columns = self.book.queue, self.book.columns
        rows = queue.rows[columns.ready_at.of(queue.rows) <= now]
        free_at = self.book.free_at(state)
        free_at[[swap.gpu for swap in decision.given]] = np.inf
        shape = self.book.shapes_foreseen(rows, free_at, state)
        i = self._horizon.instance(state, rows, columns, columns.priority.of(rows), free_at, None, shape)
        chosen, begin, where = (np.full(len(rows), NONE, dtype=np.int64) for _ in range(3))
        complete(
            np.arange(len(rows)), i.grid, i.node_of_gpu, i.first_of_node, i.pool_of_gpu, np.empty_like(i.free), i.jobs,
            i.options, i.reward, i.starts, i.weight, chosen, begin, where,
        )  # fmt: skip
        present = np.flatnonzero((where != NONE) & (begin == 0))
        size = i.options[chosen[present], SIZE].tolist()
        return [JobStart(int(rows[job]), int(where[job]), size[each]) for each, job in enumerate(present.tolist())]
