"""The demand of services from a file: GPUs needed as they are stated, or rates by what a GPU serves."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from loadfactor.audit.services import Demand
from loadfactor.errors import InputError
from loadfactor.sources.demand import read_demand
from loadfactor.sources.formats import DemandFormat

MOST_GPUS = 10_000_000


def demand_of(file: Path, form: DemandFormat, per_gpu: float, column: str = "requests") -> Demand:
    """Return the GPUs that services needed, from rates of which one GPU serves `per_gpu` a second.

    `column` says what counts: requests, input_tokens or output_tokens. A log that states GPUs is one whose rate is in
    GPUs, with `per_gpu` 1. Bins that the log does not have stay unknown. Raises `InputError` for a log without a
    calendar: nothing then says when its demand was.
    """
    if not form.has_calendar:
        remedy = "give a log with dates or seconds since 1970 (times: epoch)"
        raise InputError.of(file.name, "counts its moments from its own start, not by a calendar", remedy)
    log = read_demand(file, form, file.name)
    rates = getattr(log, column)
    begin = log.first_s + log.bin_seconds * np.arange(len(rates))
    known = ~np.isnan(rates)
    if not known.any():
        raise InputError.of(file.name, f"has no {column} that are known", "choose another column")
    gpus = rates[known] / per_gpu
    if gpus.max() > MOST_GPUS:
        remedy = "correct it, or say with --demand-per-gpu what one GPU serves"
        raise InputError.of(file.name, f"needs {gpus.max():g} GPUs at once, and {MOST_GPUS:,} are accepted", remedy)
    return Demand(begin[known], begin[known] + log.bin_seconds, gpus)
