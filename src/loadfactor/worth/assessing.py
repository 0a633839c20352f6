"""The one function: a problem in, the worth of hardware out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from loadfactor.errors import InputError
from loadfactor.model import Node, Problem
from loadfactor.policies import DEFAULT_EFFORT, Effort
from loadfactor.worth.curve import Runs
from loadfactor.worth.findings import GpuPrice, Worth
from loadfactor.worth.growth import node_to_add, nodes_for
from loadfactor.worth.relaxation import PoolKey, Relaxation, pools_of, relax
from loadfactor.worth.verdict import order_of, told, verdict_of

BASELINE = "fifo"
ORDERED = 0.4
LABELLED = 0.1
CURVE_POINTS = 9
MOST_GROWTH = 3.0
"""The baseline's match is searched up to this share above today's size: four times today's GPUs."""


def worth(
    problem: Problem,
    *,
    policy_name: str = "fast",
    effort: Effort = DEFAULT_EFFORT,
    order: float = ORDERED,
    curve_points: int = CURVE_POINTS,
    most_growth: float = MOST_GROWTH,
    price_seconds: float = 30.0,
    progress: Callable[[str], None] | None = None,
) -> Worth:
    """Return value and utilization against the number of GPUs, and what one more GPU is worth.

    The curve has today's size, one node more, 10 % more, `order` (a share, 40 %) more, and up to `curve_points` sizes
    in all between them, in whole nodes. `effort` goes to the policy at every size; `price_seconds` limits the linear
    relaxation behind the prices (0: none). `progress` is told what is being computed.

    Raises `InputError` for shares that make no sense and where a grown problem is beyond the declared limits.
    """
    _refuse_nonsense(order, curve_points, most_growth)
    say = progress or (lambda _: None)
    runs = Runs(problem, BASELINE, policy_name, effort, say)
    labels = _sizes(problem, order, curve_points)
    points = tuple(runs.points(labels))
    today, ordered = points[0], next(point for point in points if point.nodes_added == nodes_for(problem, order))
    match = runs.match(today.allocator.value, most_growth)
    say("the price of a GPU")
    relaxation = relax(problem, price_seconds) if price_seconds > 0 else None
    bought = order_of(order, today, ordered)
    verdict = verdict_of(today, bought)
    start = problem.horizon.start
    return Worth(
        problem=problem.name,
        baseline_name=BASELINE,
        allocator_name=policy_name,
        added_node=_node_text(node_to_add(problem.cluster)),
        points=points,
        match=match,
        bound=None if relaxation is None else relaxation.value,
        prices=_prices(problem, relaxation),
        order=bought,
        verdict=verdict,
        message=told((BASELINE, policy_name), today, ordered, bought, match, verdict),
        horizon_start=None if start is None else start.isoformat(),
        step_minutes=problem.horizon.step_minutes,
    )


def _refuse_nonsense(order: float, curve_points: int, most_growth: float) -> None:
    if not 0 < order <= 100:
        raise InputError.of("order", f"{order} is no share above 0 and up to 100", "give 0.4 for 40 % more GPUs")
    if curve_points < 2:
        raise InputError.of("curve_points", f"{curve_points} make no curve", "give at least 2")
    if not 0 <= most_growth <= 100:
        raise InputError.of("most_growth", f"{most_growth} is no share from 0 to 100", "give 3 for four times the GPUs")


def _sizes(problem: Problem, order: float, curve_points: int) -> dict[int, str]:
    """Return how many nodes to add and the label of that size; sizes that nobody named carry their share."""
    last = max(1, nodes_for(problem, order))
    named: dict[int, list[str]] = {1: ["+1 node"]}
    for share in sorted({LABELLED, order}):
        if nodes_for(problem, share) <= last:
            named.setdefault(nodes_for(problem, share), []).append(f"+{share:.0%}")
    per_node, today = node_to_add(problem.cluster).gpus, problem.cluster.gpu_count
    spaced = {round(share * last) for share in np.linspace(0.0, 1.0, curve_points)}
    labels = {nodes: f"{nodes * per_node / today:+.0%}" for nodes in spaced}
    return {**labels, **{nodes: ", ".join(names) for nodes, names in named.items()}, 0: "today"}


def _node_text(node: Node) -> str:
    return f"{node.gpus} x {_pool_name((node.gpu_type, node.gpu_memory_gib))}"


def _pool_name(pool: PoolKey) -> str:
    gpu_type, memory = pool
    named = gpu_type or "GPU of no stated type"
    return named if memory is None else f"{named} ({memory:g} GiB)"


def _prices(problem: Problem, relaxation: Relaxation | None) -> tuple[GpuPrice, ...]:
    if relaxation is None:
        return ()
    nodes = problem.cluster.nodes
    counts = {pool: sum(n.gpus for n in nodes if (n.gpu_type, n.gpu_memory_gib) == pool) for pool in pools_of(problem)}
    return tuple(
        GpuPrice(_pool_name(pool), counts[pool], tuple(float(price) for price in row), float(row.sum()))
        for pool, row in zip(relaxation.pools, relaxation.prices, strict=True)
    )
