"""The control loop: an event, a decision, a check, and effects; the same in production and in a virtual world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from loadfactor.control.changes import Change
from loadfactor.control.decision import Decision, Planner
from loadfactor.control.effects import Effect
from loadfactor.control.events import Event
from loadfactor.control.machine import Machine
from loadfactor.control.referee import Referee
from loadfactor.control.state import ClusterState

DEFAULT_DEADLINE_SECONDS = 2.0
"""How long a decision may take before the safe planner's is used instead."""


@dataclass
class LoopRecord:
    """How the loop fared: seconds of every decision, and how often it fell back."""

    decision_seconds: list[float] = field(default_factory=list)
    late: int = 0
    illegal: int = 0


class ControlLoop:
    """Plans after every event that changes something, judges each decision, and falls back to a safe planner.

    `clock` measures how long a decision takes, and nothing else; all that is decided depends on events alone. `safe`
    answers where `planner` is late, raises or decides what is illegal; an alarm says so.
    """

    def __init__(
        self,
        state: ClusterState,
        planner: Planner,
        safe: Planner,
        clock: Callable[[], float],
        deadline_seconds: float = DEFAULT_DEADLINE_SECONDS,
    ) -> None:
        self.state = state
        self.machine = Machine(state)
        self.referee = Referee(state)
        self.planner, self.safe = planner, safe
        self.clock, self.deadline_seconds = clock, deadline_seconds
        self.record = LoopRecord()

    def step(self, event: Event) -> list[Effect]:
        """Take in what happened, decide, and return what is to be done."""
        changes, effects = self.machine.handle(event)
        self._tell(changes)
        if not changes:
            return effects
        decision, alarms = self._decide()
        changes, wanted = self.machine.apply(decision)
        self._tell(changes)
        return [*effects, *alarms, *wanted]

    def _tell(self, changes: list[Change]) -> None:
        for change in changes:
            self.planner.notice(change, self.state)
            self.safe.notice(change, self.state)

    def _decide(self) -> tuple[Decision, list[Effect]]:
        began = self.clock()
        try:
            decision, trouble = self.planner.decide(self.state, self.state.now), ""
        except Exception as error:  # noqa: BLE001 - whatever a planner does, the cluster goes on
            decision, trouble = Decision(), f"raised {type(error).__name__}: {error}"
            self.record.illegal += 1
        seconds = self.clock() - began
        self.record.decision_seconds.append(seconds)
        if not trouble and seconds > self.deadline_seconds:
            trouble = f"took {seconds:.1f} s, and {self.deadline_seconds:g} s are allowed"
            self.record.late += 1
        if not trouble and decision and (faults := self.referee.faults(decision)):
            trouble = "decided what is illegal: " + "; ".join(faults)
            self.record.illegal += 1
        return (self._fall_back(trouble)) if trouble else (decision, [])

    def _fall_back(self, trouble: str) -> tuple[Decision, list[Effect]]:
        alarm = self.machine.alarm(f"planner {self.planner.name!r} {trouble}; {self.safe.name!r} decided instead")
        decision = self.safe.decide(self.state, self.state.now)
        faults = self.referee.faults(decision)
        if not faults:
            return decision, [alarm]
        both = self.machine.alarm(f"{self.safe.name!r} is illegal too, and nothing was started: {'; '.join(faults)}")
        return Decision(), [alarm, both]
