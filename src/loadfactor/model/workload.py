"""The two shapes that compete for the grid: jobs hold a block until they finish, services follow a demand curve."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Protocol, Self

from pydantic import Field, field_validator, model_serializer, model_validator

from loadfactor.model import limits
from loadfactor.model.base import Count, GpuIndex, Memory, Noun, PositiveCount, PositiveStep, Priority, Step, Text
from loadfactor.model.cluster import Node, distinct_gpus
from loadfactor.model.faults import contradiction

Kind = Literal["training", "batch_inference", "quantization"]
GpuTypes = Annotated[tuple[Text, ...], Field(min_length=1, max_length=1000)]


class GpuRange(Noun):
    """How many GPUs a job can use: any admissible block size in [`min`, `max`]. A bare number means both."""

    min: PositiveCount
    max: PositiveCount

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            return {"min": value, "max": value}
        return value

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.max < self.min:
            raise contradiction(f"max {self.max} is below min {self.min}", "swap them or widen the range")
        return self

    @model_serializer
    def _as_written(self) -> int | dict[str, int]:
        return self.min if self.min == self.max else {"min": self.min, "max": self.max}


class Running(Noun):
    """A block inherited from before step 0, held for `remaining` more steps."""

    gpus: Annotated[tuple[GpuIndex, ...], Field(min_length=1)]
    remaining: PositiveStep

    @field_validator("gpus")
    @classmethod
    def _distinct(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        return distinct_gpus(value)


class Job(Noun):
    """Batch-like work: a block of GPUs held without interruption from start to end.

    Exactly one of `duration` (steps, whatever the size) and `work` (GPU-steps, so that a larger block ends sooner) is
    given. `gpu_memory_gib` and `gpu_types` are needs that every GPU of the block must meet.
    """

    id: Text
    kind: Kind
    priority: Priority
    submit: Step = 0
    gpus: GpuRange
    duration: PositiveStep | None = None
    work: Annotated[int, Field(strict=True, ge=1, le=limits.MAX_WORK_GPU_STEPS)] | None = None
    gpu_memory_gib: Memory | None = None
    gpu_types: GpuTypes | None = None
    running: Running | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.duration is None) == (self.work is None):
            given = "neither duration nor work is" if self.duration is None else "both duration and work are"
            raise contradiction(f"{given} given", "give one: duration in steps, or work in GPU-steps")
        return self

    def duration_at(self, size: int) -> int:
        """Return the steps that the job takes on `size` GPUs, counted from its start (R2)."""
        if self.duration is not None:
            return self.duration
        assert self.work is not None  # noqa: S101 - one of the two is given, or the job was never born
        return -(-self.work // size)


class Service(Noun):
    """Real-time inference: elastic, with the GPUs that it needs at every step in `demand` (T entries).

    `max_swap` caps the GPUs given plus taken away between two steps (R4); `held` are the GPUs it holds before step 0,
    and `max_gpus` what it may hold at most. Without `held` the first step is free of the cap.
    """

    id: Text
    priority: Priority
    demand: Annotated[tuple[Count, ...], Field(min_length=1, max_length=limits.MAX_STEPS)]
    max_swap: Count
    max_gpus: Count | None = None
    held: tuple[GpuIndex, ...] | None = None
    gpu_memory_gib: Memory | None = None
    gpu_types: GpuTypes | None = None

    @field_validator("held")
    @classmethod
    def _distinct(cls, value: tuple[int, ...] | None) -> tuple[int, ...] | None:
        return None if value is None else distinct_gpus(value)


class NeedsGpus(Protocol):
    """Whatever needs GPUs of certain types or with a certain memory."""

    @property
    def gpu_types(self) -> tuple[str, ...] | None:
        """Return the types that will do; None for any."""
        ...  # pragma: no cover

    @property
    def gpu_memory_gib(self) -> float | None:
        """Return the memory that a GPU must have; None for any."""
        ...  # pragma: no cover


def suits(workload: NeedsGpus, node: Node) -> bool:
    """Return whether the GPUs of `node` meet the type and memory needs of `workload`.

    A node that does not state its type or memory meets no need for one: nobody can promise that it does.
    """
    if workload.gpu_types is not None and node.gpu_type not in workload.gpu_types:
        return False
    if workload.gpu_memory_gib is None:
        return True
    return node.gpu_memory_gib is not None and node.gpu_memory_gib >= workload.gpu_memory_gib
