"""The compiled searches for blocks against slow versions, and EASY backfill against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from loadfactor.control.planners.placing import (
    EASY,
    NOWHERE,
    STRICT,
    best_free_block,
    first_free_block,
    start_in_order,
)
from tests.planners.states import cluster, free_at, starts

OFFSETS = np.array(cluster().node_offsets, dtype=np.int64)
ALL = np.ones(3, dtype=np.bool_)
SIZES = (1, 2, 4, 8, 12)


@pytest.mark.parametrize("size", SIZES)
def test_a_free_block_is_found_where_there_is_one(size: int) -> None:
    found = 0
    for seed in range(200):
        moments = free_at(seed)
        free = [first for first in starts(cluster(), size) if (moments[first : first + size] <= 0).all()]
        gpu = best_free_block(moments, 0.0, size, OFFSETS, ALL, 0, 0, False)
        assert (gpu in free) if free else gpu == NOWHERE
        found += bool(free)
    assert found > 10


def test_the_tightest_stretch_wins() -> None:
    moments = np.array([0, 0, 0, 0, 9, 0, 9, 9, 0, 0, 0, 9], dtype=np.float64)
    assert best_free_block(moments, 0.0, 1, OFFSETS, ALL, 0, 0, False) == 5
    assert best_free_block(moments, 0.0, 2, OFFSETS, ALL, 0, 0, False) == 8
    assert best_free_block(moments, 0.0, 4, OFFSETS, ALL, 0, 0, False) == 0
    assert best_free_block(moments, 0.0, 1, OFFSETS, ALL, 5, 6, True) == 8


@pytest.mark.parametrize("size", SIZES)
def test_the_first_free_moment_is_the_earliest(size: int) -> None:
    for seed in range(200):
        moments = free_at(seed)
        slow = min(float(moments[first : first + size].max()) for first in starts(cluster(), size))
        moment, gpu = first_free_block(moments, size, OFFSETS, ALL)
        assert moment == slow
        if np.isfinite(moment):
            assert gpu in starts(cluster(), size)
            assert moments[gpu : gpu + size].max() == moment


def _slow(mode: int, sizes: list[int], runs: list[int], moments: list[float]) -> list[int]:
    """EASY as its definition says: no job that starts may delay the first that waits."""
    started, shadow, barred = [], np.inf, range(0)
    moments = list(moments)
    for row, (size, run) in enumerate(zip(sizes, runs, strict=True)):
        fitting = [
            first
            for first in starts(cluster(), size)
            if all(moments[gpu] <= 0 for gpu in range(first, first + size))
            and (run <= shadow or not set(barred) & set(range(first, first + size)))
        ]
        if fitting:
            started.append(row)
            block = best_free_block(
                np.array(moments), 0.0, size, OFFSETS, ALL, barred.start, barred.stop, len(barred) > 0
            )
            if block == NOWHERE:
                block = best_free_block(np.array(moments), 0.0, size, OFFSETS, ALL, 0, 0, False)
            for gpu in range(block, block + size):
                moments[gpu] = float(run)
        elif not barred:
            moment, first = first_free_block(np.array(moments), size, OFFSETS, ALL)
            if np.isfinite(moment):
                if mode == STRICT:
                    break
                shadow, barred = moment, range(first, first + size)
    return started


@pytest.mark.parametrize("mode", [STRICT, EASY])
def test_jobs_start_as_easy_backfill_says(mode: int) -> None:
    overtaken = 0
    for seed in range(300):
        random = np.random.default_rng(seed)
        sizes, runs = random.choice(SIZES, 9), random.integers(1, 60, 9)
        moments = free_at(seed)
        started = np.empty((9, 2), dtype=np.int64)
        count = start_in_order(
            mode, np.arange(9), np.zeros(9, dtype=np.int64), sizes, runs.astype(np.float64), np.zeros(9),
            moments.copy(), 0.0, OFFSETS, ALL.reshape(1, 3), started,
        )  # fmt: skip
        rows = started[:count, 0].tolist()
        assert rows == _slow(mode, sizes.tolist(), runs.tolist(), moments.tolist())
        overtaken += rows != list(range(count))
    assert overtaken > 30
