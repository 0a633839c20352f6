"""One replay: a world, a planner and what it may know, and the books of what happened."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from loadfactor.control import ClusterState, ControlLoop, LoopRecord, Planner
from loadfactor.control.planners import safe_planner
from loadfactor.engines import SimulatedEngine, World
from loadfactor.replay.recorder import Record, Recorder

Clock = Callable[[], float]
CHECKED_EVERY = 1_000
"""Events between two checks of all invariants, at least."""
JOBS_AN_EVENT = 10
"""Jobs that a check may look through for every event since the last one: it reads every job that ever was, and with as
many checks in a long log as in a short one they would take most of the time."""


@dataclass(frozen=True)
class Replayed:
    """What a replay leaves behind."""

    world: World
    state: ClusterState
    engine: SimulatedEngine
    loop: LoopRecord
    events: int
    seconds: float
    record: Record


def replay(
    world: World,
    planner: Planner,
    clock: Clock = time.perf_counter,
    progress: Callable[[float], None] | None = None,
    checked_every: int = CHECKED_EVERY,
    deadline_seconds: float | None = None,
    measured_from: int | None = None,
) -> Replayed:
    """Let the control loop run in the world until every job is over, or the world ends.

    What is measured begins at second `measured_from`, without it at the beginning of the world.
    `progress` is told the share of the arrivals that have come, now and then. A decision that takes longer than
    `deadline_seconds` (see `ControlLoop`) by `clock` is replaced by the safe planner's; with infinity a replay depends
    on nothing but the world and the planner. Raises what the checkers raise:
    `BrokenStateError`, `UnbalancedLedgerError`, `BrokenPromiseError`.
    """
    began = time.perf_counter()
    engine = SimulatedEngine(world)
    state = ClusterState(engine.inventory(), world.services, world.step_seconds, world.begin)
    loop = ControlLoop(state, planner, safe_planner(), clock, deadline_seconds)
    recorder = Recorder(engine, state, measured_from)
    events, due = 0, checked_every
    while (event := engine.next_event()) is not None:
        for effect in loop.step(event):
            engine.carry_out(effect)
            recorder.note(effect)
        events += 1
        if events == due:
            state.check()
            due += max(checked_every, len(state.jobs) // JOBS_AN_EVENT)
            if progress is not None:
                progress(len(state.jobs) / max(1, len(world.arrivals)))
    state.check()
    engine.ledger.seconds(engine.now)
    seconds = time.perf_counter() - began
    return Replayed(world, state, engine, loop.record, events, seconds, recorder.close())
