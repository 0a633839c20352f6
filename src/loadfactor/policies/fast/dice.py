"""Random numbers for compiled code."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from loadfactor.policies.compiled import inner


@inner
def random_below(state: npt.NDArray[np.uint64], bound: int) -> int:
    """Return a random integer in [0, bound) (xorshift64*, Vigna 2016)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    number = (x * np.uint64(2685821657736338717)) >> np.uint64(33)
    return (np.int64(number) * bound) >> 31  # type: ignore[return-value]  # an integer once compiled
