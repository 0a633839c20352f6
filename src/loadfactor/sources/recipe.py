"""The recipe of a problem: which logs, which day, which cluster, and every choice in between, in one frozen noun."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from loadfactor.errors import Fault, InputError
from loadfactor.model import BlockSizes, Cluster, Kind, Objective, limits, read_document
from loadfactor.model.base import Count, Memory, Noun, Priority, Text
from loadfactor.model.faults import contradiction, contradictions, faults_of
from loadfactor.model.workload import GpuTypes
from loadfactor.sources.clusters import is_spec, parse_cluster
from loadfactor.sources.formats import DemandFormat, JobFormat, PositiveNumber, Zone
from loadfactor.sources.presets import DEMAND_PRESETS, JOB_PRESETS
from loadfactor.sources.window import Day

DEFAULT_HEADROOM = 0.2
Share = Annotated[float, Field(gt=0, le=1)]


class HorizonRecipe(Noun):
    """The grid's steps. Without `steps` the horizon reaches to the end of the day (23 or 25 hours where clocks change).

    A day is cut from a stream of days, so a job may run past it unless `finish_inside` is set.
    """

    step_minutes: Annotated[float, Field(gt=0, le=limits.MAX_STEP_MINUTES)] = 60.0
    steps: Annotated[int, Field(strict=True, ge=1, le=limits.MAX_STEPS)] | None = None
    finish_inside: Annotated[bool, Field(strict=True)] = False


class JobsRecipe(Noun):
    """Where the jobs come from, and what is done where the log says nothing.

    `format` is the preset's, with what is given here on top. `day_zone` is the zone of `day`; without it, that of the
    log's times. A job without a priority of its own draws one of `priorities`, one without a kind draws it by the
    shares in `kinds`; both draws depend on the seed and the job's id alone. At most `max_jobs` jobs are kept, drawn
    with the seed. `scale_gpus` and `scale_duration` multiply what the log says.
    """

    file: Path
    preset: Text | None = None
    format: JobFormat
    day: Day
    day_zone: Zone | None = None
    priorities: Annotated[tuple[Priority, ...], Field(min_length=1, max_length=1000)] = (1.0,)
    kinds: Annotated[Mapping[Kind, Annotated[float, Field(ge=0)]], Field(min_length=1)] = {"training": 1.0}
    max_jobs: Annotated[int, Field(strict=True, ge=1, le=limits.MAX_JOBS)] | None = None
    scale_gpus: PositiveNumber = 1.0
    scale_duration: PositiveNumber = 1.0

    @model_validator(mode="before")
    @classmethod
    def _on_top_of_preset(cls, value: Any) -> Any:
        return laid_over_preset(value, JOB_PRESETS)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        faults = []
        if not sum(self.kinds.values()):
            faults.append(Fault("kinds", "the shares are all 0", "give at least one kind a share above 0"))
        if "duration" in self.format.columns and self.format.duration_unit is None:
            fact = f"the log's {self.format.columns['duration']!r} is not in seconds, and its unit is not stated"
            faults.append(Fault("format.duration_unit", fact, "state how many seconds one of its units takes"))
        if faults:
            raise contradictions(faults)
        return self


class Throughput(Noun):
    """What one GPU serves in a second; the GPUs that each of these needs are added up."""

    requests: PositiveNumber | None = None
    input_tokens: PositiveNumber | None = None
    output_tokens: PositiveNumber | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.requests is None and self.input_tokens is None and self.output_tokens is None:
            raise contradiction("states nothing", "give requests, input_tokens or output_tokens per second and GPU")
        return self


class ServiceRecipe(Noun):
    """Where a service's demand comes from, and how it becomes GPUs.

    Either `throughput` with `headroom` (0.2: GPUs for 20 % more than the load), or `peak_share`: the curve is scaled so
    that its peak takes that share of the cluster, and `throughput` only weighs requests and tokens against each other.
    `statistic` is what a step takes from the bins in it: their max, mean, or a quantile such as 0.95. Missing bins
    (`gaps`) and bins of zero (`zeros`) get the last known value (`hold`) or count as `zero`. Without `max_swap` the cap
    is the curve's largest change in a step. With `held` the service holds the GPUs of its first step before step 0.
    """

    id: Text
    file: Path
    preset: Text | None = None
    format: DemandFormat
    day: Day | None = None
    day_zone: Zone | None = None
    priority: Priority = 1.0
    throughput: Throughput | None = None
    headroom: Annotated[float, Field(ge=0, le=100)] | None = None
    peak_share: Share | None = None
    statistic: Literal["max", "mean"] | Share = "max"
    gaps: Literal["hold", "zero"] = "hold"
    zeros: Literal["hold", "zero"] = "hold"
    max_swap: Count | None = None
    max_gpus: Count | None = None
    held: Annotated[bool, Field(strict=True)] = False
    gpu_memory_gib: Memory | None = None
    gpu_types: GpuTypes | None = None

    @model_validator(mode="before")
    @classmethod
    def _on_top_of_preset(cls, value: Any) -> Any:
        return laid_over_preset(value, DEMAND_PRESETS)

    @model_validator(mode="after")
    def _one_scale(self) -> Self:
        if self.throughput is None and self.peak_share is None:
            raise contradiction(
                "neither throughput nor peak_share is given", "say what a GPU serves, or the peak's share"
            )
        if self.peak_share is not None and self.headroom is not None:
            raise contradiction("both headroom and peak_share are given", "the share sets the peak: remove headroom")
        return self


def cluster_of_spec(value: Any) -> Any:
    """Return the cluster that a line such as 16x8:H100-80GB describes, and anything but text as it is."""
    if not isinstance(value, str):
        return value
    try:
        return parse_cluster(value, "")
    except InputError as error:
        raise contradictions(error.faults) from None


class ProblemRecipe(Noun):
    """All that a problem is built from; in a document, `cluster` is a file's name, a line or the cluster itself."""

    name: Text = "problem"
    seed: Annotated[int, Field(strict=True, ge=0, le=2**63 - 1)] = 0
    horizon: HorizonRecipe = HorizonRecipe()
    objective: Objective = Objective()
    cluster: Annotated[Cluster, BeforeValidator(cluster_of_spec)]
    block_sizes: BlockSizes | None = None
    jobs: JobsRecipe | None = None
    services: Annotated[tuple[ServiceRecipe, ...], Field(max_length=limits.MAX_SERVICES)] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.jobs is None and not self.services:
            raise contradiction("neither jobs nor services are given", "name a log of jobs or of demand")
        if self.jobs is None and any(service.day is None for service in self.services):
            raise contradiction("a service has no day, and there are no jobs to take it from", "give services a day")
        return self

    @classmethod
    def from_document(cls, document: Any, directory: Path = Path()) -> ProblemRecipe:
        """Return the recipe that `document` describes, its files relative to `directory`.

        A cluster given as the name of a file is read here. Raises `InputError` with every fault at once.
        """
        try:
            return cls.model_validate(located(document, directory))
        except ValidationError as error:
            raise InputError(faults_of(error)) from None


