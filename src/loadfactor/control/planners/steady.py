"""The safe planner: it keeps services where their demand is and starts nothing, until the planner is well again."""

from __future__ import annotations

from loadfactor.control.changes import Change
from loadfactor.control.decision import Decision
from loadfactor.control.planners.serving import ReactiveScaling, swaps_towards
from loadfactor.control.state import ClusterState


class Steady:
    """Gives services what they needed last, takes nothing from them, and starts no job.

    It has no state of its own that could be wrong, and the next event asks the real planner again.
    """

    name = "steady"

    def notice(self, change: Change, state: ClusterState) -> None:
        """Ignore what happens."""

    def decide(self, state: ClusterState, now: int) -> Decision:
        """Return what services miss."""
        return Decision(given=swaps_towards(ReactiveScaling(), state).given)


def safe_planner() -> Steady:
    """Return the planner that takes over where another fails."""
    return Steady()
