"""What interrupting jobs that consent would add: a what-if in counts, apart from the product, which interrupts nobody.

A throw-away world of N GPUs without positions, blocks or start-up of replicas. The demand of the services is met at
every second and known in advance, and so is how long jobs run, or at least a limit that they keep. A job starts where
its whole run fits under N − demand, beside the jobs that run: in order of priority, then of arrival; whoever does not
fit is passed over. Nothing is kept free for a job that waits.

A job that consents is checkpointed. Where its whole run does not fit but its GPUs are free now, it may start anyway,
provided that it does more work than a restart costs before the services need its GPUs. Then it is interrupted and goes
back to the queue, with the rest of its work and the restart cost on top. No job is interrupted for another job's sake.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from loadfactor.engines import Arrival, World
from loadfactor.errors import InputError
from loadfactor.replay.trough import Trough, TroughJobs
from loadfactor.units import SECONDS_PER_HOUR, SECONDS_PER_MINUTE

DEFAULT_SHARES = (0.0, 0.25, 0.5, 1.0)
DEFAULT_RESTART_SECONDS = (2 * SECONDS_PER_MINUTE, 10 * SECONDS_PER_MINUTE, 30 * SECONDS_PER_MINUTE)
DEFAULT_DECAY_PER_HOUR = 0.98


@dataclass(frozen=True)
class Consent:
    """Which jobs may be interrupted: a `share` of them, drawn with `seed`; a restart costs `restart_seconds`.

    With `stated_limits`, what is known of a run is its limit instead of its true length.
    """

    share: float = 0.0
    restart_seconds: int = DEFAULT_RESTART_SECONDS[1]
    seed: int = 0
    stated_limits: bool = False
    decay_per_hour: float = DEFAULT_DECAY_PER_HOUR


@dataclass(frozen=True)
class Outcome:
    """What became of the jobs; hours are GPU-hours until the last arrival, except `value`, which is that of all jobs.

    `trough_hours`: what lies between the demand and its peak. `blocked_hours`: GPUs free while jobs that would fit on
    them wait because their runs are too long. `value`: Σ priority · GPUs · hours of work · decay^(hours of delay); work
    after an interruption counts with the delay that the job then has. `utilization`: the share of the GPUs at work for
    jobs. `lost_hours`: restarts, over all jobs. `mean_wait_hours` until the first start. `unfinished`: jobs that were
    not over 60 days behind the last arrival.
    """

    trough_hours: float
    idle_hours: float
    blocked_hours: float
    value: float
    utilization: float
    interruptions: int
    lost_hours: float
    mean_wait_hours: float
    unfinished: int


def what_if(world: World, consent: Consent) -> Outcome:
    """Return what the greedy rule reaches in `world` where jobs consent as stated.

    Jobs that never fit, not even where demand is lowest, are left out. Raises `InputError` where the world has no job,
    or where a job's limit is not known or shorter than its run.
    """
    if not world.arrivals:
        raise InputError.of("arrivals", "the world has no job", "give it at least one")
    demand = _total_demand(world)
    capacity = world.cluster.gpu_count - demand
    jobs = _jobs(world, int(capacity.max()), consent)
    trough = Trough(
        jobs, capacity, world.step_seconds, world.job_start_seconds, consent.restart_seconds, consent.decay_per_hour
    )
    trough.run()
    seconds = np.arange(0, max(1, trough.last)) // world.step_seconds
    below_peak = int((demand.max() - demand[seconds % len(demand)]).sum())
    return _outcome(trough, world.cluster.gpu_count, below_peak)


def _total_demand(world: World) -> npt.NDArray[np.int64]:
    """Return the GPUs that all services need, at most all there are, over the joint period of their curves."""
    curves = [world.demand[each.id] for each in world.services]
    steps = math.lcm(*(len(curve) for curve in curves))
    total = sum((np.resize(curve, steps) for curve in curves), np.zeros(steps, dtype=np.int64))
    return np.minimum(world.cluster.gpu_count, total)


def _jobs(world: World, most_gpus: int, consent: Consent) -> TroughJobs:
    fitting = [each for each in world.arrivals if each.job.gpus <= most_gpus]
    if not fitting:
        raise InputError.of("arrivals", "no job fits into the world", "give it at least one that does")
    return TroughJobs(
        at=np.array([each.at - world.begin for each in fitting]),
        run_seconds=np.array([each.run_seconds for each in fitting]),
        known_seconds=np.array([_known(each, consent) for each in fitting]),
        gpus=np.array([each.job.gpus for each in fitting]),
        priority=np.array([each.job.priority for each in fitting]),
        consents=np.random.default_rng(consent.seed).random(len(fitting)) < consent.share,
    )


def _known(arrival: Arrival, consent: Consent) -> int:
    if not consent.stated_limits:
        return arrival.run_seconds
    limit = arrival.job.limit_seconds
    if limit is None or limit < arrival.run_seconds:
        fact = f"the limit {limit} is not known or shorter than the run of {arrival.run_seconds} seconds"
        raise InputError.of(f"arrivals[{arrival.job.id}].limit_seconds", fact, "state a limit that the job keeps")
    return limit


def _outcome(trough: Trough, gpus: int, below_peak: int) -> Outcome:
    jobs, started = trough.jobs, trough.first_start >= 0
    waits = (trough.first_start - jobs.at)[started]
    return Outcome(
        trough_hours=below_peak / SECONDS_PER_HOUR,
        idle_hours=trough.idle / SECONDS_PER_HOUR,
        blocked_hours=trough.blocked / SECONDS_PER_HOUR,
        value=trough.value,
        utilization=trough.working / (gpus * max(1, trough.last)),
        interruptions=trough.interruptions,
        lost_hours=trough.lost / SECONDS_PER_HOUR,
        mean_wait_hours=float(waits.mean()) / SECONDS_PER_HOUR if len(waits) else 0.0,
        unfinished=len(jobs.at) - trough.over,
    )
