"""What a log says, as facts: intervals of jobs on GPUs, nodes, outages, and what was left out and why.

Every reader of a scheduler's log turns text into a `Reading` of these nouns, and nothing after it asks which log they
came from. Moments are seconds since 1970 in UTC; an unknown is None, never 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from msgspec import Struct

from loadfactor.errors import Fault

Facts = TypeVar("Facts")


class JobState(StrEnum):
    """How an interval of a job stands or ended, in Slurm's words; logs of other schedulers are mapped to them."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMEOUT = "TIMEOUT"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    NODE_FAIL = "NODE_FAIL"
    BOOT_FAIL = "BOOT_FAIL"
    DEADLINE = "DEADLINE"
    PREEMPTED = "PREEMPTED"
    REQUEUED = "REQUEUED"
    UNKNOWN = "UNKNOWN"


class NodeGpus(Struct, frozen=True, gc=False):
    """The GPUs that an interval holds on one node: how many, and which, where the log says (`indices`, else empty)."""

    node: str
    gpus: int | None = None
    indices: tuple[int, ...] = ()


class JobInterval(Struct, frozen=True, kw_only=True, gc=False):
    """One stay of a job in the queue and on its GPUs; a job that was requeued has several.

    `row` is the line of the text, or the position in the list of a JSON document. `count` is how many jobs the row
    stands for: more than one only for the waiting tasks of an array. `gpus` are those that it held (0 where it never
    started), `gpus_requested` those it asked for; `gpu_share` is what it holds of each: less than 1 where jobs share a
    GPU or it is cut into slices, None where that is not known. `ended` is None while it runs. `limit_seconds` is
    infinite where the limit is off. `node_gpus` names the nodes in their order, where they are known.
    """

    row: int
    id: str
    state: JobState
    count: int = 1
    name: str | None = None
    user: str | None = None
    account: str | None = None
    partition: str | None = None
    quality_of_service: str | None = None
    priority: float | None = None
    reason: str | None = None
    submitted: float | None = None
    eligible: float | None = None
    started: float | None = None
    ended: float | None = None
    limit_seconds: float | None = None
    gpus: int = 0
    gpus_requested: int = 0
    gpu_share: float | None = 1.0
    gpu_type: str | None = None
    node_count: int | None = None
    node_gpus: tuple[NodeGpus, ...] = ()
    memory_requested_mib: float | None = None
    exit_code: int | None = None


class NodeFact(Struct, frozen=True, kw_only=True, gc=False):
    """A node as the scheduler knows it; `available` is False for one that is down, drained, failed or powered off.

    `unavailable_since` is when that state began, where the scheduler says.
    """

    name: str
    gpus: int
    gpu_type: str | None = None
    gpu_memory_gib: float | None = None
    partitions: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    available: bool = True
    unavailable_since: float | None = None
    reason: str | None = None


class Outage(Struct, frozen=True, kw_only=True, gc=False):
    """A span in which GPUs of a node served nobody; all of them where `indices` is empty; `ended` None: still so."""

    node: str
    began: float
    ended: float | None = None
    indices: tuple[int, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A row that is no part of the facts: where and why, and the GPU-seconds that it may have been (None: unknown)."""

    fault: Fault
    gpu_seconds: float | None = None


@dataclass(frozen=True)
class Reading(Generic[Facts]):
    """What a reader made of one source: the facts in the source's order, how many rows it read, what it left out.

    `notes` are sentences about the source as a whole that a report should repeat (a zone assumed from the text, say).
    Rows of jobs that neither held nor asked for a GPU, and rows of the steps of a job, are counted only: rows read =
    facts + left out + rows without GPUs + rows of steps. `written_at` is when the source was written, as far as it
    tells: jobs that run had run until then.
    """

    source: str
    facts: Sequence[Facts]
    rows_read: int
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    rows_without_gpus: int = 0
    rows_of_steps: int = 0
    written_at: float | None = None
