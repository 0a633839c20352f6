"""What hardware is worth, as frozen values: the curve, the baseline's match, the prices and the verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

VerdictKind = Literal["planning", "hardware", "both", "neither"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a policy gets out of a cluster, as the judge computes it.

    `carried` says that the best plan known is that of a smaller cluster, with the added nodes empty.
    """

    value: float
    utilization: float
    shortfall_gpu_steps: int
    jobs_finished: int
    carried: bool = False


@dataclass(frozen=True, slots=True)
class GrowthPoint:
    """The cluster with `nodes_added` nodes more, `gpus` in all: a share `growth` above today's."""

    nodes_added: int
    gpus: int
    growth: float
    label: str
    baseline: Outcome
    allocator: Outcome


@dataclass(frozen=True, slots=True)
class Match:
    """How large the cluster must be for the baseline to reach what the allocator gets on today's.

    `gpus` is None where no size tried up to `limit_gpus` does. Sizes were tried in order, `stride` nodes apart, and
    node by node in the last stride. The baseline's value is not monotone in the size (Graham 1969), so that where
    `stride` is above 1 a smaller one between those tried might do too.
    """

    gpus: int | None
    nodes_added: int | None
    growth: float | None
    limit_gpus: int
    stride: int


@dataclass(frozen=True, slots=True)
class GpuPrice:
    """What one more GPU of a pool is worth: at every step alone, and through the whole horizon (their sum).

    Dual prices of the linear relaxation in counts: exact for the relaxation, an estimate for whole plans.
    """

    pool: str
    gpus: int
    by_step: tuple[float, ...]
    whole_horizon: float


@dataclass(frozen=True, slots=True)
class Order:
    """The order that the verdict is about: what it buys under the baseline and under the allocator.

    `asked` is the share asked for, `growth` what whole nodes make of it.
    """

    asked: float
    gpus: int
    growth: float
    baseline_gain: float
    allocator_gain: float
    planning_gain: float


@dataclass(frozen=True, slots=True)
class Worth:
    """The worth of hardware for a problem.

    `points` ascend in size. `bound` is the relaxation's upper bound on the value of any plan on today's cluster and
    `prices` its prices, None and empty where the relaxation was too large or out of time.
    """

    problem: str
    baseline_name: str
    allocator_name: str
    added_node: str
    points: tuple[GrowthPoint, ...]
    match: Match
    bound: float | None
    prices: tuple[GpuPrice, ...]
    order: Order
    verdict: VerdictKind
    message: str
    horizon_start: str | None
    step_minutes: float

    @property
    def today(self) -> GrowthPoint:
        """The cluster as it is."""
        return self.points[0]

    def to_document(self) -> dict[str, Any]:
        """Return the worth as plain mappings and lists."""
        return asdict(self)
