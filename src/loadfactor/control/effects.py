"""What the control loop wants done. Every effect has a number of its own, so that doing it twice can be noticed."""

from __future__ import annotations

import msgspec
from msgspec import Struct


class WantedEffect(Struct, frozen=True, tag=True, tag_field="effect"):
    """The base of all effects; `number` counts up from 1."""

    number: int


class StartJob(WantedEffect, frozen=True):
    """Start an attempt at a job on the block [`first_gpu`, `first_gpu` + `size`)."""

    job_id: str
    attempt: int
    first_gpu: int
    size: int


class CancelJob(WantedEffect, frozen=True):
    """End an attempt at a job, because its user took it back."""

    job_id: str
    attempt: int


class StartReplica(WantedEffect, frozen=True):
    """Start a replica of a service on a GPU."""

    service_id: str
    gpu: int
    attempt: int


class StopReplica(WantedEffect, frozen=True):
    """Drain a replica and stop it."""

    service_id: str
    gpu: int
    attempt: int


class SetTimer(WantedEffect, frozen=True):
    """Send `TimerFired` at the second `at`."""

    at: int


class RaiseAlarm(WantedEffect, frozen=True):
    """Tell a person: something went wrong that the loop could only work around."""

    at: int
    text: str


Effect = StartJob | CancelJob | StartReplica | StopReplica | SetTimer | RaiseAlarm

_ENCODER = msgspec.json.Encoder()


def encode_effect(effect: Effect) -> bytes:
    """Return the effect as one line of JSON, without the newline."""
    return _ENCODER.encode(effect)
