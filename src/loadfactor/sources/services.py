"""From a log of demand to a service: the bins of the horizon, what is missing filled in, and GPUs for every step."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor

import numpy as np
import numpy.typing as npt

from loadfactor.errors import InputError
from loadfactor.model import Horizon, Service, limits
from loadfactor.sources.demand import DemandLog, Rates
from loadfactor.sources.jobs import bad_row_count
from loadfactor.sources.packing import Floor
from loadfactor.sources.recipe import DEFAULT_HEADROOM, ServiceRecipe, Throughput
from loadfactor.sources.report import BAD_ROWS_LISTED, BadRow, ServiceReport
from loadfactor.sources.window import Window
from loadfactor.units import SECONDS_PER_MINUTE

_ROUNDING = 1e-9
_BY_REQUESTS = Throughput(requests=1.0)


@dataclass(frozen=True)
class Bins:
    """The load in the bins that cover a window; the first one starts `offset_s` after (or before) the window does."""

    load: Rates
    offset_s: float
    bin_seconds: float
    missing: int
    zero: int
    held: int
    without_tokens: int
    token_coverage: float | None


def build_service(
    log: DemandLog, recipe: ServiceRecipe, window: Window, horizon: Horizon, floor_: Floor
) -> tuple[Service, ServiceReport]:
    """Return the service and what its curve was made from; the GPUs that it holds come from `floor_`.

    Raises `InputError` when the log has nothing in the window, or the curve needs more GPUs than any document may have.
    """
    bins = bins_of(log, recipe, window)
    load = load_by_step(bins, horizon, recipe.statistic)
    gpu_count = floor_.cluster.gpu_count
    scale = _gpus_per_unit(load, recipe, gpu_count)
    demand = np.ceil(load * scale - _ROUNDING)
    if demand.max() > limits.MAX_GPUS:
        fact = f"the curve needs {demand.max():.0f} GPUs at its peak, and {limits.MAX_GPUS} are accepted"
        raise InputError.of(f"service {recipe.id}", fact, "check the unit of throughput")
    service = _service(recipe, tuple(int(gpus) for gpus in demand), floor_)
    return service, _report(log, recipe, bins, service, scale, gpu_count)


def bins_of(log: DemandLog, recipe: ServiceRecipe, window: Window) -> Bins:
    """Return the load in the bins that cover `window`, missing and zero ones filled as the recipe says."""
    first = floor((window.start_s - log.first_s) / log.bin_seconds + _ROUNDING)
    last = ceil((window.end_s - log.first_s) / log.bin_seconds - _ROUNDING)
    inside = slice(max(0, first), max(0, last))
    requests = log.requests[inside]
    missing = np.full(last - first, True)
    missing[max(0, -first) : max(0, -first) + len(requests)] = np.isnan(requests)
    if missing.all():
        end = log.first_s + len(log.requests) * log.bin_seconds
        wanted = f"{window.start_s:.0f} to {window.end_s:.0f}"
        fact = f"has no demand in the seconds {wanted}: it covers {log.first_s:.0f} to {end:.0f}"
        raise InputError.of(recipe.file.name, fact, "choose another day")
    whole, unknown = _load(log, recipe.throughput or _BY_REQUESTS, recipe)
    zero = (log.requests == 0)[inside]
    replaced = np.isnan(log.requests) if recipe.gaps == "hold" else np.zeros(len(whole), dtype=bool)
    replaced |= (log.requests == 0) & (recipe.zeros == "hold")
    load = _covering(_held(np.where(replaced, np.nan, whole)), first, last, recipe.gaps)
    held = int(replaced[inside].sum()) + (int(missing.sum()) - int(np.isnan(requests).sum())) * (recipe.gaps == "hold")
    return Bins(
        load=load,
        offset_s=log.first_s + first * log.bin_seconds - window.start_s,
        bin_seconds=log.bin_seconds,
        missing=int(missing.sum()),
        zero=int(zero.sum()),
        held=held,
        without_tokens=int(unknown[inside].sum()),
        token_coverage=_coverage(log, inside),
    )


def load_by_step(bins: Bins, horizon: Horizon, statistic: str | float) -> Rates:
    """Return one load for every step: the max, mean or quantile of the bins that overlap it."""
    step_seconds = horizon.step_minutes * SECONDS_PER_MINUTE
    load = np.empty(horizon.steps)
    for step in range(horizon.steps):
        first = floor((step * step_seconds - bins.offset_s) / bins.bin_seconds + _ROUNDING)
        end = ceil(((step + 1) * step_seconds - bins.offset_s) / bins.bin_seconds - _ROUNDING)
        values = bins.load[first : max(end, first + 1)]
        if statistic == "max":
            load[step] = values.max()
        else:
            load[step] = values.mean() if statistic == "mean" else np.quantile(values, float(statistic))
    return load


def _load(log: DemandLog, throughput: Throughput, recipe: ServiceRecipe) -> tuple[Rates, npt.NDArray[np.bool_]]:
    """Return the load in GPUs of stated throughput, and in which bins its token counts had to be held over."""
    unknown = np.zeros(len(log.requests), dtype=bool)
    load = log.requests / throughput.requests if throughput.requests is not None else np.zeros(len(log.requests))
    parts = ((log.input_tokens, throughput.input_tokens), (log.output_tokens, throughput.output_tokens))
    for tokens, served in parts:
        if served is None:
            continue
        if np.isnan(tokens).all():
            raise InputError.of(recipe.file.name, "states no tokens", "map a column of tokens, or state requests alone")
        without = np.isnan(tokens) & (log.requests > 0)
        unknown |= without
        per_request = _held(np.divide(tokens, log.requests, out=np.full(len(tokens), np.nan), where=log.requests > 0))
        known = np.where(log.requests == 0, 0.0, tokens)
        load = load + np.where(without, per_request * log.requests, known) / served
    return np.where(np.isnan(log.requests), 0.0, load), unknown


def _held(values: Rates) -> Rates:
    """Return `values` with every NaN replaced by the last number before it, or by the first one at the front."""
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        return np.zeros(len(values))
    last = np.searchsorted(known, np.arange(len(values)), side="right") - 1
    return values[known[np.maximum(last, 0)]]


def _covering(load: Rates, first: int, last: int, gaps: str) -> Rates:
    """Return the bins [first, last) of `load`; outside of it the nearest value, or 0."""
    index = np.arange(first, last)
    values = load[np.clip(index, 0, len(load) - 1)]
    return values if gaps == "hold" else np.where((index >= 0) & (index < len(load)), values, 0.0)


def _coverage(log: DemandLog, inside: slice) -> float | None:
    rate, coverage = log.requests[inside], log.coverage[inside]
    known = ~np.isnan(coverage) & (rate > 0)
    if not known.any():
        return None
    return float((rate[known] * coverage[known]).sum() / rate[known].sum())


def _gpus_per_unit(load: Rates, recipe: ServiceRecipe, gpu_count: int) -> float:
    if recipe.peak_share is None:
        return 1 + (DEFAULT_HEADROOM if recipe.headroom is None else recipe.headroom)
    if load.max() <= 0:
        raise InputError.of(f"service {recipe.id}", "its curve is 0 at every step", "choose another day")
    return recipe.peak_share * gpu_count / float(load.max())


def _service(recipe: ServiceRecipe, demand: tuple[int, ...], floor_: Floor) -> Service:
    changes = [abs(later - earlier) for earlier, later in pairwise(demand)]
    service = Service(
        id=recipe.id,
        priority=recipe.priority,
        demand=demand,
        max_swap=max([1, *changes]) if recipe.max_swap is None else recipe.max_swap,
        max_gpus=recipe.max_gpus,
        gpu_memory_gib=recipe.gpu_memory_gib,
        gpu_types=recipe.gpu_types,
    )
    if not recipe.held:
        return service
    wanted = demand[0] if recipe.max_gpus is None else min(demand[0], recipe.max_gpus)
    return service.model_copy(update={"held": floor_.hold(service, wanted)})


def _report(
    log: DemandLog, recipe: ServiceRecipe, bins: Bins, service: Service, scale: float, gpu_count: int
) -> ServiceReport:
    unit, per_unit = _unit(recipe.throughput or _BY_REQUESTS, scale)
    return ServiceReport(
        id=recipe.id,
        file=recipe.file.name,
        rows_read=log.rows_read,
        bad_rows=bad_row_count(log.bad_rows),
        bad_rows_listed=tuple(map(BadRow.of, log.bad_rows[:BAD_ROWS_LISTED])),
        bins=len(bins.load),
        missing_bins=bins.missing,
        zero_bins=bins.zero,
        held_bins=bins.held,
        bins_without_tokens=bins.without_tokens,
        token_coverage=bins.token_coverage,
        load_unit=unit,
        gpus_per_unit=per_unit,
        mean_gpus=round(sum(service.demand) / len(service.demand), 3),
        peak_gpus=max(service.demand),
        steps_above_cluster=sum(gpus > gpu_count for gpus in service.demand),
        max_swap=service.max_swap,
    )


def _unit(throughput: Throughput, scale: float) -> tuple[str, float]:
    stated = {
        "request a second": throughput.requests,
        "input token a second": throughput.input_tokens,
        "output token a second": throughput.output_tokens,
    }
    given = {unit: served for unit, served in stated.items() if served is not None}
    if len(given) == 1:
        unit, served = next(iter(given.items()))
        return unit, scale / served
    return "GPU of load at the stated throughput", scale
