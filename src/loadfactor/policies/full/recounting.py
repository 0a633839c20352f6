"""Improves a plan in counts job by job: some jobs are counted anew, exactly, while the others keep start and size.

Large neighbourhood search (Shaw 1998) in the model in counts, which on its own finds good solutions late where there is
more work than fits. Positions are not looked at: that is for those who read the result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadfactor.policies.full.decided import Decided, give_hint, key_of
from loadfactor.policies.full.model import GridModel
from loadfactor.policies.full.solver import Limits, solve

FREE_SHARE = 0.4
"""Share of the placed jobs that are free, where they are drawn at random."""
SHORTEST_WINDOW, LONGEST_WINDOW = 0.125, 0.375
"""Shares of the horizon: where they are drawn by time, the jobs that run in a window this long are free."""


@dataclass
class Recounter:
    """Improves decisions in counts, others every time."""

    counts: GridModel
    seed: int

    def __post_init__(self) -> None:
        """Start the random numbers."""
        self.random = np.random.default_rng(self.seed)

    def improve(self, decided: Decided, limits: Limits) -> tuple[Decided, float] | None:
        """Return decisions no worse than `decided`, and their worth (without running jobs), or None."""
        free = self._free_classes(decided)
        counts = self.counts
        choices = [c for c in counts.choices if c.job_class in free or key_of(c) in decided.jobs]
        model = GridModel(counts.partition, counts.classes, choices, counts.scale)
        model.maximize_value()
        give_hint(model, decided)
        outcome = solve(model.model, limits)
        if not outcome.solved:
            return None
        return Decided.by_solver(model, outcome.values), counts.scale.value(outcome.objective)

    def _free_classes(self, decided: Decided) -> set[int]:
        placed = {key[0] for key in decided.jobs}
        free = set(range(len(self.counts.classes))) - placed
        if self.random.random() < 0.5:
            return free | {index for index in placed if self.random.random() < FREE_SHARE}
        steps = len(self.counts.steps)
        length = max(1, round(steps * self.random.uniform(SHORTEST_WINDOW, LONGEST_WINDOW)))
        begin = int(self.random.integers(1 - length, steps))
        window = range(max(begin, 0), begin + length)
        return free | {key[0] for key in decided.jobs if self._runs_in(window, *key[:3])}

    def _runs_in(self, window: range, job_class: int, size: int, start: int) -> bool:
        job = self.counts.classes[job_class].example
        return start < window.stop and start + job.duration_at(size) > window.start
