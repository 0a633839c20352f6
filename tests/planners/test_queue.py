"""The queue against a sorted list."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadfactor.control.planners.queue import Column, RankedQueue

KEYS = st.lists(st.integers(-3, 3), min_size=1, max_size=600)


@given(KEYS, st.randoms(use_true_random=False))
def test_rows_are_in_the_order_of_their_keys(keys: list[int], random: object) -> None:
    queue, there = RankedQueue(), {}
    for row, key in enumerate(keys):
        queue.add(row, float(key))
        there[row] = key
        if random.random() < 0.3:  # type: ignore[attr-defined]
            gone = random.choice(sorted(there))  # type: ignore[attr-defined]
            queue.remove(gone, float(there.pop(gone)))
        assert queue.count == len(there)
    assert queue.rows.tolist() == sorted(there, key=lambda row: (there[row], row))


def test_a_row_that_is_not_there_is_refused() -> None:
    queue = RankedQueue()
    queue.add(3, 1.0)
    with pytest.raises(KeyError):
        queue.remove(4, 1.0)


def test_a_column_grows_and_keeps_what_it_has() -> None:
    column: Column[np.int64] = Column(np.int64, 7)
    column[2] = 5
    column[5_000] = 6
    assert column.of(np.array([2, 3, 5_000])).tolist() == [5, 7, 6]
