"""Loads the compiled code of the planners before a clock runs, so that a first decision has the time of any other."""

from __future__ import annotations

from functools import cache

import numpy as np

from loadfactor.control.blocks import NO_NEED
from loadfactor.control.planners.horizon import HorizonSettings, RollingHorizon
from loadfactor.control.planners.placing import EASY, start_in_order
from loadfactor.control.planners.queue import Columns
from loadfactor.control.state import ClusterState
from loadfactor.model import Cluster, Node
from loadfactor.policies.fast.loading import load_compiled_code
from loadfactor.policies.fast.search import Budget, Search


@cache
def load_planners() -> None:
    """Make a decision of every kind on a cluster of two GPUs; from numba's cache that takes a good part of a second."""
    load_compiled_code()
    state = ClusterState(Cluster(nodes=(Node(name="node", gpus=2),)), (), step_seconds=600)
    columns, rows = Columns(), np.zeros(1, dtype=np.int64)
    columns.set_block(0, NO_NEED, (1,))
    columns.run_seconds[0] = 600.0
    free_at = np.zeros(2, dtype=np.float64)
    for depth in (2, 70):
        horizon = RollingHorizon(state, HorizonSettings(steps=depth))
        Search(horizon.instance(state, rows, columns, np.ones(1), free_at, None), 0).run(Budget(0.0, 0.0, 0))
    start_in_order(
        EASY, rows, columns.need.numbers, columns.size.numbers, columns.run_seconds.numbers, columns.ready_at.numbers,
        free_at, 0.0, np.array([0, 2], dtype=np.int64), np.ones((1, 1), dtype=np.bool_),
        np.empty((1, 2), dtype=np.int64),
    )  # fmt: skip
