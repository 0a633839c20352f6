"""Turns of `full`: now and then the horizon is planned exactly, and judged as a document before it acts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from loadfactor.control.decision import Decision, JobStart, Swap
from loadfactor.control.planners.horizon import HorizonSettings
from loadfactor.control.planners.queue import Columns
from loadfactor.control.records import HOLDING, JobRecord
from loadfactor.control.state import FREE, ClusterState
from loadfactor.errors import IllegalPlanError
from loadfactor.judge import judge
from loadfactor.model import Cluster, GpuRange, Horizon, Job, Objective, Plan, Problem, Service, Unavailable
from loadfactor.model.workload import Running
from loadfactor.policies import Effort, Policy
from loadfactor.policies.full import Full
from loadfactor.units import SECONDS_PER_HOUR, SECONDS_PER_MINUTE, steps_for

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass
class ExactTurns:
    """Lets `policy` plan at the first decision after every `minutes`, for at most `time_limit_seconds`.

    Only the `depth` dearest jobs are in the problem. Its plan is checked by the judge of documents.
    """

    minutes: float
    time_limit_seconds: float = 10.0
    depth: int = 60
    policy: Policy = field(default_factory=Full)
    planned_at: float = -np.inf
    turns: int = 0

    def due(self, now: int) -> bool:
        """Return whether it is time for a turn."""
        return now >= self.planned_at + self.minutes * SECONDS_PER_MINUTE

    def decide(
        self, state: ClusterState, rows: Ints, columns: Columns, worth: Floats, free_at: Floats, demand: Ints,
        settings: HorizonSettings,
    ) -> Decision:  # fmt: skip
        """Return what an exact plan says for now.

        Raises `IllegalPlanError` where the judge finds the plan illegal.
        """
        self.planned_at, self.turns = float(state.now), self.turns + 1
        problem = problem_at(state, rows[: self.depth], columns, worth, free_at, demand, settings)
        effort = Effort(time_limit_seconds=self.time_limit_seconds, seed=self.turns)
        plan = self.policy.plan(problem, effort)
        verdict = judge(problem, plan)
        if verdict.violations:
            raise IllegalPlanError("; ".join(str(violation) for violation in verdict.violations[:3]))
        return first_moment(state, problem, plan)


def problem_at(
    state: ClusterState, rows: Ints, columns: Columns, worth: Floats, free_at: Floats, demand: Ints,
    settings: HorizonSettings,
) -> Problem:  # fmt: skip
    """Return the state at its moment as a problem document: step 0 is the step that contains it."""
    steps, step_minutes = settings.steps, state.step_seconds / SECONDS_PER_MINUTE
    jobs = [_running(state.jobs[row], state, free_at) for row in np.unique(state.owner[state.owner > FREE]).tolist()]
    jobs += [_waiting(state.jobs[row], columns, worth[each], state) for each, row in enumerate(rows.tolist())]
    return Problem(
        name=f"second-{state.now}",
        horizon=Horizon(steps=steps, step_minutes=step_minutes, finish_inside=False),
        objective=Objective(
            realtime_penalty=settings.realtime_penalty,
            decay=settings.hourly_decay ** (state.step_seconds / SECONDS_PER_HOUR),
        ),
        cluster=_cluster(state, steps),
        jobs=tuple(jobs),
        services=tuple(_service(state, row, demand[row], steps) for row in range(len(state.services))),
    )


def _running(job: JobRecord, state: ClusterState, free_at: Floats) -> Job:
    assert job.phase in HOLDING  # noqa: S101 - the owners' invariant
    gpus = tuple(range(job.first_gpu, job.first_gpu + job.size))
    until = free_at[job.first_gpu]
    seconds = until - state.step_began() if np.isfinite(until) else state.step_seconds
    remaining = steps_for(float(seconds), state.step_seconds / SECONDS_PER_MINUTE)
    return Job(
        id=job.request.id, kind=job.request.kind, priority=job.priority, gpus=GpuRange(min=job.size, max=job.size),
        duration=remaining, running=Running(gpus=gpus, remaining=remaining),
    )  # fmt: skip


def _waiting(job: JobRecord, columns: Columns, worth: float, state: ClusterState) -> Job:
    request, work = job.request, columns.work[job.row]
    gpus, duration, gpu_steps = GpuRange(min=job.sizes[0], max=job.sizes[-1]), None, None
    if work:  # the start-up of the largest block counts on every size, so that no block is held for longer than planned
        gpu_steps = max(1, math.ceil((work + columns.overhead_seconds * job.sizes[-1]) / state.step_seconds))
    else:
        duration = steps_for(columns.run_seconds[job.row], state.step_seconds / SECONDS_PER_MINUTE)
    return Job(
        id=request.id, kind=request.kind, priority=float(worth), gpus=gpus, duration=duration, work=gpu_steps,
        gpu_types=request.gpu_types, gpu_memory_gib=request.gpu_memory_gib,
    )  # fmt: skip


def _service(state: ClusterState, row: int, demand: Ints, steps: int) -> Service:
    request = state.services[row].request
    held = tuple(np.flatnonzero(state.held_by(state.services[row]) & ~state.lost).tolist())
    return Service(
        id=request.id, priority=request.priority, demand=tuple(demand[:steps].tolist()), max_swap=request.max_swap,
        max_gpus=request.max_gpus, held=held, gpu_types=request.gpu_types, gpu_memory_gib=request.gpu_memory_gib,
    )  # fmt: skip


def _cluster(state: ClusterState, steps: int) -> Cluster:
    """Return the cluster with what is lost or drained closed, and GPUs on their way out of a service for one step."""
    closed = np.flatnonzero((state.lost | state.drained) & (state.owner == FREE)).tolist()
    leaving = np.flatnonzero(state.stopping).tolist()
    unavailable = [Unavailable(gpus=tuple(closed), from_step=0, until_step=steps)] if closed else []
    unavailable += [Unavailable(gpus=tuple(leaving), from_step=0, until_step=1)] if leaving else []
    return state.cluster.model_copy(update={"unavailable": tuple(unavailable)})


def first_moment(state: ClusterState, problem: Problem, plan: Plan) -> Decision:
    """Return the starts and swaps of a plan's step 0 that can be made at once."""
    decision, usable = Decision(), state.usable()
    for row, (service, allocation) in enumerate(zip(problem.services, plan.services, strict=True)):
        held, wanted = set(service.held or ()), set(allocation.gpus[0])
        left = state.swaps_left(state.services[row])
        for gpu in sorted(wanted - held):
            if usable[gpu] and left > 0:
                decision.given.append(Swap(row, gpu))
                usable[gpu], left = False, left - 1
        for gpu in sorted(held - wanted)[:left]:
            decision.taken.append(Swap(row, gpu))
    for placement in plan.jobs:
        row = state.row_of_job[placement.id]
        block = slice(placement.gpus[0], placement.gpus[-1] + 1)
        if placement.start == 0 and state.jobs[row].phase not in HOLDING and usable[block].all():
            decision.starts.append(JobStart(row, placement.gpus[0], len(placement.gpus)))
            usable[block] = False
    return decision
