"""What a planner decides at a moment, and what a planner is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from loadfactor.control.changes import Change
from loadfactor.control.state import ClusterState


@dataclass(frozen=True, slots=True)
class JobStart:
    """Start the job of a row on the block that begins at a GPU; without `size`, on the largest that the job may get."""

    row: int
    first_gpu: int
    size: int | None = None

    def block(self, state: ClusterState) -> range:
        """Return the GPUs of the block."""
        return range(self.first_gpu, self.first_gpu + (state.jobs[self.row].size if self.size is None else self.size))


@dataclass(frozen=True, slots=True)
class Swap:
    """Give a GPU to a service, or take it away."""

    service: int
    gpu: int


@dataclass(slots=True)
class Decision:
    """What to do now; there is no way to say that a job that holds its block should stop (R5)."""

    starts: list[JobStart] = field(default_factory=list)
    given: list[Swap] = field(default_factory=list)
    taken: list[Swap] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.starts or self.given or self.taken)


class Planner(Protocol):
    """Decides, from the state and from what it noticed; it keeps no clock and does no input or output."""

    @property
    def name(self) -> str:
        """Return the name under which the planner appears in tables."""
        ...  # pragma: no cover

    def notice(self, change: Change, state: ClusterState) -> None:
        """Take note of what an event changed."""
        ...  # pragma: no cover

    def decide(self, state: ClusterState, now: int) -> Decision:
        """Return what to start, give and take at the second `now`."""
        ...  # pragma: no cover


@runtime_checkable
class TimedPlanner(Protocol):
    """A planner that says how long a decision of it may search by the clock."""

    @property
    def search_seconds(self) -> float:
        """Return the longest search of a decision, in seconds."""
        ...  # pragma: no cover
