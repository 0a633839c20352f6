"""From a recipe to a virtual world: logs read, cut, merged and squeezed, curves scaled to the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from loadfactor.control import Planner, ServiceRequest
from loadfactor.control.planners import HorizonSettings
from loadfactor.engines import Arrival, World
from loadfactor.errors import InputError
from loadfactor.model import Cluster
from loadfactor.replay.contestants import Setting, make_planner
from loadfactor.replay.measure import Yardstick
from loadfactor.replay.recipe import CurveRecipe, LogRecipe, ReplayRecipe
from loadfactor.replay.workload import (
    Floats,
    Ints,
    JobsRecipe,
    LeftOutJobs,
    Moldable,
    arrivals_of,
    merged,
    rate_by_step,
    scaled_demand,
)
from loadfactor.sources import JobFormat, JobLog, read_demand, read_jobs
from loadfactor.sources.jobs import bad_row_count
from loadfactor.units import SECONDS_PER_DAY, SECONDS_PER_HOUR

LOGS_KEPT = 4
"""Logs that are kept once they are read, because the points of a sweep use the same again and again."""
PLANNED_AHEAD_SECONDS = SECONDS_PER_DAY
MOST_STEPS = 288
"""How far `fast` looks ahead: a day, in at most so many steps."""


@dataclass(frozen=True)
class LogSummary:
    """What became of the rows of one log: `jobs` are replayed, and worth `gpu_hours` of the GPUs asked for."""

    file: str
    rows: int
    bad_rows: int
    jobs: int
    gpu_hours: float
    left_out: LeftOutJobs


@dataclass(frozen=True)
class Scenario:
    """A world made from a recipe, and what there is to say about it."""

    recipe: ReplayRecipe
    world: World
    logs: tuple[LogSummary, ...]

    def planner(self, name: str) -> Planner:
        """Return a fresh planner of the policy `name`, which knows what the recipe lets it know."""
        recipe = self.recipe
        steps = max(1, min(MOST_STEPS, PLANNED_AHEAD_SECONDS // recipe.step_seconds))
        horizon = HorizonSettings(
            steps=steps, hourly_decay=recipe.hourly_decay, realtime_penalty=recipe.realtime_penalty
        )
        setting = Setting(
            self.world,
            recipe.knowledge.knowledge(),
            horizon,
            recipe.worth.settings(),
            recipe.iterations,
            recipe.exact_minutes,
            recipe.exact_seconds,
        )
        return make_planner(name, setting)

    def yardstick(self) -> Yardstick:
        """Return what the measures depend on beside the replay."""
        recipe = self.recipe
        return Yardstick(recipe.realtime_penalty, recipe.hourly_decay, recipe.starved_hours)

    def measured_from(self) -> int:
        """Return the second from which on the replay is measured."""
        return self.world.begin + round(self.recipe.warm_up_days * SECONDS_PER_DAY)

    def offered_load(self) -> float:
        """Return the GPU-hours asked for by jobs over those that the cluster has until the last arrival."""
        arrivals = self.world.arrivals
        hours = (arrivals[-1].at - self.world.begin) / SECONDS_PER_HOUR * self.world.cluster.gpu_count
        return sum(_gpu_hours(arrival) for arrival in arrivals) / hours if hours else 0.0

    def to_document(self) -> dict[str, Any]:
        """Return what the world was made from, as plain mappings."""
        demand = self.world.demand
        services = {
            service.id: {
                "mean_gpus": round(float(demand[service.id].mean()), 3),
                "peak_gpus": int(demand[service.id].max()),
                "max_swap": service.max_swap,
            }
            for service in self.world.services
        }
        return {
            "gpus": self.world.cluster.gpu_count,
            "jobs": len(self.world.arrivals),
            "offered_load": round(self.offered_load(), 6),
            "logs": [asdict(log) for log in self.logs],
            "services": services,
        }


def build_scenario(recipe: ReplayRecipe) -> Scenario:
    """Return the world of `recipe`; raise `InputError` where a log cannot be read, or nothing of it is left."""
    cluster = _cluster(recipe)
    parts = [_arrivals(log, cluster, recipe) for log in recipe.jobs]
    arrivals = merged([part for part, _ in parts])
    _refuse_doubled(arrivals)
    demand = _demand(recipe, cluster.gpu_count)
    world = World(
        cluster=cluster,
        arrivals=arrivals,
        services=[_service(service, recipe, demand[service.id]) for service in recipe.services],
        demand=demand,
        step_seconds=recipe.step_seconds,
        job_start_seconds=recipe.job_start_seconds,
        replica_stop_seconds=recipe.replica_stop_seconds,
        end=_end(arrivals[-1].at, recipe),
        faults=recipe.faults.rates(),
        seed=recipe.seed,
    )
    scenario = Scenario(recipe, world, tuple(summary for _, summary in parts))
    if recipe.warm_up_days and scenario.measured_from() >= arrivals[-1].at:
        days = (arrivals[-1].at - world.begin) / SECONDS_PER_DAY
        fact = f"the last job comes after {days:.2f} days, and measures would begin after {recipe.warm_up_days:g}"
        raise InputError.of("warm_up_days", fact, "warm up for less, or replay more days")
    return scenario


def _end(last_arrival: int, recipe: ReplayRecipe) -> int:
    """Return the end of the step in which the queue has drained for as long as the recipe says."""
    steps = (last_arrival + recipe.drain_days * SECONDS_PER_DAY) // recipe.step_seconds + 1
    return steps * recipe.step_seconds


def _cluster(recipe: ReplayRecipe) -> Cluster:
    if recipe.block_sizes is None:
        return recipe.cluster
    return recipe.cluster.model_copy(update={"block_sizes": recipe.block_sizes})


def _arrivals(log: LogRecipe, cluster: Cluster, recipe: ReplayRecipe) -> tuple[list[Arrival], LogSummary]:
    name = log.file.name
    changed = log.file.stat().st_mtime_ns if log.file.is_file() else 0
    read = _read_log(log.file, log.format.model_dump_json(), changed)
    if not read.frame.height:
        raise InputError(read.bad_rows[:20])
    arrivals, left_out = arrivals_of(read, cluster, _jobs_recipe(log, recipe), log.prefix)
    return arrivals, _summary(name, read, arrivals, left_out)


@lru_cache(maxsize=LOGS_KEPT)
def _read_log(file: Path, form: str, _changed_ns: int) -> JobLog:
    return read_jobs(file, JobFormat.model_validate_json(form), file.name)


def _jobs_recipe(log: LogRecipe, recipe: ReplayRecipe) -> JobsRecipe:
    return JobsRecipe(
        load=recipe.load,
        seed=recipe.seed,
        sample=recipe.sample,
        first_day=recipe.first_day if log.first_day is None else log.first_day,
        days=recipe.days,
        priorities=recipe.priorities,
        limit_factor=(recipe.limit_factor.least, recipe.limit_factor.most),
        moldable=Moldable(recipe.moldable.share, recipe.moldable.down, recipe.moldable.up),
        gpu_types=log.gpu_types,
        gpu_memory_gib=log.gpu_memory_gib,
    )


def _summary(name: str, read: JobLog, arrivals: list[Arrival], left_out: LeftOutJobs) -> LogSummary:
    gpu_hours = round(sum(map(_gpu_hours, arrivals)), 3)
    return LogSummary(name, read.rows_read, bad_row_count(read.bad_rows), len(arrivals), gpu_hours, left_out)


def _gpu_hours(arrival: Arrival) -> float:
    return arrival.gpu_seconds / SECONDS_PER_HOUR


def _refuse_doubled(arrivals: list[Arrival]) -> None:
    seen: set[str] = set()
    for arrival in arrivals:
        if arrival.job.id in seen:
            raise InputError.of("jobs", f"two logs have a job {arrival.job.id!r}", "give each log a prefix of its own")
        seen.add(arrival.job.id)


def _demand(recipe: ReplayRecipe, gpus: int) -> Mapping[str, Ints]:
    if not recipe.services:
        return {}
    rates = {service.id: _rates(service, recipe.step_seconds) for service in recipe.services}
    shares = {service.id: service.share for service in recipe.services}
    return scaled_demand(rates, max(1, round(recipe.peak_share * gpus)), shares)


def _rates(service: CurveRecipe, step_seconds: int) -> Floats:
    name = service.file.name
    log = read_demand(service.file, service.format, name)
    rates: Floats = getattr(log, service.column)
    if service.zeros == "hold":
        rates = np.where(rates > 0, rates, np.nan)
    by_step = rate_by_step(rates, log.bin_seconds, step_seconds)[service.first_day * SECONDS_PER_DAY // step_seconds :]
    if not np.nansum(by_step) > 0:
        fact = f"has no {service.column} above 0 from day {service.first_day} on"
        raise InputError.of(name, fact, "choose another column or another day")
    return by_step


def _service(service: CurveRecipe, recipe: ReplayRecipe, curve: Ints) -> ServiceRequest:
    largest = int(np.abs(np.diff(curve, append=curve[:1])).max())
    start = recipe.replica_start_seconds if service.start_seconds is None else service.start_seconds
    return ServiceRequest(
        service.id,
        service.priority,
        service.max_swap or max(1, 2 * largest),
        service.max_gpus,
        start,
        service.gpu_types,
        service.gpu_memory_gib,
    )
