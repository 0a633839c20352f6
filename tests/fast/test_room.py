"""Rows that say when nodes have room, and the earliest start that is found by them, against slow searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt
import pytest
from numba import njit

from loadfactor.policies.bits import leading_zeros, trailing_zeros
from loadfactor.policies.fast.packing import earliest_of
from loadfactor.policies.fast.search import Budget, Search
from loadfactor.policies.instance import (
    DURATION,
    FIRST_BLOCK,
    LAST_BLOCK,
    LAST_START,
    SIZE,
    Instance,
    Ints,
    compile_problem,
)
from loadfactor.policies.occupancy import Bits, room_row, with_summary
from tests.support.generators import SMALL, random_problem

Function = TypeVar("Function", bound=Callable[..., object])
NODES = [(8, 8, 8), (1, 1), (4, 8, 2), (6, 16, 3), (2,)]


def compiled(function: Function) -> Function:
    """Compile without a cache, which would not see that what the function calls has changed."""
    return cast(Function, njit(function))


@compiled
def lowest_and_highest(word: np.uint64) -> tuple[int, int]:
    return trailing_zeros(word), 63 - leading_zeros(word)


@compiled
def row_of(node: int, size: int, first_of_node: Ints) -> int:
    return room_row(node, size, first_of_node)


@compiled
def start_of(
    option: int, first: int, grid: Bits, nodes: Ints, firsts: Ints, free: Ints, options: Ints, starts: Ints, steps: int
) -> tuple[int, int]:
    return earliest_of(option, first, grid, nodes, firsts, free, options, starts, steps)


@pytest.mark.parametrize("word", [1, 2, 3, 0xFF00, 2**63, 2**63 + 4, 2**64 - 1])
def test_bits_are_where_python_finds_them(word: int) -> None:
    assert lowest_and_highest(np.uint64(word)) == ((word & -word).bit_length() - 1, word.bit_length() - 1)


@pytest.mark.parametrize("sizes", NODES)
@pytest.mark.parametrize("steps", [24, 64, 100])
def test_a_bit_is_set_exactly_where_the_node_has_no_free_block(sizes: tuple[int, ...], steps: int) -> None:
    dice = np.random.default_rng(steps + sum(sizes))
    first_of_node = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    cells = dice.random((first_of_node[-1], steps)) < 0.5
    grid = with_summary(_packed(cells), first_of_node)
    for node, gpus in enumerate(sizes):
        mine = cells[first_of_node[node] : first_of_node[node + 1]]
        for size in (size for size in (1, 2, 4, 8, 16) if size <= gpus):
            whole = size == gpus
            blocks = [mine] if whole else [mine[first : first + size] for first in range(gpus - size + 1)]
            expected = np.all([block.any(axis=0) for block in blocks], axis=0)
            row = grid[row_of(node, size, first_of_node)]
            assert _cells(row, steps).tolist() == expected.tolist(), (node, size)


def test_the_earliest_start_of_any_block_is_that_of_a_slow_search() -> None:
    looked_for = found = 0
    for seed in range(60):
        instance = compile_problem(random_problem(seed, SMALL))
        grid = _crowded(instance, seed)
        for option in range(len(instance.options)):
            for first in range(instance.steps):
                start, gpu = start_of(
                    option, first, grid, instance.node_of_gpu, instance.first_of_node,
                    np.empty((0, instance.steps), dtype=np.int64), instance.options, instance.starts, instance.steps,
                )  # fmt: skip
                expected = _slow(instance, grid, option, first)
                looked_for, found = looked_for + 1, found + (start >= 0)
                assert (start, gpu in expected.get(start, ())) == (min(expected, default=-1), bool(expected))
    assert looked_for > 2_000
    assert 500 < found < looked_for - 500


@pytest.mark.parametrize("seed", range(5))
def test_the_search_leaves_the_rows_of_the_problem_alone(seed: int) -> None:
    instance = compile_problem(random_problem(seed, SMALL))
    before = instance.grid.copy()
    Search(instance, seed).run(Budget(0.0, 0.0, 20))
    assert (instance.grid == before).all()


def _packed(cells: npt.NDArray[np.bool_]) -> Bits:
    padded = np.zeros((len(cells), -(-cells.shape[1] // 64) * 64), dtype=np.uint8)
    padded[:, : cells.shape[1]] = cells
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def _cells(rows: Bits, steps: int) -> npt.NDArray[np.bool_]:
    return (
        np.unpackbits(rows.reshape(-1, rows.shape[-1]).view(np.uint8), axis=1, bitorder="little")[:, :steps]
        .squeeze(axis=0 if rows.ndim == 1 else ())
        .astype(bool)
    )


def _crowded(instance: Instance, seed: int) -> Bits:
    """Return a grid of which a part is taken in runs."""
    dice = np.random.default_rng(seed)
    cells = _cells(instance.grid[: len(instance.pool_of_gpu)], instance.steps)
    for _ in range(len(cells)):
        gpu, start = dice.integers(len(cells)), dice.integers(instance.steps)
        cells[gpu, start : start + dice.integers(1, 1 + instance.steps // 2 or 2)] = True
    return with_summary(_packed(cells), instance.first_of_node)


def _slow(instance: Instance, grid: Bits, option: int, first: int) -> dict[int, list[int]]:
    """Return the first GPUs of all free blocks by their start, from `first` on."""
    row = instance.options[option]
    cells = _cells(grid[: len(instance.pool_of_gpu)], instance.steps)
    found: dict[int, list[int]] = {}
    for start in range(first, row[LAST_START] + 1):
        for gpu in instance.starts[row[FIRST_BLOCK] : row[LAST_BLOCK]].tolist():
            if not cells[gpu : gpu + row[SIZE], start : start + row[DURATION]].any():
                found.setdefault(start, []).append(gpu)
    return found
