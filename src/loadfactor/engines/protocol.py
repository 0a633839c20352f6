"""What an engine is: it says what happens to a cluster, and carries out what is decided."""

from __future__ import annotations

from typing import Protocol

from loadfactor.control.effects import Effect
from loadfactor.control.events import Event
from loadfactor.model import Cluster


class Engine(Protocol):
    """Carries out effects and tells events; whose clock it runs by is its own affair."""

    def inventory(self) -> Cluster:
        """Return the nodes and GPUs."""
        ...  # pragma: no cover

    def next_event(self) -> Event | None:
        """Return what happened next, or None where nothing more will."""
        ...  # pragma: no cover

    def carry_out(self, effect: Effect) -> None:
        """Do what an effect says; one that was done already is not done again."""
        ...  # pragma: no cover
