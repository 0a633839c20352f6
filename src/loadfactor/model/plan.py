"""The plan document: which job starts when and where, and which GPUs every service holds at every step."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from loadfactor.errors import InputError
from loadfactor.model import limits
from loadfactor.model.base import Count, GpuIndex, Noun, PositiveStep, Step, Text
from loadfactor.model.faults import faults_of

Gpus = tuple[GpuIndex, ...]


class Placement(Noun):
    """A job on a block of GPUs in the half-open range of steps [`start`, `end`)."""

    id: Text
    start: Step
    end: PositiveStep
    gpus: Annotated[Gpus, Field(min_length=1)]


class Unplaced(Noun):
    """A job that the plan leaves out, and why."""

    id: Text
    reason: str = ""


class ServiceAllocation(Noun):
    """The GPUs that a service holds, one entry a step."""

    id: Text
    gpus: Annotated[tuple[Gpus, ...], Field(max_length=limits.MAX_STEPS)]


class Metrics(Noun):
    """The metrics of a plan, as section "Metrics" of the docs defines them."""

    utilization: float
    value: float
    batch_reward: float
    shortfall_penalty: float
    shortfall_gpu_steps: Annotated[int, Field(ge=0)]
    jobs_finished: Count
    churn: Annotated[int, Field(ge=0)]


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
    bound: float | None = None
    optimal: bool | None = None
    solve_seconds: Annotated[float, Field(ge=0)] | None = None

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
