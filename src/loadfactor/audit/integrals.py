"""Integrals of step functions over spans: how many GPU-seconds fall into each hour, exactly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def seconds_between(begin: Floats, end: Floats, edges: Floats, weight: Floats | None = None) -> Floats:
    """Return for each span between two neighbours of `edges` the seconds that the spans [begin, end) share with it.

    `begin`, `end` and `weight` (1 where absent) have one entry a span of the function; `edges` ascend. The result has
    len(edges) - 1 entries. The function's integral is linear between its steps, so that reading it at the edges is
    exact.
    """
    if not len(begin):
        return np.zeros(len(edges) - 1)
    weights = np.ones(len(begin)) if weight is None else weight
    moments = np.concatenate((begin, end))
    order = np.argsort(moments, kind="stable")
    moments = moments[order]
    height = np.cumsum(np.concatenate((weights, -weights))[order])
    integral = np.concatenate(([0.0], np.cumsum(height[:-1] * np.diff(moments))))
    return np.diff(np.interp(edges, moments, integral))
