"""The queue of a planner: rows of waiting jobs in an order that is kept while jobs come and go."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
FIRST_ROOM = 256


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


class Columns:
    """What planners know of jobs by row: block size, expected run time, when each may be tried, and its priority."""

    def __init__(self) -> None:
        self.size: Ints = np.zeros(FIRST_ROOM, dtype=np.int64)
        self.run_seconds: Floats = np.zeros(FIRST_ROOM, dtype=np.float64)
        self.ready_at: Floats = np.zeros(FIRST_ROOM, dtype=np.float64)
        self.key: Floats = np.zeros(FIRST_ROOM, dtype=np.float64)
        self.worth: Floats = np.zeros(FIRST_ROOM, dtype=np.float64)

    def make_room(self, row: int) -> None:
        """Let the columns reach to `row`."""
        if row < len(self.size):
            return
        room = 2 * max(row, len(self.size))
        for name in ("size", "run_seconds", "ready_at", "key", "worth"):
            column = getattr(self, name)
            larger = np.zeros(room, dtype=column.dtype)
            larger[: len(column)] = column
            setattr(self, name, larger)