def read_recipe(source: str | Path) -> ProblemRecipe:
    """Return the recipe in a YAML or JSON file (`-`: standard input); the files it names are relative to it."""
    directory = Path() if str(source) == "-" else Path(source).parent
    return ProblemRecipe.from_document(read_document(source), directory)


def located(document: Any, directory: Path) -> Any:
    """Return `document` with the files of its jobs and services under `directory`, and a cluster's file read."""
    if not isinstance(document, Mapping):
        return document
    found = dict(document)
    cluster = found.get("cluster")
    if isinstance(cluster, str) and not is_spec(cluster):
        found["cluster"] = read_document(directory / cluster)
    for part in ("jobs", "services"):
        value = found.get(part)
        if isinstance(value, list | tuple):
            found[part] = [_with_file(each, directory) for each in value]
        elif value is not None:
            found[part] = _with_file(value, directory)
    return found


def _with_file(value: Any, directory: Path) -> Any:
    if isinstance(value, Mapping) and isinstance(value.get("file"), str):
        return {**value, "file": directory / value["file"]}
    return value


def laid_over_preset(value: Any, presets: Mapping[str, JobFormat] | Mapping[str, DemandFormat]) -> Any:
    """Return `value` with its format laid over that of its preset; a null takes a column of the preset away."""
    if not isinstance(value, Mapping):
        return value
    preset, given = value.get("preset"), value.get("format", {})
    if isinstance(given, JobFormat | DemandFormat) or not isinstance(given, Mapping):
        return value
    if preset is None and not given:
        remedy = f"choose a preset ({', '.join(presets)}) or describe the columns"
        raise contradiction("neither preset nor format is given", remedy)
    if preset is not None and preset not in presets:
        raise contradiction(f"{preset!r} is no preset", f"choose one of {', '.join(presets)}")
    base = presets[preset].model_dump() if preset is not None else {}
    return {**value, "format": _laid_over(base, given)}


def _laid_over(base: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**base, **given}
    for part in ("columns", "layout"):
        if isinstance(base.get(part), Mapping) and isinstance(given.get(part), Mapping):
            merged[part] = {**base[part], **given[part]}
    if isinstance(merged.get("columns"), Mapping):
        merged["columns"] = {field: column for field, column in merged["columns"].items() if column is not None}
    return merged
