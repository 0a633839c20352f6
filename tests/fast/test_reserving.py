"""Services on the grid: who gets which GPU, against a slow version that looks at every GPU for every interval."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt
import pytest

from loadfactor.policies.fast.serving import GROUP, lay_intervals, reserve_services
from loadfactor.policies.occupancy import with_summary

Cells = npt.NDArray[np.bool_]
Interval = list[int]
SEEDS = 60


@dataclass
class Reserving:
    """A grid with some cells taken, services that hold GPUs, and the curves that they are to follow."""

    taken: Cells
    curves: npt.NDArray[np.int64]
    held: npt.NDArray[np.int64]
    first_of_node: npt.NDArray[np.int64]

    @property
    def services(self) -> npt.NDArray[np.int64]:
        holding = [int((self.held == service).sum()) for service in range(len(self.curves))]
        return np.array([[2, len(self.held), number, 0, 0] for number in holding], dtype=np.int64)


def drawn(seed: int) -> Reserving:
    """Draw a grid; every third is so full that intervals must be pieced together, every fourth has many nodes."""
    rng = Random(seed)
    sizes = [rng.randint(1, 3) for _ in range(GROUP + 9 if seed % 4 == 0 else rng.randint(1, 6))]
    gpus, steps = sum(sizes), rng.choice([5, 30, 64, 70])
    taken, held = np.zeros((gpus, steps), dtype=np.bool_), np.full(gpus, -1, dtype=np.int64)
    for gpu in range(gpus):
        if rng.random() < (0.95 if seed % 3 == 0 else 0.4):
            start = rng.randrange(steps)
            taken[gpu, start : rng.randint(start + 1, steps)] = True
        if rng.random() < 0.3 and not taken[gpu, 0]:
            held[gpu] = rng.randrange(2)
    levels = [[rng.randint(0, gpus // 3 + 1) for _ in range(-(-steps // 4))] for _ in range(2)]
    curves = np.repeat(np.array(levels, dtype=np.int64), 4, axis=1)[:, None, :steps]
    return Reserving(taken, np.ascontiguousarray(curves), held, np.cumsum([0, *sizes]))


def free_until(taken: Cells, gpu: int, start: int) -> int:
    """Return the first step from `start` on at which the GPU is taken."""
    return next((t for t in range(start, taken.shape[1]) if taken[gpu, t]), taken.shape[1])


def slow_intervals(curves: npt.NDArray[np.int64]) -> list[Interval]:
    """Return (service, start, end, -1) of every stretch in which a service is at a level, in the order of their end."""
    found: list[Interval] = []
    for service, (curve,) in enumerate(curves.tolist()):
        opened: list[int] = []
        for t, level in enumerate([*curve, 0]):
            while len(opened) < level:
                opened.append(t)
            while len(opened) > level:
                found.append([service, opened.pop(), t, -1])
    return found


def slowly(world: Reserving) -> tuple[list[Interval], Cells, Cells, bool]:
    """Return the intervals with their GPUs, what is taken at last, what each service reserved, and whether all fit."""
    taken, intervals, whole = world.taken.copy(), slow_intervals(world.curves), True
    reserved = np.zeros((len(world.curves), *taken.shape), dtype=np.bool_)
    ranked = sorted(intervals, key=lambda interval: interval[1] - interval[2])

    def take(service: int, gpu: int, start: int, end: int) -> None:
        taken[gpu, start:end] = reserved[service, gpu, start:end] = True

    for interval in ranked:
        service, start, end, _ = interval
        own = [gpu for gpu in np.flatnonzero(world.held == service).tolist() if free_until(taken, gpu, 0) > 0]
        if start == 0 and own:
            gpu = max(own, key=lambda each: (free_until(taken, each, 0), each))
            reach = min(free_until(taken, gpu, 0), end)
            take(service, gpu, 0, reach)
            whole = whole and reach == end
            interval[1 if reach < end else 3] = reach if reach < end else gpu
    for interval in ranked:
        service, start, end, gpu = interval
        if gpu != -1:
            continue
        roomy = [each for each in range(len(taken)) if free_until(taken, each, start) >= end]
        if roomy:
            interval[3] = max(roomy)
            take(service, max(roomy), start, end)
            continue
        whole = False
        while start < end:
            reaches = [min(free_until(taken, each, start), end) for each in range(len(taken))]
            farthest = max(reaches)
            if farthest > start:
                take(service, reaches.index(farthest), start, farthest)
            start = max(farthest, start + 1)
    return intervals, taken, reserved, whole


def bits(cells: Cells) -> npt.NDArray[np.uint64]:
    """Return rows of cells as words."""
    words = np.zeros((len(cells), -(-cells.shape[1] // 64) * 64), dtype=np.bool_)
    words[:, : cells.shape[1]] = cells
    return np.packbits(words, axis=1, bitorder="little").view(np.uint64)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_services_get_the_gpus_that_a_slow_search_gives_them(seed: int) -> None:
    world = drawn(seed)
    intervals, taken, reserved, whole = slowly(world)
    gpus, closed = len(world.taken), bits(world.taken)
    grid, own = with_summary(closed, world.first_of_node), np.zeros((2, *closed.shape), dtype=np.uint64)
    steps, fixed = world.taken.shape[1], np.empty_like(closed)
    found, ranked, stayed = lay_intervals(world.curves, world.services, world.held, grid, own)
    alone = reserve_services(
        found, ranked, np.ones((2, 1), dtype=np.bool_), np.zeros(gpus, dtype=np.int64), grid, own, closed, fixed,
        np.repeat(np.arange(len(world.first_of_node) - 1), np.diff(world.first_of_node)), world.first_of_node, steps,
    )  # fmt: skip
    assert found.tolist() == intervals
    assert (grid == with_summary(bits(taken), world.first_of_node)).all()
    assert (own == np.stack([bits(each) for each in reserved])).all()
    assert (fixed == bits(world.taken | reserved.any(axis=0))).all()
    assert (stayed and alone) == whole


def test_enough_grids_are_short_and_enough_are_not() -> None:
    """Generators must make interesting cases: some in which every interval is whole, and many in which none is free."""
    whole = [slowly(drawn(seed))[3] for seed in range(SEEDS)]
    assert 0.1 * SEEDS <= sum(whole) <= 0.8 * SEEDS
