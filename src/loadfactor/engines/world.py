"""The virtual world's truth: what jobs and services really do, whatever the control loop believes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from loadfactor.control.requests import JobRequest, ServiceRequest
from loadfactor.engines.faults import FaultRates
from loadfactor.model import Cluster
from loadfactor.units import SECONDS_PER_DAY

DRAIN_DAYS = 60


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job, the second at which it is submitted, and how long it really runs on the fewest GPUs that it can use."""

    at: int
    job: JobRequest
    run_seconds: int

    @property
    def gpu_seconds(self) -> int:
        """The work of the job, in GPU-seconds."""
        return self.job.gpus * self.run_seconds

    def run_seconds_on(self, size: int) -> int:
        """Return how long the job really runs on a block: ceil(work / GPUs used) where its work is divided (R2)."""
        if self.job.work_gpu_seconds is None:
            return self.run_seconds
        return -(-self.gpu_seconds // self.job.used_on(size))


@dataclass(frozen=True)
class World:
    """All that will happen by itself.

    `arrivals` by time. `demand` gives every service the GPUs that it really needs in each step of `step_seconds`; the
    curve begins again at its end. Events run from second `begin` until every job is over, at the latest until `end`
    (without it, for DRAIN_DAYS after the last arrival).
    """

    cluster: Cluster
    arrivals: Sequence[Arrival]
    services: Sequence[ServiceRequest] = ()
    demand: Mapping[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    step_seconds: int = 600
    job_start_seconds: int = 60
    replica_stop_seconds: int = 30
    begin: int = 0
    end: int | None = None
    faults: FaultRates = field(default_factory=FaultRates)
    seed: int = 0

    def last_step(self) -> int:
        """Return the number of the last step that the world can reach: without `end`, DRAIN_DAYS after all arrivals."""
        last = self.arrivals[-1].at + DRAIN_DAYS * SECONDS_PER_DAY if self.arrivals else self.begin
        return ((self.end if self.end is not None else last) - self.begin) // self.step_seconds

    def demand_at(self, service_id: str, at: int) -> int:
        """Return the GPUs that a service really needs at second `at`."""
        curve = self.demand[service_id]
        return int(curve[((at - self.begin) // self.step_seconds) % len(curve)])
