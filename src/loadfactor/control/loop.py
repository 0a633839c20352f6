"""The control loop: an event, a decision, a check, and effects; the same in production and in a virtual world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from loadfactor.control.changes import Change
from loadfactor.control.decision import Decision, Planner, TimedPlanner
from loadfactor.control.effects import Effect
from loadfactor.control.events import Event
from loadfactor.control.machine import RETRY_SECONDS, Machine
from loadfactor.control.referee import Referee
from loadfactor.control.state import ClusterState
from loadfactor.errors import InputError

DEFAULT_DEADLINE_SECONDS = 2.0
"""How long a decision may take, beside a search of stated length, before the safe planner's is used instead."""


@dataclass
class LoopRecord:
    """How the loop fared: seconds of every decision, and how often it fell back."""

    decision_seconds: list[float] = field(default_factory=list)
    late: int = 0
    illegal: int = 0


class ControlLoop:
    """Plans after every event that changes something, judges each decision, and falls back to a safe planner.

    `clock` measures how long a decision takes, and nothing else; all that is decided depends on events alone. `safe`
    answers where `planner` is late, raises or decides what is illegal; an alarm says so, and while jobs wait a timer
    asks `planner` again, even if nothing else happens. Without `deadline_seconds` a decision may take
    `DEFAULT_DEADLINE_SECONDS` more than the planner says that it searches.

    Raises `InputError` where the planner searches longer than `deadline_seconds` allows.
    """

    def __init__(
        self,
        state: ClusterState,
        planner: Planner,
        safe: Planner,
        clock: Callable[[], float],
        deadline_seconds: float | None = None,
    ) -> None:
        self.state = state
        self.machine = Machine(state)
        self.referee = Referee(state)
        self.planner, self.safe = planner, safe
        self.clock, self.deadline_seconds = clock, _deadline(planner, deadline_seconds)
        self.record = LoopRecord()
        self._asked_again_at = state.now

    def step(self, event: Event) -> list[Effect]:
        """Take in what happened, decide, and return what is to be done."""
        changes, effects = self.machine.handle(event)
        effects += self._tell(changes)
        if not changes:
            return effects
        decision, alarms = self._decide()
        changes, wanted = self.machine.apply(decision)
        return [*effects, *alarms, *wanted, *self._tell(changes)]

    def _tell(self, changes: list[Change]) -> list[Effect]:
        return [
            alarm
            for change in changes
            for alarm in (*self._tell_one(self.planner, change), *self._tell_one(self.safe, change))
        ]

    def _tell_one(self, planner: Planner, change: Change) -> list[Effect]:
        try:
            planner.notice(change, self.state)
        except Exception as error:  # noqa: BLE001 - whatever a planner does, the cluster goes on
            self.record.illegal += 1
            return [self.machine.alarm(f"planner {planner.name!r} {_told(error)} when told of {type(change).__name__}")]
        return []

    def _decide(self) -> tuple[Decision, list[Effect]]:
        began = self.clock()
        try:
            decision, trouble = self.planner.decide(self.state, self.state.now), ""
        except Exception as error:  # noqa: BLE001 - whatever a planner does, the cluster goes on
            decision, trouble = Decision(), _told(error)
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
        alarms: list[Effect] = []
        alarms.append(
            self.machine.alarm(f"planner {self.planner.name!r} {trouble}; {self.safe.name!r} decided instead")
        )
        decision, trouble = self._ask_safe()
        if trouble:
            alarms.append(self.machine.alarm(f"{self.safe.name!r} {trouble} too, and nothing was done"))
        if self.state.waiting and self.state.now >= self._asked_again_at:
            self._asked_again_at = self.state.now + RETRY_SECONDS
            alarms.append(self.machine.timer(self._asked_again_at))
        return decision, alarms

    def _ask_safe(self) -> tuple[Decision, str]:
        try:
            decision = self.safe.decide(self.state, self.state.now)
            faults = self.referee.faults(decision)
        except Exception as error:  # noqa: BLE001
            return Decision(), _told(error)
        return (Decision(), "is illegal: " + "; ".join(faults)) if faults else (decision, "")


def _deadline(planner: Planner, wanted_seconds: float | None) -> float:
    search_seconds = planner.search_seconds if isinstance(planner, TimedPlanner) else 0.0
    if wanted_seconds is None:
        return DEFAULT_DEADLINE_SECONDS + search_seconds
    if wanted_seconds <= search_seconds:
        fact = (
            f"{wanted_seconds:g} s are allowed for a decision, and {planner.name!r} searches for {search_seconds:g} s"
        )
        remedy = (
            f"allow at least {search_seconds + DEFAULT_DEADLINE_SECONDS:g} s, or let it search less (exact_seconds)"
        )
        raise InputError.of("deadline_seconds", fact, remedy)
    return wanted_seconds


def _told(error: Exception) -> str:
    return f"raised {type(error).__name__}: {error}"
