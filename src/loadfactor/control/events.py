"""What happens to a cluster. Every event says when it happened; it may arrive late, twice, or in another order."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from loadfactor.control.requests import JobRequest

Outcome = Literal["finished", "failed", "cancelled"]


class HappenedEvent(Struct, frozen=True, tag=True, tag_field="event"):
    """The base of all events; `at` is in seconds since the epoch of the engine's clock."""

    at: int


class JobSubmitted(HappenedEvent, frozen=True):
    """A user submitted a job."""

    job: JobRequest


class JobCancelled(HappenedEvent, frozen=True):
    """A user takes a job back; one that runs is ended."""

    job_id: str


class JobStarted(HappenedEvent, frozen=True):
    """The engine says that an attempt at a job runs: its start-up is over."""

    job_id: str
    attempt: int


class JobEnded(HappenedEvent, frozen=True):
    """The engine says that an attempt at a job is over and its block is free."""

    job_id: str
    attempt: int
    outcome: Outcome


class JobLost(HappenedEvent, frozen=True):
    """The engine says that an attempt at a job died with its GPUs: its block is free, and it must begin again."""

    job_id: str
    attempt: int


class StartRefused(HappenedEvent, frozen=True):
    """The engine did not carry out an attempt at starting a job."""

    job_id: str
    attempt: int
    reason: str


class PriorityChanged(HappenedEvent, frozen=True):
    """A job has another priority; one that holds its block has it when it waits again.

    Of two such events about a job the one with the higher `number` is newer, whatever the clock said.
    """

    job_id: str
    priority: float
    number: int


class DemandMeasured(HappenedEvent, frozen=True):
    """The GPUs that services needed during the step that ended at `at`, by service.

    Of two measurements the one with the higher `number` is newer; of equal numbers the one with the later `at`.
    """

    demand: dict[str, int]
    number: int = 0


class ForecastUpdated(HappenedEvent, frozen=True):
    """Somebody who knows more says what a service will need.

    `demand[i][t]` GPUs are not exceeded in [`begin` + t * `step_seconds`, `begin` + (t + 1) * `step_seconds`) with
    probability `quantiles[i]`; quantiles ascend. Planners prefer it to their own forecast until second `fresh_until`.
    Of two forecasts for a service the one with the higher `number` is newer.
    """

    service_id: str
    number: int
    begin: int
    step_seconds: int
    quantiles: tuple[float, ...]
    demand: tuple[tuple[float, ...], ...]
    fresh_until: int


class ReplicaReady(HappenedEvent, frozen=True):
    """A replica has loaded its model and serves."""

    service_id: str
    gpu: int
    attempt: int


class ReplicaStopped(HappenedEvent, frozen=True):
    """A replica is gone, or was never started, and its GPU is free."""

    service_id: str
    gpu: int
    attempt: int


class GpusLost(HappenedEvent, frozen=True):
    """GPUs failed; what died with them is told by `JobLost` and `ReplicaStopped`.

    `number` counts what the engine says about the presence of GPUs: of two such events the higher number is newer,
    whatever the clock said.
    """

    gpus: tuple[int, ...]
    number: int


class GpusBack(HappenedEvent, frozen=True):
    """GPUs that were lost serve again; `number` as in `GpusLost`."""

    gpus: tuple[int, ...]
    number: int


class GpusDrained(HappenedEvent, frozen=True):
    """GPUs take nothing new; what runs there goes on.

    Of two events that drain GPUs or nodes, or resume them, the one with the higher `number` is newer for each GPU.
    """

    gpus: tuple[int, ...]
    number: int


class GpusResumed(HappenedEvent, frozen=True):
    """Drained GPUs take work again; `number` as in `GpusDrained`."""

    gpus: tuple[int, ...]
    number: int


class NodeDrained(HappenedEvent, frozen=True):
    """A node takes nothing new; what runs on it goes on. `number` as in `GpusDrained`."""

    node: int
    number: int


class NodeResumed(HappenedEvent, frozen=True):
    """A drained node takes work again; `number` as in `GpusDrained`."""

    node: int
    number: int


class TimerFired(HappenedEvent, frozen=True):
    """A moment has come for which a timer was set."""


Event = (
    JobSubmitted
    | JobCancelled
    | JobStarted
    | JobEnded
    | JobLost
    | StartRefused
    | PriorityChanged
    | DemandMeasured
    | ForecastUpdated
    | ReplicaReady
    | ReplicaStopped
    | GpusLost
    | GpusBack
    | GpusDrained
    | GpusResumed
    | NodeDrained
    | NodeResumed
    | TimerFired
)

_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode_event(event: Event) -> bytes:
    """Return the event as one line of JSON, without the newline."""
    return _ENCODER.encode(event)


def decode_event(line: bytes) -> Event:
    """Return the event of a line that `encode_event` made; raise `msgspec.ValidationError` for any other."""
    return _DECODER.decode(line)
