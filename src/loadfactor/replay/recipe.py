"""The recipe of a replay: which logs, which cluster, which policies, and every choice in between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from loadfactor.control.planners import WorthSettings
from loadfactor.engines import FaultRates
from loadfactor.engines.world import DRAIN_DAYS
from loadfactor.errors import Fault, InputError
from loadfactor.model import BlockSizes, Cluster, limits, read_document, suits
from loadfactor.model.base import Count, Memory, Noun, Priority, Text
from loadfactor.model.faults import contradiction, contradictions, faults_of
from loadfactor.model.workload import GpuTypes
from loadfactor.replay.contestants import CONTESTANTS, Knowledge
from loadfactor.replay.workload import DEFAULT_PRIORITIES, LONGEST_LIMIT, SHORTEST_LIMIT
from loadfactor.sources import JobFormat
from loadfactor.sources.formats import DemandFormat, PositiveNumber
from loadfactor.sources.presets import DEMAND_PRESETS, JOB_PRESETS
from loadfactor.sources.recipe import Share, cluster_of_spec, laid_over_preset, located

LONGEST_DAYS = 3660
Days = Annotated[int, Field(strict=True, ge=0, le=LONGEST_DAYS)]
Seconds = Annotated[int, Field(strict=True, ge=0, le=31 * 86_400)]
Seed = Annotated[int, Field(strict=True, ge=0, le=2**63 - 1)]
Probability = Annotated[float, Field(ge=0, lt=1)]
Factor = Annotated[float, Field(ge=1, le=1e6)]


class LogRecipe(Noun):
    """One log of jobs. Its jobs get `prefix` in front of their ids; its own `first_day` goes before the common one.

    All of its jobs need GPUs of `gpu_types` and with `gpu_memory_gib`, where these are stated.
    """

    file: Path
    preset: Text | None = None
    format: JobFormat
    prefix: str = Field(default="", max_length=50)
    first_day: Days | None = None
    gpu_types: GpuTypes | None = None
    gpu_memory_gib: Memory | None = None

    @model_validator(mode="before")
    @classmethod
    def _on_top_of_preset(cls, value: Any) -> Any:
        return laid_over_preset(value, JOB_PRESETS)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if "duration" in self.format.columns and self.format.duration_unit is None:
            fact = f"the log's {self.format.columns['duration']!r} is not in seconds, and its unit is not stated"
            raise contradictions([Fault("format.duration_unit", fact, "state how many seconds one of its units takes")])
        return self


class CurveRecipe(Noun):
    """One service: its demand follows `column` of the log from `first_day` on, and begins again at the log's end.

    Its peak is to those of other services as its `share`. Bins that are missing, and with `zeros: hold` bins of zero,
    get the last known value. Without `max_swap` the cap on swaps (R4) is twice the largest change of the curve within a
    step.
    """

    id: Text
    file: Path
    preset: Text | None = None
    format: DemandFormat
    column: Literal["requests", "input_tokens", "output_tokens"] = "requests"
    first_day: Days = 0
    priority: Priority = 8.0
    share: PositiveNumber = 1.0
    zeros: Literal["hold", "zero"] = "hold"
    start_seconds: Seconds | None = None
    max_swap: Annotated[Count, Field(ge=1)] | None = None
    max_gpus: Count | None = None
    gpu_types: GpuTypes | None = None
    gpu_memory_gib: Memory | None = None

    @model_validator(mode="before")
    @classmethod
    def _on_top_of_preset(cls, value: Any) -> Any:
        return laid_over_preset(value, DEMAND_PRESETS)


class LimitFactor(Noun):
    """How many times too long users' limits are where the log states none: drawn evenly in the logarithm."""

    least: Factor = SHORTEST_LIMIT
    most: Factor = LONGEST_LIMIT

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.most < self.least:
            raise contradiction(f"goes from {self.least:g} down to {self.most:g}", "state least first, then most")
        return self


class MoldableRecipe(Noun):
    """Which jobs are moldable, since logs have none: a `share` of them, drawn.

    One that asked for g GPUs can use any number from g / `down` (at least 1) to g * `up`, and does the work that it did
    on whatever it gets.
    """

    share: Annotated[float, Field(ge=0, le=1)] = 0.0
    down: Annotated[int, Field(strict=True, ge=1, le=1024)] = 2
    up: Annotated[int, Field(strict=True, ge=1, le=1024)] = 2


