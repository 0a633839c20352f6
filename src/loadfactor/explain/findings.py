"""What an explanation says, as frozen values: blockers, openings, changes, and the story of every job and service."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal

from loadfactor.model import Plan, Problem

Rule = Literal["R1", "R2", "R3", "R4", "R5"]
Status = Literal["running", "on_time", "later", "smaller", "later_and_smaller", "unplaced"]
Proof = Literal["constructed", "planned"]
ChangeKind = Literal[
    "plan_again", "fewer_gpus", "later_end", "open_end", "gpus_back", "max_swap", "max_gpus", "priority"
]
Cause = Literal["max_gpus", "no_gpus", "swap_cap", "left_free", "chosen"]
BEFORE_THE_HORIZON = -1
_NOT_IN_DOCUMENT = "not_in_document"


@dataclass(frozen=True, slots=True)
class Blocker:
    """Who or what stands in the way, by which rule, on which GPUs, in the steps [`from_step`, `until_step`).

    `holder` is the id of the job or service, or None where no one holds the GPUs (unavailable, fragmented, unsuitable).
    `gpu_steps` counts the cells in the way; `priority` is the holder's.
    """

    rule: Rule
    holder: str | None
    priority: float | None
    gpus: tuple[int, ...]
    from_step: int
    until_step: int
    gpu_steps: int
    message: str


@dataclass(frozen=True, slots=True)
class Opening:
    """A place where a job could run: `gpus` in the steps [`start`, `end`)."""

    start: int
    end: int
    gpus: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MakingWay:
    """The first place that a job could have if jobs of lower priority were taken out of the plan.

    `value_lost` is what the displaced jobs earn in the plan, `value_gained` what the job would earn there.
    """

    opening: Opening
    displaced: tuple[str, ...]
    value_lost: float
    value_gained: float
    message: str


@dataclass(frozen=True, slots=True)
class Change:
    """One change of the problem that was verified to work.

    `cost` is the value that everyone else loses against the plan explained (negative where they gain), `gain` what the
    job or service itself earns more, both at the priorities of the unchanged problem. `proof` says how it was verified:
    by constructing a plan that leaves everything else in place, or by planning the changed problem again. `plan` is
    that plan; the judge found it legal for `problem`, the changed one.
    """

    kind: ChangeKind
    subject: str
    before: float | None
    after: float | None
    cost: float
    gain: float
    displaced: tuple[str, ...]
    delayed: tuple[str, ...]
    proof: Proof
    message: str
    problem: Problem = field(repr=False, metadata={_NOT_IN_DOCUMENT: True})
    plan: Plan = field(repr=False, metadata={_NOT_IN_DOCUMENT: True})


@dataclass(frozen=True, slots=True)
class JobExplanation:
    """Why a job is where it is.

    `changes` are the verified changes that would place an unplaced job, cheapest first; `refuted` those tried in vain;
    `searched` whether changes were looked for at all.
    """

    id: str
    status: Status
    placement: Opening | None
    summary: str
    blockers: tuple[Blocker, ...] = ()
    opening: Opening | None = None
    making_way: MakingWay | None = None
    changes: tuple[Change, ...] = ()
    refuted: tuple[str, ...] = ()
    searched: bool = False


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Consecutive steps [`from_step`, `until_step`) in which a service holds less than its demand, for one cause.

    `grow_from` is, where the swap cap (R4) is the cause, the step at which the service would have had to begin to grow,
    or BEFORE_THE_HORIZON.
    """

    from_step: int
    until_step: int
    gpu_steps: int
    largest: int
    penalty: float
    cause: Cause
    rule: Rule | None
    grow_from: int | None
    blockers: tuple[Blocker, ...]
    message: str


@dataclass(frozen=True, slots=True)
class ServiceExplanation:
    """Where a service falls short and why; `changes` mend the whole of it, cheapest first."""

    id: str
    demand_gpu_steps: int
    shortfall_gpu_steps: int
    penalty: float
    summary: str
    shortfalls: tuple[Shortfall, ...] = ()
    changes: tuple[Change, ...] = ()
    refuted: tuple[str, ...] = ()
    searched: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a plan: of every job and service, or of the one that was asked for."""

    problem: str
    plan_policy: str
    verified_with: str
    jobs: tuple[JobExplanation, ...]
    services: tuple[ServiceExplanation, ...]

    def to_document(self) -> dict[str, Any]:
        """Return the explanation as plain mappings and lists, without the plans behind the changes."""
        document: dict[str, Any] = _plain(self)
        return document


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        shown = (item for item in fields(value) if not item.metadata.get(_NOT_IN_DOCUMENT))
        return {item.name: _plain(getattr(value, item.name)) for item in shown}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
