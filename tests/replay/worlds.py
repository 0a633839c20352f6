"""Small worlds for the tests of the replay, and the slow truth about them."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from loadfactor.control import JobRequest, ServiceRequest
from loadfactor.engines import Arrival, World
from loadfactor.model import Cluster, Node

QUARTER = 900
"""All times of the small worlds are multiples of this many seconds; their best schedules' are, too."""
SLOTS = 19


def small_world(
    gpus: int,
    jobs: list[tuple[int, int, int, float]],
    demand: dict[str, tuple[float, list[int]]] | None = None,
    start_quarters: int = 0,
    end_quarters: int | None = None,
) -> World:
    """Return a world with one node, jobs (quarter of submission, GPUs, quarters of run, priority) and hourly demand."""
    arrivals = [
        Arrival(at * QUARTER, JobRequest(f"job-{index}", size, priority=priority), run * QUARTER)
        for index, (at, size, run, priority) in enumerate(sorted(jobs))
    ]
    curves = demand or {}
    return World(
        cluster=Cluster(nodes=(Node(name="a", gpus=gpus),), block_sizes="whole_nodes"),
        arrivals=arrivals,
        services=[ServiceRequest(name, priority, max_swap=2 * gpus) for name, (priority, _) in curves.items()],
        demand={name: np.array(curve, dtype=np.int64) for name, (_, curve) in curves.items()},
        step_seconds=4 * QUARTER,
        job_start_seconds=start_quarters * QUARTER,
        end=None if end_quarters is None else end_quarters * QUARTER,
    )


@st.composite
def small_worlds(draw: st.DrawFn) -> World:
    """Draw a world that brute force can search."""
    gpus = draw(st.integers(1, 4))
    job = st.tuples(st.integers(0, 4), st.integers(1, gpus), st.integers(1, 6), st.sampled_from([0.5, 1.0, 2.0, 4.0]))
    jobs = draw(st.lists(job, min_size=1, max_size=3))
    curve = st.lists(st.integers(0, gpus + 1), min_size=1, max_size=5)
    services = draw(st.lists(st.tuples(st.sampled_from([0.25, 1.0, 2.0]), curve), max_size=2))
    demand = {f"service-{index}": each for index, each in enumerate(services)}
    return small_world(gpus, jobs, demand, draw(st.integers(0, 1)), draw(st.one_of(st.none(), st.integers(1, SLOTS))))


def block_of(gpus: int, of: int) -> int:
    """Return the smallest block that holds `gpus`: a power of two of GPUs, or the whole node."""
    return min(size for size in (1, 2, 4, 8, of) if gpus <= size <= of)


def best_objectives(world: World, penalty: float, decay: float) -> tuple[float, float]:
    """Return the best objective and the best value of jobs with all demand met (−inf where none), by trying all."""
    best = best_met = -np.inf
    choices = [_choices(world, arrival) for arrival in world.arrivals]
    for starts in product(*choices):
        value, unmet_cost, unmet = _outcome(world, starts, penalty, decay)
        best = max(best, value - unmet_cost)
        if unmet == 0:
            best_met = max(best_met, value)
    return best, best_met


def _choices(world: World, arrival: Arrival) -> list[int | None]:
    last = SLOTS if world.end is None else world.end // QUARTER
    return [None, *range(arrival.at // QUARTER, min(SLOTS, last))]


def _outcome(world: World, starts: tuple[int | None, ...], penalty: float, decay: float) -> tuple[float, float, float]:
    gpus = world.cluster.gpu_count
    free = np.full(3 * SLOTS, gpus)
    value, over = 0.0, 0
    for arrival, start in zip(world.arrivals, starts, strict=True):
        if start is None:
            over = 3 * SLOTS
            continue
        end = start + (arrival.run_seconds + world.job_start_seconds) // QUARTER
        free[start:end] -= block_of(arrival.job.gpus, gpus)
        waited = (start * QUARTER - arrival.at) / 3600
        value += arrival.job.priority * arrival.job.gpus * arrival.run_seconds / 3600 * decay**waited
        over = max(over, end)
    if free.min() < 0:
        return -np.inf, 0.0, 1.0
    if world.end is not None:
        over = min(over, world.end // QUARTER)
    return (value, *_unmet(world, free, over, penalty))


def _unmet(world: World, free: npt.NDArray[np.int64], over: int, penalty: float) -> tuple[float, float]:
    left, cost, unmet = free[:over].copy(), 0.0, 0.0
    for service in sorted(world.services, key=lambda each: -each.priority):
        needed = np.resize(np.repeat(world.demand[service.id], 4), over)
        served = np.minimum(needed, left)
        left -= served
        short = float((needed - served).sum()) * QUARTER / 3600
        cost, unmet = cost + penalty * service.priority * short, unmet + short
    return cost, unmet
