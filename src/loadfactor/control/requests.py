"""What is asked of the cluster: jobs and services, as they were submitted, and the blocks that jobs get."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate

from msgspec import Struct

from loadfactor.model import Cluster
from loadfactor.model.workload import Kind


class JobRequest(Struct, frozen=True):
    """A job as its user submitted it.

    `gpus` is what the user asks for; the block may be larger (see `block_size`). `limit_seconds` is the run time that
    the user states at most, None where the log has none. `user`, `name` and `account` are what run times are learnt and
    shares are counted by.
    """

    id: str
    gpus: int
    kind: Kind = "training"
    priority: float = 1.0
    limit_seconds: int | None = None
    user: str | None = None
    name: str | None = None
    account: str | None = None


class ServiceRequest(Struct, frozen=True):
    """A real-time service.

    `max_swap` caps the GPUs given plus taken away within one step (R4); `start_seconds` is how long a replica loads its
    model before it serves. A replica holds one GPU.
    """

    id: str
    priority: float
    max_swap: int
    max_gpus: int | None = None
    start_seconds: int = 0


class BlockSizes:
    """The block sizes that a cluster admits (R3), and the smallest one for a number of GPUs."""

    def __init__(self, cluster: Cluster) -> None:
        nodes = [node.gpus for node in cluster.nodes]
        inside = {1 << power for power in range(max(nodes).bit_length())}
        alike = len(set(nodes)) == 1
        firsts = range(1 if alike else len(nodes))
        spans = {size for first in firsts for size in list(accumulate(nodes[first:]))[1:]}
        whole = {size for size in spans if cluster.block_sizes == "whole_nodes" or size.bit_count() == 1}
        self.sizes: tuple[int, ...] = tuple(sorted(inside | whole))

    def smallest(self, gpus: int) -> int | None:
        """Return the smallest admissible block for `gpus` GPUs, or None where the cluster has none so large."""
        index = bisect_left(self.sizes, gpus)
        return self.sizes[index] if index < len(self.sizes) else None