class FaultRecipe(Noun):
    """How often things go wrong in the virtual world; see `loadfactor.engines.FaultRates`."""

    node_losses_per_hour: Annotated[float, Field(ge=0, le=1000)] = 0.0
    repair_seconds: Annotated[Seconds, Field(ge=1)] = 3600
    late: Probability = 0.0
    delay_seconds: Seconds = 0
    doubled: Probability = 0.0
    refused: Probability = 0.0
    clock_jump_seconds: Seconds = 0
    wild_stamp: Probability = 0.0

    def rates(self) -> FaultRates:
        """Return the rates that an engine understands."""
        return FaultRates(**self.model_dump())


class KnowledgeRecipe(Noun):
    """What policies may know: run times by limit, learnt from the past or perfect; demand forecast or perfect.

    Demand in the next steps is taken at `quantile`, later demand at `far_quantile`. Perfect run times are multiplied by
    `run_time_factor`, and each by a factor of its own between 1 / `run_time_spread` and `run_time_spread`: what does a
    wrong guess cost?
    """

    run_times: Literal["limit", "learnt", "perfect"] = "learnt"
    forecast: Literal["seasonal", "perfect"] = "seasonal"
    quantile: Annotated[float, Field(gt=0, lt=1)] = 0.975
    far_quantile: Annotated[float, Field(gt=0, lt=1)] = 0.5
    run_time_factor: Annotated[float, Field(ge=0.001, le=1000)] = 1.0
    run_time_spread: Annotated[float, Field(ge=1, le=1000)] = 1.0

    @model_validator(mode="after")
    def _only_the_truth_is_misjudged(self) -> Self:
        if self.run_times != "perfect" and (self.run_time_factor, self.run_time_spread) != (1.0, 1.0):
            fact = f"run_time_factor and run_time_spread distort true run times, and run_times is {self.run_times!r}"
            raise contradiction(fact, "state run_times: perfect, or leave the two out")
        return self

    def knowledge(self) -> Knowledge:
        """Return what contestants are made from."""
        return Knowledge(
            self.run_times,
            self.forecast,
            self.quantile,
            self.far_quantile,
            self.run_time_factor,
            self.run_time_spread,
        )


class WorthRecipe(Noun):
    """What counts for `fast` beside priority; see `loadfactor.control.planners.WorthSettings`."""

    ageing_per_hour: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    starvation_hours: PositiveNumber | None = None
    shares: Mapping[Text, PositiveNumber] = {}
    share_half_life_hours: PositiveNumber = 24.0

    def settings(self) -> WorthSettings:
        """Return what the allocator understands."""
        return WorthSettings(**self.model_dump())


def _known_policy(name: str) -> str:
    if name not in CONTESTANTS:
        raise contradiction(f"{name!r} is no policy that can be replayed", f"choose among {', '.join(CONTESTANTS)}")
    return name


PolicyName = Annotated[str, AfterValidator(_known_policy)]
DEFAULT_POLICIES = ("priority+peak", "priority+reactive", "fast")


