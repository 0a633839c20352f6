"""Boxes cover exactly the cells they are made from, once each, and the density counts exactly those."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from loadfactor.errors import InputError
from loadfactor.model import Placement, Plan, ServiceAllocation, Unavailable
from loadfactor.pictures.boxes import Box, boxes_of_block, boxes_of_holdings, boxes_of_unavailable, largest_box
from loadfactor.pictures.density import density, owners, row_edges
from loadfactor.pictures.scene import scene_of

from .examples import made_up, small_plan, small_problem


def cells_of(boxes: tuple[Box, ...]) -> Counter[tuple[int, int]]:
    return Counter((g, t) for b in boxes for g in range(b.first_gpu, b.until_gpu) for t in range(b.start, b.end))


@pytest.mark.parametrize("seed", range(30))
def test_boxes_of_holdings_cover_every_cell_once(seed: int) -> None:
    rng = random.Random(seed)
    holdings = [tuple(sorted(rng.sample(range(9), rng.randint(0, 9)))) for _ in range(8)]
    for step in range(1, 8):
        if rng.random() < 0.4:
            holdings[step] = holdings[step - 1]

    boxes = boxes_of_holdings(holdings, 8)

    assert cells_of(boxes) == Counter((gpu, step) for step, gpus in enumerate(holdings) for gpu in gpus)
    if boxes:
        label = largest_box(boxes)
        assert cells_of((label,)) <= cells_of(boxes)
        assert label.cells >= max(box.cells for box in boxes)


def test_steady_holdings_are_one_box() -> None:
    assert boxes_of_holdings([(3, 4, 5)] * 7, 7) == (Box(3, 6, 0, 7),)


def test_a_growing_service_is_one_box_for_each_change() -> None:
    assert boxes_of_holdings([(7,), (6, 7), (7,)], 3) == (Box(7, 8, 0, 3), Box(6, 7, 1, 2))


def test_a_scattered_block_is_cut_into_runs_and_at_the_horizon() -> None:
    assert boxes_of_block((8, 0, 1), 2, 99, 5) == (Box(0, 2, 2, 5), Box(8, 9, 2, 5))
    assert boxes_of_block((0,), 5, 9, 5) == ()


def test_overlapping_unavailable_entries_are_united() -> None:
    entries = [
        Unavailable(gpus=(0, 1), from_step=0, until_step=4),
        Unavailable(gpus=(0, 1), from_step=3, until_step=90),
    ]
    assert boxes_of_unavailable(entries, 6) == (Box(0, 2, 0, 6),)


def test_density_counts_what_the_owners_hold() -> None:
    scene = scene_of(small_problem(), small_plan())
    codes = owners(scene)
    groups = density(scene, [0, 8, 12], 24)
    busy = [(codes[first:until] > 1).sum() / (codes[first:until] != 1).sum() for first, until in ((0, 8), (8, 12))]
    assert np.allclose(groups.busy[:, 0], busy)


@pytest.mark.parametrize(("nodes", "rows"), [(8, 64), (1280, 64), (100, 50), (9, 36)])
def test_rows_of_large_clusters_end_at_nodes(nodes: int, rows: int) -> None:
    problem, _ = made_up(nodes, 0, 0, 4)
    edges = row_edges(problem.cluster, 64)
    assert len(edges) - 1 == rows
    assert edges[0] == 0
    assert edges[-1] == 8 * nodes
    if nodes > 16:
        assert set(edges) <= set(problem.cluster.node_offsets)


def test_utilization_is_that_of_the_design() -> None:
    scene = scene_of(small_problem(), small_plan())
    job_cells = sum(len(p.gpus) * (p.end - p.start) for p in small_plan().jobs)
    served = sum(int(np.minimum(drawn.demand, drawn.held).sum()) for drawn in scene.services)
    assert scene.utilization == pytest.approx((job_cells + served) / (12 * 24 - 14))


def test_a_plan_of_another_problem_is_refused_with_every_fault() -> None:
    plan = Plan(
        problem="other",
        policy="by hand",
        jobs=(Placement(id="nobody", start=0, end=1, gpus=(12,)),),
        services=(ServiceAllocation(id="nothing", gpus=((0,),)),),
    )
    with pytest.raises(InputError) as caught:
        scene_of(small_problem(), plan)
    assert [fault.path for fault in caught.value.faults] == [
        "jobs[0].id", "jobs[0].gpus", "services[0].id", "services[0].gpus",
    ]  # fmt: skip
    assert "the problem 'a small day' has no job 'nobody'; draw the plan with the problem" in str(caught.value)
