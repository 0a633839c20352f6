"""The last numbers of a stream, kept in the order of their size too."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Iterable


class SortedWindow:
    """The last `size` numbers that were added: `sizes` in ascending order, `arrivals` in the order they came."""

    __slots__ = ("arrivals", "limit", "sizes")

    def __init__(self, limit: int, values: Iterable[float] = ()) -> None:
        self.limit = limit
        self.arrivals: deque[float] = deque()
        self.sizes: list[float] = []
        for value in values:
            self.add(value)

    def __len__(self) -> int:
        return len(self.sizes)

    def add(self, value: float) -> None:
        """Add a number; the oldest leaves once there are more than the limit."""
        self.arrivals.append(value)
        insort(self.sizes, value)
        if len(self.sizes) > self.limit:
            del self.sizes[bisect_left(self.sizes, self.arrivals.popleft())]

    def count_above(self, floor: float) -> int:
        """Return how many numbers are greater than `floor`."""
        return len(self.sizes) - bisect_right(self.sizes, floor)

    def quantile_above(self, floor: float, quantile: float) -> float:
        """Return the least number that at least `quantile` of those greater than `floor` do not exceed; one must be."""
        first = bisect_right(self.sizes, floor)
        count = len(self.sizes) - first
        return self.sizes[first + min(count - 1, int(quantile * count))]
