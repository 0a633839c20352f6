"""Building a problem from a recipe: read the logs, cut out the day, and say what became of every row."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.resources import files
from math import ceil
from pathlib import Path

from loadfactor.errors import InputError
from loadfactor.model import Cluster, Horizon, Job, Problem, Service
from loadfactor.sources.candidates import Setting
from loadfactor.sources.demand import DemandLog, read_demand
from loadfactor.sources.job_log import JobLog
from loadfactor.sources.jobs import read_jobs
from loadfactor.sources.packing import Floor
from loadfactor.sources.recipe import JobsRecipe, ProblemRecipe, ServiceRecipe, read_recipe
from loadfactor.sources.report import BuildReport, JobsReport
from loadfactor.sources.selection import select_jobs
from loadfactor.sources.services import build_service
from loadfactor.sources.window import LAST_MOMENT_S, Window, window_of
from loadfactor.units import SECONDS_PER_DAY, SECONDS_PER_MINUTE


def build_problem(recipe: ProblemRecipe) -> tuple[Problem, BuildReport]:
    """Return the problem that `recipe` describes, and the report on every row of every log.

    Services that hold GPUs before step 0 get theirs first, then running jobs, the largest first. Raises `InputError`
    when a log cannot be read or has nothing in the day.
    """
    jobs_log = read_jobs(recipe.jobs.file, recipe.jobs.format, recipe.jobs.file.name) if recipe.jobs else None
    demand_logs = [read_demand(entry.file, entry.format, entry.file.name) for entry in recipe.services]
    windows = [_window_of_service(recipe, entry, log) for entry, log in zip(recipe.services, demand_logs, strict=True)]
    window = _window_of_jobs(recipe.jobs, jobs_log) if recipe.jobs and jobs_log else windows[0]
    horizon = _horizon(recipe, window, windows)
    cluster = _cluster(recipe)
    floor = Floor(cluster)
    built = [
        build_service(log, entry, own.lasting(horizon.steps, horizon.step_minutes), horizon, floor)
        for entry, log, own in zip(recipe.services, demand_logs, windows, strict=True)
    ]
    jobs, jobs_report = _jobs(recipe, jobs_log, window, horizon, floor)
    problem = _problem(recipe, horizon, cluster, jobs, tuple(service for service, _ in built))
    return problem, BuildReport(problem=recipe.name, jobs=jobs_report, services=tuple(report for _, report in built))


def sample_recipe() -> ProblemRecipe:
    """Return the recipe of the day that the package ships: 64 GPUs, half-hour steps, two services."""
    return read_recipe(sample_directory() / "recipe.yaml")


def sample_directory() -> Path:
    """Return the directory with the logs, the cluster and the recipe that the package ships."""
    return Path(str(files("loadfactor.sources") / "sample"))


def _window_of_jobs(recipe: JobsRecipe, log: JobLog) -> Window:
    zone = recipe.day_zone or recipe.format.zone
    first = log.frame["submit_s"].min()
    if not isinstance(first, float):
        raise InputError(log.bad_rows[:20])
    return window_of(recipe.day, zone, first, has_calendar=recipe.format.has_calendar, path=recipe.file.name)


def _window_of_service(recipe: ProblemRecipe, service: ServiceRecipe, log: DemandLog) -> Window:
    """Return the day of a service: its own, or that of the jobs (and then in their zone, unless it states one)."""
    zone = service.day_zone or service.format.zone
    day = service.day
    if day is None and recipe.jobs is not None:
        day = recipe.jobs.day
        zone = service.day_zone or recipe.jobs.day_zone or recipe.jobs.format.zone
    if day is None:
        raise InputError.of(f"service {service.id}", "has no day", "give it one")
    return window_of(day, zone, log.first_s, has_calendar=service.format.has_calendar, path=service.file.name)


def _horizon(recipe: ProblemRecipe, window: Window, windows: list[Window]) -> Horizon:
    wanted = recipe.horizon
    seconds = window.end_s - window.start_s
    steps = wanted.steps or ceil(seconds / (wanted.step_minutes * SECONDS_PER_MINUTE))
    start = next((entry.start for entry in (window, *windows) if entry.start is not None), None)
    return Horizon(steps=steps, step_minutes=wanted.step_minutes, start=start, finish_inside=wanted.finish_inside)


def _cluster(recipe: ProblemRecipe) -> Cluster:
    if recipe.block_sizes is None:
        return recipe.cluster
    return recipe.cluster.model_copy(update={"block_sizes": recipe.block_sizes})


def _jobs(
    recipe: ProblemRecipe, log: JobLog | None, window: Window, horizon: Horizon, floor: Floor
) -> tuple[tuple[Job, ...], JobsReport | None]:
    if recipe.jobs is None or log is None:
        return (), None
    own = window.lasting(horizon.steps, horizon.step_minutes)
    jobs, report = select_jobs(log, Setting(recipe.jobs, recipe.seed, own, horizon, floor.cluster), floor)
    if not jobs:
        raise InputError.of(log_name(recipe.jobs), _nothing(recipe.jobs, log, report), "choose another day or cluster")
    return jobs, report


def log_name(recipe: JobsRecipe) -> str:
    """Return the name by which messages call the log of jobs."""
    return recipe.file.name


def _nothing(recipe: JobsRecipe, log: JobLog, report: JobsReport) -> str:
    if report.left_out:
        reasons = "; ".join(f"{entry.jobs} {entry.reason}" for entry in report.left_out)
        return f"every job of the day {recipe.day} is left out ({reasons})"
    return f"none of its {log.rows_read} rows belongs to the day {recipe.day}; they were submitted {_span(recipe, log)}"


def _span(recipe: JobsRecipe, log: JobLog) -> str:
    """Return when the jobs of `log` were submitted, in words."""
    submitted = log.frame["submit_s"].to_numpy()
    first, last = float(submitted.min()), float(submitted.max())
    if recipe.format.has_calendar and last < LAST_MOMENT_S:
        return (
            f"from {datetime.fromtimestamp(first, UTC):%Y-%m-%d} to {datetime.fromtimestamp(last, UTC):%Y-%m-%d} (UTC)"
        )
    return f"in its days {first // SECONDS_PER_DAY:.0f} to {last // SECONDS_PER_DAY:.0f}"


def _problem(
    recipe: ProblemRecipe, horizon: Horizon, cluster: Cluster, jobs: tuple[Job, ...], services: tuple[Service, ...]
) -> Problem:
    return Problem(
        name=recipe.name, horizon=horizon, objective=recipe.objective, cluster=cluster, jobs=jobs, services=services
    )
