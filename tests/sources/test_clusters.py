"""A cluster from a line: names, memory from the table, and what is no cluster."""

from __future__ import annotations

import pytest

from loadfactor.errors import InputError
from loadfactor.sources import parse_cluster


def test_a_line_of_two_parts() -> None:
    cluster = parse_cluster("10x8:H100-80GB, 2x4:NEW/96.5")
    assert cluster.gpu_count == 88
    assert [node.name for node in cluster.nodes[::11]] == ["node-00", "node-11"]
    assert (cluster.nodes[0].gpu_type, cluster.nodes[0].gpu_memory_gib) == ("H100-80GB", 80)
    assert (cluster.nodes[11].gpu_type, cluster.nodes[11].gpu_memory_gib) == ("NEW", 96.5)


def test_without_a_type_nothing_is_said_about_it() -> None:
    node = parse_cluster("1x8").nodes[0]
    assert (node.name, node.gpu_type, node.gpu_memory_gib) == ("node-0", None, None)


def test_an_unknown_type_has_no_memory_that_anyone_could_promise() -> None:
    assert parse_cluster("1x8:NEW").nodes[0].gpu_memory_gib is None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("8", "cluster: '8' is no part of a cluster; write NODESxGPUS[:TYPE[/GIB]], such as 16x8:H100-80GB"),
        ("2x8,x8,4x", "cluster: 'x8' is no part of a cluster"),
        ("2x8:H100/big", "is no part of a cluster"),
        ("0x8", "cluster.nodes: has 0 entries and needs at least 1"),
        ("2x0", "cluster.nodes[0].gpus: is 0, and must be at least 1"),
        ("99999x1", "cluster: 99999 nodes, and at most 20000 are accepted; split the cluster"),
        ("9x99999", "cluster.nodes[0].gpus"),
    ],
)
def test_what_is_no_cluster_is_refused(spec: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_cluster(spec)
    assert message in str(caught.value)
