"""Telemetry as activity and power of the fleet's GPUs: samples become spans, slices of a GPU shares of it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from loadfactor.audit.activity import Activity
from loadfactor.audit.fleet import Fleet
from loadfactor.audit.power import Power
from loadfactor.audit.window import Window
from loadfactor.sources.kubernetes.requests import share_of_slice
from loadfactor.sources.telemetry.samples import Telemetry

LONGEST_SPAN_STEPS = 3
"""A sample speaks for the time until the next one, for at most so many times the usual distance of two samples."""


def measured(telemetry: Telemetry, fleet: Fleet, window: Window) -> tuple[Activity, Power, tuple[str, ...]]:
    """Return what the fleet's GPUs did and drew within the window, and notes on what could not be used.

    A host is the node of its name, with or without a domain. A GPU that is cut into slices is as active as its slices
    together, each by its share of the GPU; a slice whose size is not known counts as the whole. Power is what the
    energy counter grew by, where there is one, else the power that was drawn at the sample.
    """
    frame = telemetry.samples.filter(pl.col("gpu").is_not_null())
    numbered, strangers = _numbered(frame, fleet)
    notes = [f"telemetry of {name} is not used: the fleet has no such node or GPU" for name in strangers[:5]]
    if telemetry.left_out:
        notes.append(
            f"{len(telemetry.left_out):,} parts of the telemetry were left out ({telemetry.left_out[0].fault})"
        )
    spans = _spans(_by_gpu(numbered), window)
    if numbered.height and not spans.height:
        notes.append("telemetry tells of no span in the window: give samples of several moments in it")
    known = spans.filter(pl.col("share").is_not_null())
    drew = spans.filter(pl.col("watts").is_not_null())
    activity = Activity(*_arrays(known, "number", "begin", "end", "share"))
    power = Power(*_arrays(drew, "number", "begin", "end", "watts", "share"))
    return activity, power, (*telemetry.notes, *notes)


def _by_gpu(numbered: pl.DataFrame) -> pl.DataFrame:
    """Return one row for every GPU and moment, by both: its activity, and the watts that it drew."""
    part = pl.col("slice_profile").map_elements(_part, pl.Float64).fill_null(1.0)
    any_known = pl.col("part").is_not_null().any()
    energy = pl.col("energy_joules").max()
    return (
        numbered.with_columns(part=pl.col("utilization") * part)
        .group_by("number", "time", maintain_order=True)
        .agg(
            share=pl.when(any_known).then(pl.col("part").sum().clip(0.0, 1.0)),
            power=pl.col("power_watts").max(),
            energy=energy,
        )
        .sort("number", "time")
    )


def _spans(by_gpu: pl.DataFrame, window: Window) -> pl.DataFrame:
    """Return the samples as spans to the next one, of at most LONGEST_SPAN_STEPS usual lengths, cut to the window."""
    apart = pl.col("time").shift(-1).over("number") - pl.col("time")
    grown = pl.col("energy").shift(-1).over("number") - pl.col("energy")
    spans = by_gpu.with_columns(apart=apart, grown=grown)
    usual = spans["apart"].median()
    step = float(usual) if isinstance(usual, int | float) else 0.0
    spans = spans.with_columns(pl.col("apart").fill_null(step).clip(0.0, LONGEST_SPAN_STEPS * step).alias("length"))
    by_counter = pl.when(pl.col("grown") >= 0).then(pl.col("grown") / pl.col("apart"))
    return spans.with_columns(
        watts=pl.coalesce(by_counter, "power"),
        begin=pl.col("time").clip(lower_bound=window.begin),
        end=(pl.col("time") + pl.col("length")).clip(upper_bound=window.end),
    ).filter(pl.col("end") > pl.col("begin"))


def _arrays(spans: pl.DataFrame, *columns: str) -> list[npt.NDArray[Any]]:
    return [
        spans[column].fill_null(np.nan).to_numpy() if column == "share" else spans[column].to_numpy()
        for column in columns
    ]


def _part(profile: str) -> float:
    share = share_of_slice(profile)
    return 1.0 if share is None else share


def _short_names(fleet: Fleet) -> dict[str, int]:
    """Return the position of each node by its name without a domain, where that names one node only."""
    count = Counter(_short(name) for name in fleet.number)
    return {_short(name): position for name, position in fleet.number.items() if count[_short(name)] == 1}


def _short(host: str) -> str:
    """Return a host's name without its domain; an address has none."""
    return host if host.replace(".", "").replace(":", "").isdecimal() else host.partition(".")[0]


def _numbered(frame: pl.DataFrame, fleet: Fleet) -> tuple[pl.DataFrame, list[str]]:
    """Return the samples with the fleet's number of their GPU, and the hosts that are no node of it."""
    short = _short_names(fleet)
    numbers: list[int | None] = []
    strangers: dict[str, None] = {}
    for host, gpu in frame.select("host", "gpu").iter_rows():
        name = host or ""
        node = fleet.number.get(name, short.get(_short(name)))
        if node is None or gpu >= fleet.nodes[node].gpus:
            strangers[name] = None
            numbers.append(None)
        else:
            numbers.append(int(fleet.first_gpu[node]) + gpu)
    numbered = frame.with_columns(pl.Series("number", numbers, dtype=pl.Int64)).filter(pl.col("number").is_not_null())
    return numbered, list(strangers)
