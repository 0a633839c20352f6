"""Clusters grow by whole nodes at the end, and nothing else changes."""

from __future__ import annotations

import pytest

from loadfactor.model import Cluster, Node
from loadfactor.worth.growth import grown, node_to_add, nodes_for
from tests.explain.examples import problem


def _node(name: str, gpus: int, gpu_type: str | None = None) -> Node:
    return Node(name=name, gpus=gpus, gpu_type=gpu_type)


def test_most_nodes_decide_what_is_added() -> None:
    cluster = Cluster(nodes=(_node("a", 8, "H100"), _node("b", 8, "H100"), _node("c", 4, "L4")))
    assert node_to_add(cluster).gpu_type == "H100"


def test_the_last_decides_a_tie() -> None:
    cluster = Cluster(nodes=(_node("a", 8, "H100"), _node("b", 4, "L4")))
    assert node_to_add(cluster).name == "b"


def test_new_nodes_come_last_under_new_names() -> None:
    described = problem(
        4,
        2,
        cluster={
            "nodes": [{"name": "added-0", "gpus": 2, "gpu_memory_gib": 80.0}],
            "unavailable": [{"gpus": [1], "from": 0, "until": 2}],
            "block_sizes": "whole_nodes",
        },
    )
    larger = grown(described, 2)
    assert [node.name for node in larger.cluster.nodes] == ["added-0", "added-1", "added-2"]
    assert {node.gpu_memory_gib for node in larger.cluster.nodes} == {80.0}
    assert (larger.cluster.gpu_count, larger.cluster.block_sizes) == (6, "whole_nodes")
    assert larger.cluster.unavailable == described.cluster.unavailable
    assert (larger.jobs, larger.services, larger.horizon) == (described.jobs, described.services, described.horizon)
    assert grown(described, 0) is described


@pytest.mark.parametrize(
    ("sizes", "share", "nodes"),
    [([8], 0.4, 1), ([8] * 10, 0.1, 1), ([8] * 10, 0.4, 4), ([8] * 8, 0.4, 4), ([8] * 8, 0.1, 1), ([1] * 30, 0.1, 3)],
)
def test_a_share_takes_whole_nodes(sizes: list[int], share: float, nodes: int) -> None:
    assert nodes_for(problem(1, sizes), share) == nodes
