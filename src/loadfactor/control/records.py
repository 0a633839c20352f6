"""What is known of every job, replica and service; the invariant of each phase stands beside its name."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from loadfactor.control.events import Outcome
from loadfactor.control.requests import JobRequest, ServiceRequest

NOWHERE = -1
NEVER = -1


class JobPhase(StrEnum):
    """Where a job is in its life."""

    WAITING = "waiting"  # holds no GPU; is in the queue
    STARTING = "starting"  # holds its block; the engine was told to start it and has not said that it runs
    RUNNING = "running"  # holds its block; the engine said that it runs
    OVER = "over"  # holds no GPU and never will again; has an outcome
    TOO_LARGE = "too_large"  # no block of GPUs that meet its needs holds it; kept to be told about


HOLDING = frozenset({JobPhase.STARTING, JobPhase.RUNNING})


class JobRecord(Struct):
    """A job and what became of it. Times are in seconds; `NEVER` where there is none yet.

    `sizes` are those that its block may have, ascending; `size` is its block's, and the largest one while it waits.
    `attempt` counts the starts that were asked for; what an engine says
    of another attempt is old news. `given_at` is when the block was given to the present attempt, and `first_given_at`
    when one was given for the first time. After a refused start the job is not tried before `retry_at`.
    `priority_number` is that of the event that changed the priority last.
    """

    row: int
    request: JobRequest
    size: int
    submitted_at: int
    priority: float
    phase: JobPhase = JobPhase.WAITING
    attempt: int = 0
    first_gpu: int = NOWHERE
    given_at: int = NEVER
    first_given_at: int = NEVER
    started_at: int = NEVER
    ended_at: int = NEVER
    retry_at: int = NEVER
    losses: int = 0
    outcome: Outcome | None = None
    cancelled: bool = False
    sizes: tuple[int, ...] = ()
    priority_number: int = 0


class ReplicaPhase(StrEnum):
    """Where a replica is in its life; it holds its GPU in all of them."""

    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"


class Replica(Struct):
    """One replica of a service on one GPU."""

    gpu: int
    attempt: int
    phase: ReplicaPhase = ReplicaPhase.STARTING


class GivenForecast(Struct, frozen=True):
    """A forecast from outside; see `loadfactor.control.events.ForecastUpdated`."""

    number: int
    begin: int
    step_seconds: int
    quantiles: tuple[float, ...]
    demand: tuple[tuple[float, ...], ...]
    fresh_until: int


class ServiceRecord(Struct):
    """A service, its replicas by GPU, and what is known of its demand.

    `demand` was measured at `measured_at` and is the measurement `measured_number`; `forecast` is the newest one given
    from outside. `swaps` are those of the step at `step_at`.
    """

    row: int
    request: ServiceRequest
    replicas: dict[int, Replica] = {}
    demand: int = 0
    measured_at: int = NEVER
    attempts: int = 0
    step_at: int = NEVER
    swaps: int = 0
    measured_number: int = NEVER
    forecast: GivenForecast | None = None

    def held(self) -> int:
        """Return the replicas that serve or will serve."""
        return sum(replica.phase is not ReplicaPhase.STOPPING for replica in self.replicas.values())
