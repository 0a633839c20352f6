"""Samples of GPUs in columns: one row for each device and moment, with null for whatever is not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from loadfactor.errors import Fault
from loadfactor.sources.facts import LeftOut
from loadfactor.sources.prometheus import Numbers
from loadfactor.sources.telemetry.devices import Described, Device, described, device_of, workload_of
from loadfactor.sources.telemetry.metrics import METRICS, is_blank, is_impossible

_VALUES = tuple(metric.column for metric in METRICS.values())
_KEY = ["time", "device"]
_REMEDY = "look at the exporter's version and configuration"
SCHEMA: Mapping[str, pl.DataType] = {
    "time": pl.Float64(),
    "host": pl.String(),
    "gpu": pl.Int64(),
    "uuid": pl.String(),
    "slice_id": pl.Int64(),
    "slice_profile": pl.String(),
    "model": pl.String(),
    "workloads": pl.List(pl.String()),
    "utilization": pl.Float64(),
    "utilization_of": pl.String(),
    "memory_used_mib": pl.Float64(),
    "memory_free_mib": pl.Float64(),
    "power_watts": pl.Float64(),
    "energy_joules": pl.Float64(),
    "energy_used_joules": pl.Float64(),
    "xid": pl.Int64(),
}


@dataclass(frozen=True)
class Telemetry:
    """Samples of GPUs, in the order of host, GPU, slice and time; `samples` has the columns of `SCHEMA`:

    - `time`: seconds since 1970 in UTC. `host`, `gpu` (index on the host), `uuid`, `model`: which GPU.
    - `slice_id`, `slice_profile`: which slice of it (MIG, `GPU_I_ID`); null for the whole GPU.
    - `workloads`: the pods (`namespace/pod`) or Slurm jobs (`job:ID`) that it works for; empty where none is told.
    - `utilization`: 0 to 1; the share of time that its engines were active where `utilization_of` is `engine`
      (DCGM_FI_PROF_GR_ENGINE_ACTIVE), and that a kernel ran where it is `device` (DCGM_FI_DEV_GPU_UTIL).
    - `memory_used_mib`, `memory_free_mib`, `power_watts`.
    - `energy_joules`: a counter since the driver was loaded. `energy_used_joules`: what it grew by since the device's
      last sample; a counter that fell was set back to 0 and has grown by what it shows.
    - `xid`: the number of the last XID error, 0 for none.

    Null is "not known", never 0. `samples_read` counts single values, `left_out` names lines and series.
    """

    source: str
    samples: pl.DataFrame
    samples_read: int
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _SeriesOfDevice:
    metric: str
    device: int
    workload: str | None
    times: Numbers
    values: Numbers
    place: str


@dataclass
class Collector:
    """Collects values of metrics by device, and puts them into columns."""

    left_out: list[LeftOut] = field(default_factory=list)
    samples_read: int = 0
    _devices: dict[Device, int] = field(default_factory=dict)
    _descriptions: list[Described] = field(default_factory=list)
    _series: list[_SeriesOfDevice] = field(default_factory=list)

    def add(self, metric: str, labels: Mapping[str, str], times: Numbers, values: Numbers, place: str) -> None:
        """Add values of one device and metric, as DCGM writes them; `place` is where they stand."""
        self.samples_read += len(values)
        self._series.append(_SeriesOfDevice(metric, self._number(labels), workload_of(labels), times, values, place))

    def telemetry(self, source: str, notes: Sequence[str] = ()) -> Telemetry:
        """Return everything that was added; impossible values are left out, and blank ones counted in a note."""
        chunks, blank = [_no_values()], 0
        for metric in METRICS:
            chunk, chunk_blank, left_out = _of_metric(metric, [one for one in self._series if one.metric == metric])
            chunks.append(chunk)
            blank += chunk_blank
            self.left_out += left_out
        every = pl.concat(chunks)
        doubled = every.height - every.select("time", "device", "column", "workload").n_unique()
        wide = _with_utilization(_wide(every)).join(self._device_frame(), on="device", how="left")
        frame = with_energy_used(wide, "device").select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
        said = list(notes)
        if blank:
            said.append(f"{source}: {blank} of {self.samples_read} values are marks for a value that nobody knows")
        if doubled:
            said.append(f"{source}: {doubled} values repeat a GPU, metric and moment; the first of each is kept")
        frame = frame.sort("host", "gpu", "uuid", "slice_id", "time", maintain_order=True)
        return Telemetry(source, frame, self.samples_read, tuple(self.left_out), tuple(said))

    def _number(self, labels: Mapping[str, str]) -> int:
        device = device_of(labels)
        if device not in self._devices:
            self._devices[device] = len(self._descriptions)
            self._descriptions.append(described(labels))
        return self._devices[device]

    def _device_frame(self) -> pl.DataFrame:
        rows = [
            (number, device.host, device.gpu, device.uuid, device.slice_id, about.slice_profile, about.model)
            for (device, number), about in zip(self._devices.items(), self._descriptions, strict=True)
        ]
        names = ("host", "gpu", "uuid", "slice_id", "slice_profile", "model")
        return pl.DataFrame(rows, {"device": pl.Int64, **{name: SCHEMA[name] for name in names}}, orient="row")


def with_energy_used(frame: pl.DataFrame, *device: str) -> pl.DataFrame:
    """Add `energy_used_joules`: by how much the counter `energy_joules` grew since the device's last known value."""
    ordered = frame.sort(*device, "time", maintain_order=True)
    counter = pl.col("energy_joules")
    last = counter.forward_fill().shift(1).over(*device)
    grown = pl.when(counter >= last).then(counter - last).when(counter < last).then(counter)
    return ordered.with_columns(grown.alias("energy_used_joules"))


