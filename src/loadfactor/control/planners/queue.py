"""The queue of a planner: rows of waiting jobs in an order that is kept while jobs come and go."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from loadfactor.control.blocks import NO_NEED

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
FIRST_ROOM = 256
Number = TypeVar("Number", bound=np.generic)


class RankedQueue:
    """Rows in the order of their keys, the smallest first, and by row where keys are equal.

    Kept in one array, so that a kernel can walk it without a copy.
    """

    def __init__(self) -> None:
        self.count = 0
        self._keys: Floats = np.empty(FIRST_ROOM, dtype=np.float64)
        self._rows: Ints = np.empty(FIRST_ROOM, dtype=np.int64)

    @property
    def rows(self) -> Ints:
        """Return the rows in order."""
        return self._rows[: self.count]

    def add(self, row: int, key: float) -> None:
        """Add a row that is not in the queue."""
        if self.count == len(self._rows):
            self._keys, self._rows = np.resize(self._keys, 2 * self.count), np.resize(self._rows, 2 * self.count)
        place = self._place(row, key)
        self._keys[place + 1 : self.count + 1] = self._keys[place : self.count]
        self._rows[place + 1 : self.count + 1] = self._rows[place : self.count]
        self._keys[place], self._rows[place] = key, row
        self.count += 1

    def remove(self, row: int, key: float) -> None:
        """Remove a row that was added with this key; raise `KeyError` where it was not."""
        place = self._place(row, key)
        if place == self.count or self._rows[place] != row:
            raise KeyError(row)
        self._keys[place : self.count - 1] = self._keys[place + 1 : self.count]
        self._rows[place : self.count - 1] = self._rows[place + 1 : self.count]
        self.count -= 1

    def _place(self, row: int, key: float) -> int:
        keys = self._keys[: self.count]
        low, high = int(keys.searchsorted(key, "left")), int(keys.searchsorted(key, "right"))
        return low + int(self._rows[low:high].searchsorted(row))


class Column(Generic[Number]):
    """Numbers by row, growing as rows are written."""

    def __init__(self, dtype: type[Number], empty: float) -> None:
        self._empty = empty
        self.numbers: npt.NDArray[Number] = np.full(FIRST_ROOM, empty, dtype=dtype)

    def __setitem__(self, row: int, number: float) -> None:
        if row >= len(self.numbers):
            larger = np.full(2 * max(row, len(self.numbers)), self._empty, dtype=self.numbers.dtype)
            larger[: len(self.numbers)] = self.numbers
            self.numbers = larger
        self.numbers[row] = number

    def __getitem__(self, row: int) -> float:
        return float(self.numbers[row])

    def of(self, rows: Ints) -> npt.NDArray[Number]:
        """Return the numbers of `rows`."""
        return self.numbers[rows]


class Shapes:
    """The kinds of blocks that jobs may get, numbered: what their GPUs must be, and the sizes, ascending."""

    def __init__(self) -> None:
        self.needs: list[int] = []
        self.sizes: list[tuple[int, ...]] = []
        self.least: Column[np.int64] = Column(np.int64, 0)
        self.moldable: Column[np.bool_] = Column(np.bool_, False)
        self._numbers: dict[tuple[int, tuple[int, ...]], int] = {}

    def number(self, need: int, sizes: tuple[int, ...]) -> int:
        """Return the number of a shape."""
        number = self._numbers.get((need, sizes))
        if number is None:
            number = self._numbers[need, sizes] = len(self.needs)
            self.needs.append(need)
            self.sizes.append(sizes)
            self.least[number], self.moldable[number] = sizes[0], len(sizes) > 1
        return number


class Columns:
    """What planners know of jobs by row: the block, the run time, when each may be tried, key and priority.

    `size` is the largest block's and `run_seconds` is for that one. Where `work` is not 0, a block of s GPUs is held
    for `overhead_seconds` + work / s.
    """

    def __init__(self, overhead_seconds: int = 0) -> None:
        self.overhead_seconds = overhead_seconds
        self.shapes = Shapes()
        self.shape: Column[np.int64] = Column(np.int64, 0)
        self.need: Column[np.int64] = Column(np.int64, 0)
        self.size: Column[np.int64] = Column(np.int64, 0)
        self.run_seconds: Column[np.float64] = Column(np.float64, 0.0)
        self.work: Column[np.float64] = Column(np.float64, 0.0)
        self.ready_at: Column[np.float64] = Column(np.float64, 0.0)
        self.key: Column[np.float64] = Column(np.float64, 0.0)
        self.priority: Column[np.float64] = Column(np.float64, 0.0)

    def set_block(self, row: int, need: int, sizes: tuple[int, ...]) -> None:
        """Note which blocks the job of a row may get."""
        self.shape[row], self.need[row], self.size[row] = self.shapes.number(need, sizes), need, sizes[-1]

    def plain_size(self, row: int) -> int:
        """Return the block of a job that has one size and needs no type or memory; 0 for any other."""
        shape = int(self.shape[row])
        plain = self.shapes.needs[shape] == NO_NEED and not self.shapes.moldable[shape]
        return int(self.size[row]) if plain else 0

    def least_size(self, rows: Ints) -> Ints:
        """Return the smallest blocks of `rows`."""
        return self.shapes.least.of(self.shape.of(rows))

    def seconds_on(self, rows: Ints, sizes: Ints) -> Floats:
        """Return how long `rows` hold blocks of `sizes` GPUs."""
        work, seconds = self.work.of(rows), self.run_seconds.of(rows)
        if not work.any():
            return seconds
        return np.where(work > 0, self.overhead_seconds + work / sizes, seconds)
