"""Loads the compiled code of `fast` before a clock runs, so that a first plan has the budget of any other."""

from __future__ import annotations

from functools import cache

from loadfactor.model import Cluster, GpuRange, Horizon, Job, Node, Problem, Service, Unavailable
from loadfactor.policies.fast.search import Budget, Search
from loadfactor.policies.instance import compile_problem


@cache
def load_compiled_code() -> None:
    """Plan a problem of a few cells that calls every kernel; from numba's cache that takes a good part of a second."""
    Search(compile_problem(_few_cells()), seed=0).run(Budget(0.0, 0.0, iterations=4))


def _few_cells() -> Problem:
    """Return a problem with a job to place, one to leave out, and a held GPU that a service must give back."""
    service = Service(id="service", priority=1.0, demand=(1, 1, 1, 1), max_swap=1, held=(2,))
    jobs = [
        Job(id=f"job-{index}", kind="training", priority=1.0, gpus=GpuRange(min=1, max=2), work=4) for index in range(4)
    ]
    closed = Unavailable(gpus=(2,), from_step=2, until_step=4)
    cluster = Cluster(nodes=(Node(name="node", gpus=4),), unavailable=(closed,))
    return Problem(name="few-cells", horizon=Horizon(steps=4), cluster=cluster, jobs=tuple(jobs), services=(service,))