def _no_values() -> pl.DataFrame:
    schema = {"time": pl.Float64, "value": pl.Float64, "device": pl.Int64, "column": pl.String, "workload": pl.String}
    return pl.DataFrame(schema=schema)


def _of_metric(metric: str, series: list[_SeriesOfDevice]) -> tuple[pl.DataFrame, int, list[LeftOut]]:
    """Return the values of one metric in its column's unit, how many were blank, and what was impossible."""
    if not series:
        return _no_values(), 0, []
    about = METRICS[metric]
    lengths = [len(one.values) for one in series]
    values = np.concatenate([one.values for one in series])
    blank, impossible = is_blank(values), is_impossible(about, values)
    which = np.repeat(np.arange(len(series)), lengths)
    frame = pl.DataFrame(
        {
            "time": np.concatenate([one.times for one in series]),
            "value": np.where(blank | impossible, np.nan, values) * about.unit,
            "device": np.repeat(np.array([one.device for one in series], dtype=np.int64), lengths),
            "column": pl.repeat(about.column, len(values), eager=True),
            "workload": pl.Series([one.workload for one in series], dtype=pl.String).gather(which),
        }
    ).with_columns(pl.col("value").fill_nan(None))
    bad = np.bincount(which[impossible], minlength=len(series))
    left_out = [
        LeftOut(Fault(series[index].place, _impossible(metric, int(bad[index]), lengths[index]), _REMEDY))
        for index in np.flatnonzero(bad)
    ]
    return frame, int(blank.sum()), left_out


def _impossible(metric: str, count: int, of: int) -> str:
    if of == 1:
        return f"{metric}: its value cannot be, and counts as not known"
    return f"{metric}: {count} of its {of} values cannot be, and count as not known"


def _wide(every: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each moment and device, with a column for each metric and the workloads that were named."""
    wide = every.select(_KEY).unique()
    known = every.drop_nulls("value")
    for column in _VALUES:
        values = known.filter(pl.col("column") == column).select(*_KEY, pl.col("value").alias(column))
        wide = wide.join(values.unique(_KEY, keep="first", maintain_order=True), on=_KEY, how="left")
    named = every.select(*_KEY, "workload").drop_nulls().unique().sort("workload")
    workloads = named.group_by(_KEY, maintain_order=True).agg(pl.col("workload").alias("workloads"))
    nobody = pl.lit([], dtype=pl.List(pl.String))
    return wide.join(workloads, on=_KEY, how="left").with_columns(pl.col("workloads").fill_null(nobody))


def _with_utilization(frame: pl.DataFrame) -> pl.DataFrame:
    engine, device = pl.col("engine_active").clip(0.0, 1.0), pl.col("device_utilization")
    source = pl.when(engine.is_not_null()).then(pl.lit("engine")).when(device.is_not_null()).then(pl.lit("device"))
    return frame.with_columns(utilization=pl.coalesce(engine, device), utilization_of=source)


def single(value: float) -> Numbers:
    """Return an array of one number."""
    return np.array([value], dtype=np.float64)
