"""How a cluster grows: whole nodes, alike and at the end."""

from __future__ import annotations

from collections import Counter
from itertools import count

from loadfactor.model import Cluster, Node, Plan, Problem


def node_to_add(cluster: Cluster) -> Node:
    """Return the node that an order would add: of the shape most nodes have, of the last such where shapes tie."""
    shapes = Counter(map(_shape, cluster.nodes))
    most = max(shapes.values())
    return next(node for node in reversed(cluster.nodes) if shapes[_shape(node)] == most)


def grown(problem: Problem, nodes: int) -> Problem:
    """Return `problem` with `nodes` more nodes at the end of its cluster; GPU numbers stay what they are.

    Nothing else changes: demand, `max_gpus`, held and unavailable GPUs, running jobs. Raises `InputError` where the
    larger problem is beyond the declared limits.
    """
    if not nodes:
        return problem
    cluster = problem.cluster
    template, taken = node_to_add(cluster), {node.name for node in cluster.nodes}
    fresh = (name for number in count() if (name := f"added-{number}") not in taken)
    added = tuple(template.model_copy(update={"name": next(fresh)}) for _ in range(nodes))
    return problem.replace(cluster=Cluster(**{**_fields(cluster), "nodes": (*cluster.nodes, *added)}))


def nodes_for(problem: Problem, share: float) -> int:
    """Return the fewest whole nodes that add at least `share` of today's GPUs."""
    per_node = node_to_add(problem.cluster).gpus
    wanted = share * problem.cluster.gpu_count
    # a hair of tolerance: 10 % of 80 GPUs is one node of 8, whatever the binary fraction says
    return max(0, -int(-(wanted - 1e-9) // per_node))


def carried(plan: Plan, policy: str) -> Plan:
    """Return `plan` as a plan for a grown cluster: the new nodes stay empty, which is legal."""
    return plan.model_copy(update={"policy": policy, "metrics": None, "bound": None, "optimal": None})


def _shape(node: Node) -> tuple[int, str | None, float | None]:
    return node.gpus, node.gpu_type, node.gpu_memory_gib


def _fields(cluster: Cluster) -> dict[str, object]:
    return {name: getattr(cluster, name) for name in type(cluster).model_fields}
