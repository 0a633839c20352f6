"""A light observer of a replay: the books at the end of the measured window, and at even distances over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from loadfactor.control import ClusterState
from loadfactor.control.effects import Effect, StartReplica, StopReplica
from loadfactor.engines import SimulatedEngine, Use, World
from loadfactor.units import SECONDS_PER_HOUR

LEAST_SAMPLES = 48
"""Samples that even a short window should have, as far as its steps allow."""


@dataclass(frozen=True, slots=True)
class ServiceBooks:
    """GPU-seconds of one service from the beginning: demand met and unmet, and replicas ready beyond the demand."""

    met: int
    unmet: int
    spare: int
    longest_shortfall_seconds: int

    def since(self, earlier: ServiceBooks) -> ServiceBooks:
        """Return what was booked since `earlier`."""
        met, unmet, spare = self.met - earlier.met, self.unmet - earlier.unmet, self.spare - earlier.spare
        return ServiceBooks(met, unmet, spare, self.longest_shortfall_seconds)


@dataclass(frozen=True, slots=True)
class Books:
    """What was booked from the beginning until second `at`, and how many jobs wait in that moment.

    `gpu_seconds` by use are those of all GPUs; `replicas_started` and `replicas_stopped` count what was decided.
    """

    at: int
    gpu_seconds: Mapping[Use, int]
    services: Mapping[str, ServiceBooks]
    waiting: int
    replicas_started: int
    replicas_stopped: int

    def since(self, earlier: Books) -> Books:
        """Return what was booked since `earlier`; the longest shortfall and the queue are those of the end."""
        return Books(
            self.at,
            {use: seconds - earlier.gpu_seconds[use] for use, seconds in self.gpu_seconds.items()},
            {name: each.since(earlier.services[name]) for name, each in self.services.items()},
            self.waiting,
            self.replicas_started - earlier.replicas_started,
            self.replicas_stopped - earlier.replicas_stopped,
        )


@dataclass(frozen=True)
class Record:
    """What the recorder saw: the books of the measured window, and samples over the whole replay.

    The window goes from `measured_from`, the end of the warm-up, to the last arrival. `steps` is the number of whole
    steps in it; `steps_met` says in how many of them a service lacked nothing at any second, and `steps_all_met` in how
    many none did.
    """

    measured_from: int
    window: Books
    samples: tuple[Books, ...]
    steps: int
    steps_met: Mapping[str, int]
    steps_all_met: int


def window_end(world: World) -> int:
    """Return the second at which measuring ends: the last arrival, after which the queue only drains."""
    last = world.arrivals[-1].at if world.arrivals else world.begin
    if not world.arrivals and world.end is not None:
        return world.end
    return last if world.end is None else min(last, world.end)


class Recorder:
    """Watches an engine: between two moments at which something happens it may look back at any second.

    Samples are taken every hour, and more often where the window is short, but no more often than at every step. The
    measured window begins at second `measured_from`.
    """

    def __init__(self, engine: SimulatedEngine, state: ClusterState, measured_from: int | None = None) -> None:
        self._engine, self._state = engine, state
        world = engine.world
        self._step = world.step_seconds
        self._end = window_end(world)
        apart = min(SECONDS_PER_HOUR, (self._end - world.begin) // LEAST_SAMPLES)
        self._steps_a_sample = max(1, apart // world.step_seconds)
        self._next, self._steps = world.begin, -1
        self._unmet = dict.fromkeys(engine.meters, 0)
        self._steps_met = dict.fromkeys(engine.meters, 0)
        self._steps_all_met = 0
        self._samples: list[Books] = []
        self._from = world.begin if measured_from is None else measured_from
        self._begin: Books | None = None
        self._window: Books | None = None
        self._started = self._stopped = 0
        self._measure(world.begin)
        engine.watch(self.look_back)

    def note(self, effect: Effect) -> None:
        """Count what is done to replicas."""
        if isinstance(effect, StartReplica):
            self._started += 1
        elif isinstance(effect, StopReplica):
            self._stopped += 1

    def look_back(self, until: int) -> None:
        """Take what is due before second `until`; nothing has happened since the engine's present second."""
        while self._next < until:
            self._measure(self._next)
            self._take(self._next)
            self._next += self._step
        self._measure(until)
        if self._window is None and self._end < until:
            self._window = self._books(self._end)

    def _measure(self, until: int) -> None:
        """Open the measured window where it begins until then: what happens in its first second belongs to it."""
        if self._begin is None and self._from <= until:
            for meter in self._engine.meters.values():
                meter.forget_shortfalls(self._from)
            self._begin = self._books(self._from)

    def close(self) -> Record:
        """Return everything that was seen, at the end of the replay."""
        now = self._engine.now
        self.look_back(now)
        last = self._books(now)
        window = self._window or last
        samples = (*self._samples, last) if not self._samples or self._samples[-1].at < now else tuple(self._samples)
        window = window.since(self._begin) if self._begin else window
        return Record(self._from, window, samples, max(0, self._steps), self._steps_met, self._steps_all_met)

    def _take(self, at: int) -> None:
        if self._from <= at <= self._end:
            self._steps += 1
            self._count_met(at)
        if ((at - self._engine.world.begin) // self._step) % self._steps_a_sample == 0:
            self._samples.append(self._books(at))

    def _count_met(self, at: int) -> None:
        """Count the step that ends at `at`; the first moment ends none."""
        unmet = {name: meter.totals(at)[1] for name, meter in self._engine.meters.items()}
        if self._steps > 0:
            met = [name for name, total in unmet.items() if total == self._unmet[name]]
            for name in met:
                self._steps_met[name] += 1
            self._steps_all_met += len(met) == len(unmet)
        self._unmet = unmet

    def _books(self, at: int) -> Books:
        meters = self._engine.meters.items()
        return Books(
            at,
            self._engine.ledger.seconds(at),
            {name: ServiceBooks(*meter.totals(at), meter.longest_shortfall(at)) for name, meter in meters},
            self._state.waiting,
            self._started,
            self._stopped,
        )
