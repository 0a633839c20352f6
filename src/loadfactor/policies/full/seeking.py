"""Seeks plans in counts that are worth more than the best plan, one after the other: any such plan, not the best.

To prove a plan the best, every plan in counts that is worth more must be cut off. Finding one of them takes less time
than finding the best of them, and those that have positions are plans to keep. What cannot be judged soon is set aside.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace

from loadfactor.policies.full.model import GridModel
from loadfactor.policies.full.outlines import cut_off, whole
from loadfactor.policies.full.positions import Outline
from loadfactor.policies.full.solver import Limits, Outcome, solve


@dataclass
class Seeker:
    """Finds solutions of the model in counts above a floor; cuts that the model gets later hold here, too."""

    counts: GridModel
    aside: list[Outline] = field(default_factory=list)
    """Plans in counts of which it is not known whether they have positions: not found again, and not cut off either."""

    def above(self, floor: float, limits: Limits) -> Outcome:
        """Return the first solution found that is worth `floor` or more, without the reward of running jobs.

        Where that is infeasible and nothing was set aside, no legal plan is worth `floor`.
        """
        model = copy(self.counts)
        model.model = self.counts.model.clone()
        model.model.clear_hints()  # type: ignore[no-untyped-call]
        model.model.add(model.value >= model.scale.penalty(floor))
        for outline in self.aside:
            cut_off(model, outline, whole(model, outline))
        return solve(model.model, replace(limits, first=True))
