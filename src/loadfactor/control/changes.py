"""What an event changed, as planners need to know it."""

from __future__ import annotations

from dataclasses import dataclass

from loadfactor.control.records import JobRecord, ServiceRecord


@dataclass(frozen=True, slots=True)
class JobWaits:
    """A job is in the queue: for the first time, again, or with another priority."""

    job: JobRecord


@dataclass(frozen=True, slots=True)
class JobLeftQueue:
    """A job is in the queue no more."""

    job: JobRecord


@dataclass(frozen=True, slots=True)
class JobIsOver:
    """A job ran to its end, which teaches how long jobs run."""

    job: JobRecord


@dataclass(frozen=True, slots=True)
class DemandIsKnown:
    """A step is over and its demand is known."""

    at: int
    demand: dict[str, int]


@dataclass(frozen=True, slots=True)
class ForecastIsGiven:
    """A forecast for a service came from outside; its record has it."""

    service: ServiceRecord


@dataclass(frozen=True, slots=True)
class GridChanged:
    """GPUs are free, lost or back."""


Change = JobWaits | JobLeftQueue | JobIsOver | DemandIsKnown | ForecastIsGiven | GridChanged
