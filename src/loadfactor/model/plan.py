"""The plan document: which job starts when and where, and which GPUs every service holds at every step."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from loadfactor.errors import InputError
from loadfactor.model import limits
from loadfactor.model.base import Count, GpuIndex, Noun, Text
from loadfactor.model.faults import faults_of

Gpus = tuple[GpuIndex, ...]
Number = Annotated[float, Field(strict=True)]
Sum = Annotated[int, Field(strict=True, ge=0)]
# a job of the most work, on one GPU, that runs past the horizon
_LAST_STEP = limits.MAX_DURATION_STEPS + limits.MAX_WORK_GPU_STEPS


class Placement(Noun):
    """A job on a block of GPUs in the half-open range of steps [`start`, `end`)."""

    id: Text
    start: Annotated[int, Field(strict=True, ge=0, le=_LAST_STEP)]
    end: Annotated[int, Field(strict=True, ge=1, le=_LAST_STEP)]
    gpus: Annotated[Gpus, Field(min_length=1)]


class Unplaced(Noun):
    """A job that the plan leaves out, and why."""

    id: Text
    reason: Annotated[str, Field(strict=True, max_length=limits.MAX_REASON)] = ""


class ServiceAllocation(Noun):
    """The GPUs that a service holds, one entry a step."""

    id: Text
    gpus: Annotated[tuple[Gpus, ...], Field(max_length=limits.MAX_STEPS)]


class Metrics(Noun):
    """The metrics of a plan, as section "Metrics" of the docs defines them."""

    utilization: Number
    value: Number
    batch_reward: Number
    shortfall_penalty: Number
    shortfall_gpu_steps: Sum
    jobs_finished: Count
    churn: Sum


class Plan(Noun):
    """A plan for the problem of that name; legal only once the judge has said so.

    `bound` is a proven upper bound on the value of any legal plan, `optimal` whether this plan reaches it; both are
    None where a policy proves nothing. `solve_seconds` is the wall time of the decision.
    """

    problem: Text
    policy: Text
    jobs: Annotated[tuple[Placement, ...], Field(max_length=limits.MAX_JOBS)] = ()
    unplaced: Annotated[tuple[Unplaced, ...], Field(max_length=limits.MAX_JOBS)] = ()
    services: Annotated[tuple[ServiceAllocation, ...], Field(max_length=limits.MAX_SERVICES)] = ()
    metrics: Metrics | None = None
    bound: Number | None = None
    optimal: Annotated[bool, Field(strict=True)] | None = None
    solve_seconds: Annotated[float, Field(strict=True, ge=0)] | None = None

    @classmethod
    def from_document(cls, document: Any) -> Plan:
        """Return the plan that `document` describes; raise `InputError` with every fault at once."""
        try:
            return TypeAdapter(cls).validate_python(document)
        except ValidationError as error:
            raise InputError(faults_of(error)) from None

    def to_document(self) -> dict[str, Any]:
        """Return the plan as plain mappings and lists; `bound` and `optimal` are null where nothing is proven."""
        return self.model_dump(mode="json")
