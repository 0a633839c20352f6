"""From traces to a virtual world: arrivals squeezed by a load factor, priorities and limits drawn, demand scaled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec.structs import replace

from loadfactor.control import BlockSizes, JobRequest
from loadfactor.engines import Arrival
from loadfactor.errors import InputError
from loadfactor.model import Cluster, Kind
from loadfactor.sources import JobLog
from loadfactor.units import SECONDS_PER_DAY

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
KINDS = frozenset(get_args(Kind))
SHORTEST_LIMIT, LONGEST_LIMIT = 1.2, 10.0
"""How many times too long users' limits are, where the trace has none: drawn evenly in the logarithm."""
DEFAULT_PRIORITIES = (1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True)
class Moldable:
    """A `share` of the jobs, drawn, can use from 1 / `down` to `up` times the GPUs that they asked for."""

    share: float = 0.0
    down: int = 2
    up: int = 2


@dataclass(frozen=True)
class JobsRecipe:
    """How a log becomes arrivals.

    `load` squeezes the arrivals: 1.8 lets them come 1.8 times as fast. A `sample` below 1 keeps that share of the jobs,
    drawn with `seed`, which also draws priorities and limits. `first_day` and `days` cut the log, counted from its
    first submission. Where the log states no limit, it is drawn between the two of `limit_factor` times the run time.
    All jobs need GPUs of `gpu_types` with `gpu_memory_gib`, where these are stated.
    """

    load: float = 1.0
    seed: int = 0
    sample: float = 1.0
    first_day: int = 0
    days: int | None = None
    priorities: tuple[float, ...] = DEFAULT_PRIORITIES
    limit_factor: tuple[float, float] = (SHORTEST_LIMIT, LONGEST_LIMIT)
    moldable: Moldable = Moldable()
    gpu_types: tuple[str, ...] | None = None
    gpu_memory_gib: float | None = None


@dataclass(frozen=True)
class LeftOutJobs:
    """Jobs of a log that cannot be replayed, and why."""

    without_run_time: int = 0
    without_gpus: int = 0
    too_large: int = 0


def arrivals_of(
    log: JobLog, cluster: Cluster, recipe: JobsRecipe, prefix: str = ""
) -> tuple[list[Arrival], LeftOutJobs]:
    """Return the arrivals, by time from second 0 on, and what was left out; ids get `prefix` in front.

    Raises `InputError` where nothing is left.
    """
    frame = _cut(log.frame, recipe)
    known = frame.filter(pl.col("duration_s").is_not_null())
    sized = known.filter(pl.col("gpus") > 0).with_columns(pl.col("gpus").ceil().cast(pl.Int64))
    sizes = BlockSizes(cluster)
    needy = JobRequest("", 1, gpu_types=recipe.gpu_types, gpu_memory_gib=recipe.gpu_memory_gib)
    fitting = sized.filter(pl.col("gpus") <= max(sizes.of_need(sizes.need(needy)), default=0))
    left_out = LeftOutJobs(frame.height - known.height, known.height - sized.height, sized.height - fitting.height)
    if not fitting.height:
        raise InputError.of("jobs", _nothing_left(left_out), "choose other days, or a larger cluster")
    return _drawn(fitting.sort("submit_s", maintain_order=True), recipe, prefix), left_out


def _nothing_left(left_out: LeftOutJobs) -> str:
    reasons = {
        "without a run time": left_out.without_run_time,
        "without a GPU": left_out.without_gpus,
        "larger than any block": left_out.too_large,
    }
    told = [f"{count} {reason}" for reason, count in reasons.items() if count]
    return f"no job of these days is left to replay ({', '.join(told) or 'none was submitted in them'})"


def _cut(frame: pl.DataFrame, recipe: JobsRecipe) -> pl.DataFrame:
    first = frame["submit_s"].min()
    begin = pl.lit(first) + recipe.first_day * SECONDS_PER_DAY
    frame = frame.filter(pl.col("submit_s") >= begin)
    if recipe.days is not None:
        frame = frame.filter(pl.col("submit_s") < begin + recipe.days * SECONDS_PER_DAY)
    if recipe.sample < 1:
        kept = np.random.default_rng([recipe.seed, 1]).random(frame.height) < recipe.sample
        frame = frame.filter(pl.Series(kept))
    return frame


