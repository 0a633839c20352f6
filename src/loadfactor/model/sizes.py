"""Which sizes a block may have (R3), before anyone asks where it might lie."""

from __future__ import annotations

from functools import lru_cache

from loadfactor.model.cluster import Cluster
from loadfactor.model.workload import GpuRange


def powers_of_two(smallest: int, largest: int) -> list[int]:
    """Return the powers of two in [smallest, largest], ascending."""
    return [1 << bit for bit in range(largest.bit_length()) if smallest <= 1 << bit <= largest]


def admissible_sizes(cluster: Cluster, gpus: GpuRange) -> list[int]:
    """Return the block sizes in `gpus` that R3 admits on `cluster`, ascending.

    A size is admitted by number alone here; whether a block of that size exists on suitable nodes is for
    `loadfactor.policies.blocks`.
    """
    if cluster.block_sizes == "power_of_two":
        return powers_of_two(gpus.min, gpus.max)
    largest_node = max(node.gpus for node in cluster.nodes)
    inside = powers_of_two(gpus.min, min(gpus.max, largest_node))
    return sorted({*inside, *_sums_of_whole_nodes(cluster, gpus)})


def no_size_fault(cluster: Cluster, gpus: GpuRange) -> tuple[str, str]:
    """Return fact and remedy for a range that holds no admissible size."""
    where = f"between {gpus.min} and {gpus.max}"
    if cluster.block_sizes == "power_of_two":
        return f"no power of two {where}", "widen the range"
    largest = max(node.gpus for node in cluster.nodes)
    return f"neither a power of two up to {largest} nor a whole number of nodes {where}", "widen the range"


def _sums_of_whole_nodes(cluster: Cluster, gpus: GpuRange) -> set[int]:
    node_sizes = [node.gpus for node in cluster.nodes]
    if len(set(node_sizes)) == 1:
        node = node_sizes[0]
        largest = min(gpus.max, cluster.gpu_count)
        return {size for size in range(2 * node, largest + 1, node) if size >= gpus.min}
    return {size for size in _sums_of_neighbours(tuple(node_sizes)) if gpus.min <= size <= gpus.max}


@lru_cache(maxsize=8)
def _sums_of_neighbours(node_sizes: tuple[int, ...]) -> frozenset[int]:
    """Return the number of GPUs in every run of two or more consecutive nodes.

    Bit k of `ends` says that a node ends k GPUs behind the node in hand, so that 20,000 nodes take a moment.
    """
    ends, sums = 0, 0
    for node in reversed(node_sizes):
        sums |= ends << node
        ends = (ends | 1) << node
    return frozenset(size for size, bit in enumerate(reversed(f"{sums:b}")) if bit == "1")
