"""What can happen to a plan: the events that the incremental form of `fast` answers."""

from __future__ import annotations

from dataclasses import dataclass

from loadfactor.model import Job


@dataclass(frozen=True, slots=True)
class JobArrived:
    """A job was submitted."""

    job: Job


@dataclass(frozen=True, slots=True)
class JobEnded:
    """A job is over before its time, or cancelled: what it held, or was to hold, is free."""

    job_id: str


@dataclass(frozen=True, slots=True)
class DemandChanged:
    """A service has another demand curve, one entry a step."""

    service_id: str
    demand: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PriorityChanged:
    """A job or a service has another priority."""

    id: str
    priority: float


@dataclass(frozen=True, slots=True)
class GpuFailed:
    """A GPU serves nobody in the half-open range of steps [0, `until_step`).

    A job that runs on it is lost and waits again from its beginning, its range widened to the next block size where
    only an inherited block could have its size; a service that holds it holds it no longer.
    """

    gpu: int
    until_step: int


Event = JobArrived | JobEnded | DemandChanged | PriorityChanged | GpuFailed