def _drawn(frame: pl.DataFrame, recipe: JobsRecipe, prefix: str) -> list[Arrival]:
    random = np.random.default_rng([recipe.seed, 0])
    count = frame.height
    submit = frame["submit_s"].to_numpy()
    at = np.floor((submit - submit[0]) / recipe.load).astype(np.int64)
    run_seconds = np.maximum(1, np.round(frame["duration_s"].to_numpy())).astype(np.int64)
    drawn = random.choice(np.array(recipe.priorities), size=count)
    stated = frame["priority"].cast(pl.Float64).to_numpy()
    priority = np.where(np.isnan(stated), drawn, stated)
    least, most = recipe.limit_factor
    factor = np.exp(random.uniform(np.log(least), np.log(most), size=count))
    stated_limit = frame["limit_s"].to_numpy()
    limit = np.ceil(np.where(stated_limit > 0, stated_limit, run_seconds * factor)).astype(np.int64)
    molten = np.random.default_rng([recipe.seed, 2]).random(count) < recipe.moldable.share
    made = zip(
        at.tolist(), _requests(frame, prefix, priority, limit), run_seconds.tolist(), molten.tolist(), strict=True
    )
    return [
        _arrival(second, _needy(request, recipe), run, recipe.moldable if may else None)
        for second, request, run, may in made
    ]


def _needy(request: JobRequest, recipe: JobsRecipe) -> JobRequest:
    if recipe.gpu_types is None and recipe.gpu_memory_gib is None:
        return request
    return replace(request, gpu_types=recipe.gpu_types, gpu_memory_gib=recipe.gpu_memory_gib)


def _arrival(at: int, request: JobRequest, run_seconds: int, moldable: Moldable | None) -> Arrival:
    """Return the arrival of a job; a moldable one does the same work on fewer or more GPUs."""
    if moldable is None:
        return Arrival(at, request, run_seconds)
    fewest = max(1, request.gpus // moldable.down)
    stated = None if request.limit_seconds is None else request.limit_seconds * request.gpus
    work = run_seconds * request.gpus
    changed = replace(
        request, gpus=fewest, most_gpus=request.gpus * moldable.up, work_gpu_seconds=stated or work, limit_seconds=None
    )
    return Arrival(at, changed, -(-work // fewest))


def _requests(frame: pl.DataFrame, prefix: str, priority: Floats, limit: Ints) -> Iterator[JobRequest]:
    columns = (frame[name].to_list() for name in ("id", "gpus", "kind", "user", "name", "account"))
    for job_id, gpus, kind, user, name, account, worth, seconds in zip(
        *columns, priority.tolist(), limit.tolist(), strict=True
    ):
        known: Kind = kind if kind in KINDS else "training"
        yield JobRequest(prefix + job_id, gpus, known, worth, seconds, user, name, account)


def merged(parts: Sequence[list[Arrival]]) -> list[Arrival]:
    """Return the arrivals of several traces as one, by time."""
    return sorted((arrival for part in parts for arrival in part), key=lambda arrival: arrival.at)


def scaled_demand(
    rates: Mapping[str, Floats], peak_gpus: int, shares: Mapping[str, float] | None = None
) -> dict[str, Ints]:
    """Return GPUs for every step and service, so that all together need `peak_gpus` at their common peak.

    `rates` are requests or tokens per second in bins of one step; before that the peaks of the services are to one
    another as their `shares` (all alike where none are given). Shorter curves begin again at their end, and missing
    bins hold the last known value.
    """
    steps = max(len(curve) for curve in rates.values())
    weight = shares or dict.fromkeys(rates, 1.0)
    shaped = {
        name: np.resize(_filled(curve) * (weight[name] / np.nanmax(curve)), steps) for name, curve in rates.items()
    }
    peak = np.sum(list(shaped.values()), axis=0).max()
    return {name: np.ceil(curve * (peak_gpus / peak)).astype(np.int64) for name, curve in shaped.items()}


def rate_by_step(rates: Floats, bin_seconds: float, step_seconds: int) -> Floats:
    """Return the largest rate of the bins that each step meets; NaN where none of them is known.

    A step counts from the beginning of the log; the last one may reach beyond its end.
    """
    steps = int(np.ceil(len(rates) * bin_seconds / step_seconds - 1e-9))
    first = np.floor(np.arange(steps) * step_seconds / bin_seconds + 1e-9).astype(np.int64)
    last = np.ceil((np.arange(steps) + 1) * step_seconds / bin_seconds - 1e-9).astype(np.int64)
    by_step: Floats = np.array(
        [np.fmax.reduce(rates[low:high]) for low, high in zip(first, np.minimum(last, len(rates)), strict=True)]
    )
    return by_step


def _filled(curve: Floats) -> Floats:
    known = np.flatnonzero(~np.isnan(curve))
    last = known[np.maximum(0, np.searchsorted(known, np.arange(len(curve)), side="right") - 1)]
    return curve[last]
