"""The cluster: GPUs in a fixed order, grouped into nodes, some of them unavailable for a while."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from loadfactor.errors import Fault
from loadfactor.model import limits
from loadfactor.model.base import GpuIndex, Memory, Noun, PositiveCount, Step, Text
from loadfactor.model.faults import contradiction, contradictions

BlockSizes = Literal["power_of_two", "whole_nodes"]


class Node(Noun):
    """A machine with `gpus` GPUs, all of one type and memory."""

    name: Text
    gpus: PositiveCount
    gpu_type: Text | None = None
    gpu_memory_gib: Memory | None = None


class Unavailable(Noun):
    """GPUs that serve nobody in the half-open range of steps [`from_step`, `until_step`)."""

    gpus: Annotated[tuple[GpuIndex, ...], Field(min_length=1)]
    from_step: Annotated[Step, Field(alias="from")]
    until_step: Annotated[Step, Field(alias="until")]

    @field_validator("gpus")
    @classmethod
    def _distinct(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        return distinct_gpus(value)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.until_step <= self.from_step:
            fact = f"until {self.until_step} is not after from {self.from_step}"
            raise contradiction(fact, "the range is half-open: make until larger")
        return self


class Cluster(Noun):
    """Nodes in a fixed order; GPU numbers are 0-based and run through the nodes in that order."""

    block_sizes: BlockSizes = "power_of_two"
    nodes: Annotated[tuple[Node, ...], Field(min_length=1, max_length=limits.MAX_NODES)]
    unavailable: Annotated[tuple[Unavailable, ...], Field(max_length=limits.MAX_UNAVAILABLE)] = ()

    @cached_property
    def gpu_count(self) -> int:
        """The number of GPUs, N."""
        return self.node_offsets[-1]

    @cached_property
    def node_offsets(self) -> tuple[int, ...]:
        """The first GPU of every node, and N behind the last: node i holds GPUs [offsets[i], offsets[i + 1])."""
        return (0, *accumulate(node.gpus for node in self.nodes))

    def node_of(self, gpu: int) -> int:
        """Return the index of the node that holds `gpu`."""
        return bisect_right(self.node_offsets, gpu) - 1

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        faults = [*self._faults_of_nodes(), *self._faults_of_unavailable()]
        if faults:
            raise contradictions(faults)
        return self

    def _faults_of_nodes(self) -> list[Fault]:
        faults: list[Fault] = []
        first: dict[str, int] = {}
        for index, node in enumerate(self.nodes):
            if node.name in first:
                fact = f"{node.name!r} is the name of nodes[{first[node.name]}] too"
                faults.append(Fault(f"nodes[{index}].name", fact, "give every node a name of its own"))
            first.setdefault(node.name, index)
        if self.gpu_count > limits.MAX_GPUS:
            fact = f"{self.gpu_count} GPUs in all, and at most {limits.MAX_GPUS} are accepted"
            faults.append(Fault("nodes", fact, "split the cluster"))
        return faults

    def _faults_of_unavailable(self) -> list[Fault]:
        return [
            Fault(f"unavailable[{index}].gpus", *beyond_cluster(gpu, self.gpu_count))
            for index, entry in enumerate(self.unavailable)
            for gpu in entry.gpus
            if gpu >= self.gpu_count
        ]


def beyond_cluster(gpu: int, gpu_count: int) -> tuple[str, str]:
    """Return fact and remedy for a GPU number that the cluster does not have."""
    return f"GPU {gpu} does not exist in a cluster of {gpu_count}", f"GPU numbers run from 0 to {gpu_count - 1}"


def distinct_gpus(value: tuple[int, ...]) -> tuple[int, ...]:
    """Return `value` sorted; raise the validator's error if a GPU is named twice."""
    ordered = tuple(sorted(value))
    for earlier, later in pairwise(ordered):
        if earlier == later:
            raise contradiction(f"GPU {later} is named twice", "name every GPU once")
    return ordered
