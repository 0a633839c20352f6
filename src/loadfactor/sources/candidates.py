"""The jobs of a day, running, waiting or submitted, in whole steps and blocks, before anyone looks for room."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from math import ceil
from typing import Any, Literal

import polars as pl

from loadfactor.model import Cluster, GpuRange, Horizon, Kind, admissible_sizes
from loadfactor.sources.packing import has_block
from loadfactor.sources.recipe import JobsRecipe
from loadfactor.sources.tables import LINE
from loadfactor.sources.window import Window
from loadfactor.units import SECONDS_PER_HOUR, SECONDS_PER_MINUTE, steps_for

ROUNDING_S = 1e-6
"""Moments pass through 64-bit floats of seconds since 1970, which keep less than a microsecond."""
State = Literal["submitted", "waiting", "running"]


@dataclass(frozen=True)
class Setting:
    """What the rows of a log become jobs in."""

    recipe: JobsRecipe
    seed: int
    window: Window
    horizon: Horizon
    cluster: Cluster


@dataclass(frozen=True)
class Candidate:
    """A job of the day, whether there is room for it or not. `seconds` count from step 0 where it is running."""

    line: int
    id: str
    state: State
    submit_step: int
    seconds: float | None
    requested: float
    size: int | None
    kind: Kind
    priority: float
    capped: bool

    @property
    def gpu_hours(self) -> float:
        """The GPU-hours that the log says the job needs, without padding."""
        return self.requested * (self.seconds or 0.0) / SECONDS_PER_HOUR

    @property
    def padding_gpu_hours(self) -> float:
        """The GPU-hours that padding adds."""
        return ((self.size or 0) - self.requested) * (self.seconds or 0.0) / SECONDS_PER_HOUR

    def steps(self, horizon: Horizon) -> int:
        """Return the whole steps that the job needs, or still needs: rounded up."""
        return steps_for((self.seconds or 0.0) - ROUNDING_S, horizon.step_minutes)


def jobs_of_the_day(frame: pl.DataFrame, setting: Setting) -> list[Candidate]:
    """Return the jobs of `frame` (as in a `JobLog`) that wait, run or are submitted in the window, by submission."""
    day = _of_the_day(frame, setting.recipe, setting.window)
    size_for = cache(lambda gpus: _padded(setting.cluster, gpus))
    return [_candidate(row, setting, size_for) for row in day.iter_rows(named=True)]


def draw(seed: int, purpose: str, job: str) -> float:
    """Return a number in [0, 1) that depends on the seed, the purpose and the job alone, not on its neighbours."""
    digest = blake2b(f"{seed}\0{purpose}\0{job}".encode(), digest_size=7).digest()
    return (int.from_bytes(digest) >> 3) / 2**53


def _of_the_day(frame: pl.DataFrame, recipe: JobsRecipe, window: Window) -> pl.DataFrame:
    """Return the jobs that wait, run or are submitted in the window, with their `state` and `begin_s`.

    A job without a start is taken to have started when it was submitted.
    """
    scaled = frame.with_columns(
        duration_s=pl.col("duration_s") * recipe.scale_duration,
        gpus=pl.col("gpus") * recipe.scale_gpus,
        begin_s=pl.coalesce("start_s", "submit_s"),
    )
    before = pl.col("submit_s") < window.start_s
    began = pl.col("begin_s") < window.start_s
    runs_into = pl.col("begin_s") + pl.col("duration_s") > window.start_s
    state = (
        pl.when(~before & (pl.col("submit_s") < window.end_s))
        .then(pl.lit("submitted"))
        .when(before & ~began)
        .then(pl.lit("waiting"))
        .when(began & runs_into)
        .then(pl.lit("running"))
    )
    return scaled.with_columns(state=state).filter(pl.col("state").is_not_null()).sort("submit_s", LINE)


def _candidate(row: dict[str, Any], setting: Setting, size_for: Callable[[int], int | None]) -> Candidate:
    recipe, state, requested = setting.recipe, row["state"], row["gpus"] or 0.0
    whole = ceil(requested - ROUNDING_S)
    kind = recipe.format.kind_of(row["kind"])
    priority = row["priority"]
    return Candidate(
        line=row[LINE],
        id=row["id"],
        state=state,
        submit_step=_submit_step(row["submit_s"], setting),
        seconds=_seconds(row, setting.window),
        requested=requested,
        size=whole if state == "running" else size_for(whole),
        kind=_drawn_kind(recipe, setting.seed, row["id"]) if kind is None else kind,
        priority=_drawn_priority(recipe, setting.seed, row["id"]) if priority is None else priority,
        capped=row["capped"],
    )


def _seconds(row: dict[str, Any], window: Window) -> float | None:
    """Return the run time, or what is left of it at step 0, or None where the log does not say."""
    seconds: float | None = row["duration_s"]
    if row["state"] == "running" and seconds is not None:
        return float(row["begin_s"]) + seconds - window.start_s
    return seconds


def _submit_step(submit_s: float, setting: Setting) -> int:
    """Return the first step that starts at or after the submission: a job is never planned before it exists."""
    late = max(0.0, submit_s - setting.window.start_s - ROUNDING_S)
    return ceil(late / (setting.horizon.step_minutes * SECONDS_PER_MINUTE))


def _padded(cluster: Cluster, gpus: int) -> int | None:
    """Return the smallest block size of at least `gpus`, or None where the cluster has no such block."""
    if gpus > cluster.gpu_count:
        return None
    sizes = admissible_sizes(cluster, GpuRange(min=max(gpus, 1), max=cluster.gpu_count))
    return next((size for size in sizes if has_block(cluster, size)), None)


def _drawn_kind(recipe: JobsRecipe, seed: int, job: str) -> Kind:
    place = draw(seed, "kind", job) * sum(recipe.kinds.values())
    for kind, share in recipe.kinds.items():
        place -= share
        if place < 0:
            return kind
    return max(recipe.kinds, key=lambda kind: recipe.kinds[kind])


def _drawn_priority(recipe: JobsRecipe, seed: int, job: str) -> float:
    return recipe.priorities[int(draw(seed, "priority", job) * len(recipe.priorities))]
