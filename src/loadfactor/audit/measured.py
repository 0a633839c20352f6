"""Telemetry as activity of the fleet's GPUs: samples become spans, slices of a GPU become shares of it."""

from __future__ import annotations

import numpy as np
import polars as pl

from loadfactor.audit.activity import Activity
from loadfactor.audit.fleet import Fleet
from loadfactor.audit.window import Window
from loadfactor.sources.kubernetes.requests import share_of_slice
from loadfactor.sources.telemetry.samples import Telemetry

LONGEST_SPAN_STEPS = 3
"""A sample speaks for the time until the next one, for at most so many times the usual distance of two samples."""


def activity_of(telemetry: Telemetry, fleet: Fleet, window: Window) -> tuple[Activity, tuple[str, ...]]:
    """Return what telemetry says of the fleet's GPUs within the window, and notes on what could not be used.

    A host is the node of its name, with or without a domain. A GPU that is cut into slices is as active as its slices
    together, each by its share of the GPU; a slice whose size is not known counts as the whole.
    """
    frame = telemetry.samples.filter(pl.col("utilization").is_not_null() & pl.col("gpu").is_not_null())
    numbered, strangers = _numbered(frame, fleet)
    notes = [f"telemetry of {name} is not used: the fleet has no such node" for name in strangers[:5]]
    by_gpu = (
        numbered.with_columns(share=pl.col("utilization") * pl.col("slice_profile").map_elements(_part, pl.Float64))
        .with_columns(share=pl.coalesce("share", "utilization"))
        .group_by("number", "time", maintain_order=True)
        .agg(pl.col("share").sum().clip(0.0, 1.0))
        .sort("number", "time")
    )
    spans = by_gpu.with_columns(apart=pl.col("time").shift(-1).over("number") - pl.col("time"))
    usual = spans["apart"].median()
    longest = LONGEST_SPAN_STEPS * float(usual) if isinstance(usual, int | float) else 0.0
    spans = spans.with_columns(apart=pl.col("apart").fill_null(longest / LONGEST_SPAN_STEPS).clip(0.0, longest))
    begin = np.maximum(spans["time"].to_numpy(), window.begin)
    end = np.minimum((spans["time"] + spans["apart"]).to_numpy(), window.end)
    kept = end > begin
    activity = Activity(
        spans["number"].to_numpy()[kept], begin[kept], end[kept], spans["share"].to_numpy().astype(np.float64)[kept]
    )
    return activity, (*telemetry.notes, *notes)


def _part(profile: str) -> float:
    share = share_of_slice(profile)
    return 1.0 if share is None else share


def _numbered(frame: pl.DataFrame, fleet: Fleet) -> tuple[pl.DataFrame, list[str]]:
    """Return the samples with the fleet's number of their GPU, and the hosts that are no node of it."""
    short = {name.partition(".")[0]: position for name, position in fleet.number.items()}
    numbers: list[int | None] = []
    strangers: dict[str, None] = {}
    for host, gpu in frame.select("host", "gpu").iter_rows():
        name = host or ""
        node = fleet.number.get(name, short.get(name.partition(".")[0]))
        if node is None or gpu >= fleet.nodes[node].gpus:
            strangers[name] = None
            numbers.append(None)
        else:
            numbers.append(int(fleet.first_gpu[node]) + gpu)
    numbered = frame.with_columns(pl.Series("number", numbers, dtype=pl.Int64)).filter(pl.col("number").is_not_null())
    return numbered, list(strangers)
