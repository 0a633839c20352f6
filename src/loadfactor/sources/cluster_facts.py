"""Between facts about nodes and the cluster of a problem: the short form becomes facts, and facts become a cluster."""

from __future__ import annotations

from collections.abc import Iterable

from loadfactor.errors import InputError
from loadfactor.model import Cluster
from loadfactor.sources.clusters import cluster_of, parse_cluster
from loadfactor.sources.facts import NodeFact, Reading
from loadfactor.sources.gpu_names import memory_gib_of
from loadfactor.sources.sniff import is_short_cluster, refuse

EXPECTED = "a short form of a cluster"


def read_short_cluster(text: str, name: str = "cluster") -> Reading[NodeFact]:
    """Return the nodes of a line such as `16x8:H100-80GB,2x4:A100-40GB`; raise `InputError` where it is none.

    The memory is the one stated behind a slash, else the one in the name of the type.
    """
    if not is_short_cluster(text):
        refuse(text, name, EXPECTED)
    cluster = parse_cluster(text.strip(), name)
    facts = tuple(
        NodeFact(
            name=node.name,
            gpus=node.gpus,
            gpu_type=node.gpu_type,
            gpu_memory_gib=node.gpu_memory_gib or memory_gib_of(node.gpu_type),
        )
        for node in cluster.nodes
    )
    return Reading(name, facts, len(facts))


def cluster_of_nodes(nodes: Iterable[NodeFact], steps: int | None = None, path: str = "cluster") -> Cluster:
    """Return the cluster of the nodes that have GPUs, in their order.

    With `steps`, the length of a horizon, nodes that are not available serve nobody in all of it; without it nothing is
    said about availability, as for a time that is past. Raises `InputError` where no node has a GPU, and for what the
    model refuses.
    """
    with_gpus = [node for node in nodes if node.gpus]
    if not with_gpus:
        raise InputError.of(path, "no node has a GPU", "choose the nodes of a cluster with GPUs")
    shapes = [_shape(node) for node in with_gpus]
    document = {"nodes": shapes, "unavailable": _unavailable(with_gpus, steps) if steps else []}
    return cluster_of(document, path)


def _shape(node: NodeFact) -> dict[str, object]:
    optional = {"gpu_type": node.gpu_type, "gpu_memory_gib": node.gpu_memory_gib}
    stated = {key: value for key, value in optional.items() if value is not None}
    return {"name": node.name, "gpus": node.gpus, **stated}


def _unavailable(nodes: list[NodeFact], steps: int) -> list[dict[str, object]]:
    found: list[int] = []
    first = 0
    for node in nodes:
        found += [] if node.available else range(first, first + node.gpus)
        first += node.gpus
    return [{"gpus": found, "from": 0, "until": steps}] if found else []