class ReplayRecipe(Noun):
    """All that a replay is made from; in a document, `cluster` is a file's name, a line or the cluster itself.

    `load` lets the jobs come so many times as fast as they did; `sample` keeps a share of them; `first_day` and `days`
    cut the logs. `peak_share` is the share of the cluster that all services together take at their common peak.
    Measures begin after `warm_up_days`, when forecasts and run times that are learnt have seen something; jobs that
    came before are not measured. `starved_hours` is the wait from which on a job counts as starved. A replay ends with
    its last job, at the latest `drain_days` after the last arrival: a policy may starve a job for ever. `iterations`
    are those of the search of `fast`, after its constructive decoder; `fast+full` lets `full` plan every
    `exact_minutes` for `exact_seconds`.
    """

    name: Text = "replay"
    seed: Seed = 0
    cluster: Annotated[Cluster, BeforeValidator(cluster_of_spec)]
    block_sizes: BlockSizes | None = None
    step_seconds: Annotated[int, Field(strict=True, ge=1, le=86_400)] = 600
    load: Annotated[float, Field(ge=0.01, le=100)] = 1.0
    sample: Share = 1.0
    first_day: Days = 0
    days: Annotated[Days, Field(ge=1)] | None = None
    warm_up_days: Annotated[float, Field(ge=0, le=LONGEST_DAYS)] = 0.0
    drain_days: Days = DRAIN_DAYS
    jobs: Annotated[tuple[LogRecipe, ...], Field(min_length=1, max_length=100)]
    priorities: Annotated[tuple[Priority, ...], Field(min_length=1, max_length=1000)] = DEFAULT_PRIORITIES
    limit_factor: LimitFactor = LimitFactor()
    moldable: MoldableRecipe = MoldableRecipe()
    job_start_seconds: Seconds = 60
    services: Annotated[tuple[CurveRecipe, ...], Field(max_length=limits.MAX_SERVICES)] = ()
    peak_share: Share = 0.4
    replica_start_seconds: Seconds = 300
    replica_stop_seconds: Seconds = 30
    realtime_penalty: Annotated[float, Field(ge=0, le=1e6)] = 8.0
    hourly_decay: Annotated[float, Field(gt=0, le=1)] = 0.98
    starved_hours: PositiveNumber = 72.0
    faults: FaultRecipe = FaultRecipe()
    policies: Annotated[tuple[PolicyName, ...], Field(min_length=1, max_length=100)] = DEFAULT_POLICIES
    knowledge: KnowledgeRecipe = KnowledgeRecipe()
    iterations: Annotated[int, Field(strict=True, ge=0, le=1_000_000)] = 12
    worth: WorthRecipe = WorthRecipe()
    exact_minutes: Annotated[float, Field(gt=0, le=1e6)] = 30.0
    exact_seconds: Annotated[float, Field(gt=0, le=1e4)] = 10.0

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        faults = []
        if self.cluster.unavailable:
            remedy = "remove them from the cluster, or let nodes fail with `faults`"
            faults.append(Fault("cluster.unavailable", "GPUs that are out for some steps are not replayed", remedy))
        faults += [*self._unsuitable()]
        for path, names in (("services", [each.id for each in self.services]), ("policies", list(self.policies))):
            twice = sorted({name for name in names if names.count(name) > 1})
            faults += [Fault(path, f"{name!r} appears twice", "name it once") for name in twice]
        if faults:
            raise contradictions(faults)
        return self

    def _unsuitable(self) -> Iterator[Fault]:
        parts: dict[str, LogRecipe | CurveRecipe] = {f"jobs[{index}]": log for index, log in enumerate(self.jobs)}
        parts |= {f"services[{index}]": curve for index, curve in enumerate(self.services)}
        for path, part in parts.items():
            if not any(suits(part, node) for node in self.cluster.nodes):
                fact = "no node has the type and memory that it needs"
                yield Fault(path, fact, "correct gpu_types or gpu_memory_gib, or state the nodes' own")

    @classmethod
    def from_document(cls, document: Any, directory: Path = Path()) -> ReplayRecipe:
        """Return the recipe that `document` describes, its files relative to `directory`.

        A cluster given as the name of a file is read here. Raises `InputError` with every fault at once.
        """
        try:
            return cls.model_validate(located(document, directory))
        except ValidationError as error:
            raise InputError(faults_of(error)) from None

    def to_document(self) -> dict[str, Any]:
        """Return what was chosen, as plain mappings: what is as always is left out, and files without directories."""
        document: dict[str, Any] = self.model_dump(mode="json", exclude_defaults=True, exclude={"cluster"})
        for part in (*document["jobs"], *document.get("services", ())):
            part["file"] = Path(part["file"]).name
            if "preset" in part:
                del part["format"]
        gpus, nodes = self.cluster.gpu_count, len(self.cluster.nodes)
        return {"name": self.name, "seed": self.seed, **document, "cluster": {"nodes": nodes, "gpus": gpus}}


def read_replay_recipe(source: str | Path) -> ReplayRecipe:
    """Return the recipe in a YAML or JSON file (`-`: standard input); the files it names are relative to it."""
    directory = Path() if str(source) == "-" else Path(source).parent
    return ReplayRecipe.from_document(read_document(source), directory)
