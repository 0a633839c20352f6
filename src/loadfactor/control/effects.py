"""What the control loop wants done. Every effect has an identity, so that doing it twice can be noticed.

Commands are counted. A timer is known by its second and an alarm by its second and text: they may be raised by what no
stored event tells (a slow decision), and must not change the numbers of commands.
"""

from __future__ import annotations

from hashlib import blake2b

import msgspec
from msgspec import Struct


class WantedEffect(Struct, frozen=True, tag=True, tag_field="effect"):
    """The base of all effects."""

    @property
    def identity(self) -> str:
        """Return what no other effect has; an engine carries out an identity once."""
        raise NotImplementedError


class Command(WantedEffect, frozen=True):
    """The base of what changes the cluster; `number` counts up from 1."""

    number: int

    @property
    def identity(self) -> str:
        """Return the number as text."""
        return f"command {self.number}"


class StartJob(Command, frozen=True):
    """Start an attempt at a job on the block [`first_gpu`, `first_gpu` + `size`)."""

    job_id: str
    attempt: int
    first_gpu: int
    size: int


class CancelJob(Command, frozen=True):
    """End an attempt at a job, because its user took it back."""

    job_id: str
    attempt: int


class StartReplica(Command, frozen=True):
    """Start a replica of a service on a GPU."""

    service_id: str
    gpu: int
    attempt: int


class StopReplica(Command, frozen=True):
    """Drain a replica and stop it."""

    service_id: str
    gpu: int
    attempt: int


class SetTimer(WantedEffect, frozen=True):
    """Send `TimerFired` at the second `at`, once however often it is wanted."""

    at: int

    @property
    def identity(self) -> str:
        """Return the second as text."""
        return f"timer {self.at}"


class RaiseAlarm(WantedEffect, frozen=True):
    """Tell a person: something went wrong that the loop could only work around."""

    at: int
    text: str

    @property
    def identity(self) -> str:
        """Return the second and a digest of the text."""
        return f"alarm {self.at} {blake2b(self.text.encode(), digest_size=8).hexdigest()}"


Effect = StartJob | CancelJob | StartReplica | StopReplica | SetTimer | RaiseAlarm

_ENCODER = msgspec.json.Encoder()


def encode_effect(effect: Effect) -> bytes:
    """Return the effect as one line of JSON, without the newline."""
    return _ENCODER.encode(effect)
