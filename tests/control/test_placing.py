"""The compiled searches for blocks find only blocks that R3 allows, free when they say so."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from loadfactor.control import BlockSizes
from loadfactor.control.planners.placing import NOWHERE, best_free_block, first_free_block
from loadfactor.model import Cluster
from tests.support.cells import is_legal_block
from tests.support.control import cluster

SHAPES = [
    ((4, 4, 2, 1), "power_of_two"),
    ((2, 2, 2, 2), "whole_nodes"),
    ((3, 3, 8), "whole_nodes"),
    ((4, 4, 4, 16), "whole_nodes"),
    ((6, 6, 6), "whole_nodes"),
]


@pytest.mark.parametrize(("nodes", "block_sizes"), SHAPES, ids=str)
def test_blocks_are_legal_and_free(nodes: tuple[int, ...], block_sizes: str) -> None:
    where, rng = cluster(nodes, block_sizes), Random(0)
    first_of_node = np.array(where.node_offsets, dtype=np.int64)
    everywhere = np.ones(len(nodes), dtype=np.bool_)
    found = 0
    for _ in range(200):
        free_at = np.array([rng.choice((0.0, 0.0, 0.0, 50.0, np.inf)) for _ in range(where.gpu_count)])
        for size in BlockSizes(where).sizes:
            gpu = best_free_block(free_at, 0.0, size, first_of_node, everywhere, 0, 0, False)
            assert gpu == NOWHERE or is_legal_block(where, gpu, size)
            assert gpu == NOWHERE or free_at[gpu : gpu + size].max() == 0.0
            assert gpu != NOWHERE or not free_alike(where, free_at, size)
            moment, gpu = first_free_block(free_at, size, first_of_node, everywhere)
            assert gpu == NOWHERE or is_legal_block(where, gpu, size)
            assert gpu == NOWHERE or free_at[gpu : gpu + size].max() == moment
            found += gpu != NOWHERE
    assert found > 200


def free_alike(where: Cluster, free_at: np.ndarray[tuple[int], np.dtype[np.float64]], size: int) -> bool:
    """Return whether a block is free: inside a node where any node has room for one, of whole nodes otherwise."""
    inside = any(node.gpus >= size for node in where.nodes) and size.bit_count() == 1
    return any(
        free_at[gpu : gpu + size].max() == 0.0
        for gpu in range(where.gpu_count - size + 1)
        if is_legal_block(where, gpu, size) and (not inside or where.nodes[where.node_of(gpu)].gpus >= size)
    )
