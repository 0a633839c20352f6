"""Loads the compiled code of `fast` before a clock runs, so that a first plan or event has the time of any other."""

from __future__ import annotations

from functools import cache

from loadfactor.model import Cluster, GpuRange, Horizon, Job, Node, Problem, Service, Unavailable
from loadfactor.policies.fast.layout import draft_of
from loadfactor.policies.fast.ledger import Ledger
from loadfactor.policies.fast.search import Budget, Search
from loadfactor.policies.fast.standing import Standing
from loadfactor.policies.instance import compile_problem


@cache
def load_compiled_code() -> None:
    """Plan a problem of a few cells that calls every kernel; from numba's cache that takes a good part of a second."""
    Search(compile_problem(_few_cells()), seed=0).run(Budget(0.0, 0.0, iterations=4))


@cache
def load_compiled_events() -> None:
    """Let a plan of a few cells go through every kind of event, for the kernels of the incremental form."""
    problem = _few_cells()
    layout = Search(compile_problem(problem), seed=0).run(Budget(0.0, 0.0, iterations=4))
    if layout is None:
        return
    plan = draft_of(compile_problem(problem), layout).plan("fast", 0.0)
    standing = Standing(problem, plan, seed=0)
    ledger = Ledger(problem, plan, standing)
    services = {service.id: service for service in problem.services}
    first = problem.jobs[0]
    focus = standing.remove(first) + standing.add(first) + standing.reprice(first)
    focus += standing.close(0, 2, list(services.values()), [])
    standing.improve([*focus, *standing.serve_again(list(services.values()), services)], rounds=4)
    standing.recover(tries=8)
    ledger.compose(services, 0.0)


def _few_cells() -> Problem:
    """Return a problem with a job to place, one to leave out, and a held GPU that a service must give back."""
    service = Service(id="service", priority=1.0, demand=(1, 1, 1, 1), max_swap=1, held=(2,))
    jobs = [
        Job(id=f"job-{index}", kind="training", priority=1.0, gpus=GpuRange(min=1, max=2), work=4) for index in range(4)
    ]
    closed = Unavailable(gpus=(2,), from_step=2, until_step=4)
    cluster = Cluster(nodes=(Node(name="node", gpus=4),), unavailable=(closed,))
    return Problem(name="few-cells", horizon=Horizon(steps=4), cluster=cluster, jobs=tuple(jobs), services=(service,))
