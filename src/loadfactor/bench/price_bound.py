"""A bound on the value of any legal plan, from a price for a GPU at every step: cheap enough for the largest cases.

Lagrangian relaxation of the capacity of the cluster (Fisher 1981): for any prices p(t) >= 0, no plan is worth more than
the capacity sold at these prices, plus what every job could gain if it paid them and had the cluster for itself, less
what serving, or not serving, the demand of every service costs at them. Blocks and swap caps are dropped, which only
raises the bound. The least bound over all prices is that of the linear relaxation in counts; a subgradient search with
the step length of Polyak (1969) comes close to it. Every set of prices on the way gives a valid bound.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from loadfactor.model import Job, Problem, admissible_sizes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
SLOWER_AFTER, SLOWER_BY = 20, 0.7
"""After this many rounds without a better bound the step length shrinks by this factor."""


@dataclass(frozen=True)
class PricedBound:
    """A proven bound and the prices, one a step, that prove it."""

    bound: float
    prices: Floats


@dataclass(frozen=True)
class _Option:
    """A job at a size: its first and last start, and its duration in steps."""

    job: int
    size: int
    duration: int
    first: int
    last: int
    priority: float


class PricedProblem:
    """A problem as arrays: O options (a job at a size), T steps."""

    def __init__(self, problem: Problem) -> None:
        steps = problem.horizon.steps
        options = [option for index, job in enumerate(problem.jobs) for option in _options(problem, index, job)]
        size = np.array([option.size for option in options], dtype=np.int64)
        first, last, duration = (
            np.array([getattr(option, name) for option in options], dtype=np.int64)
            for name in ("first", "last", "duration")
        )
        start = np.arange(steps)
        self.steps = steps
        self.size = size
        self.end: Ints = np.minimum(start + duration[:, None], steps)
        weight = np.concatenate([[0.0], np.cumsum(problem.objective.decay ** np.arange(steps))])
        density = np.array([option.priority for option in options]) * size
        reward = density[:, None] * (weight[self.end] - weight[:-1])
        self.reward: Floats = np.where((start >= first[:, None]) & (start <= last[:, None]), reward, -np.inf)
        self.job = np.array([option.job for option in options], dtype=np.int64)
        self.compulsory = np.array([job.running is not None for job in problem.jobs], dtype=np.bool_)
        self.capacity = _capacity(problem)
        self.demand = np.array([service.demand for service in problem.services], dtype=np.int64).reshape(-1, steps)
        priorities = np.array([service.priority for service in problem.services])
        self.penalty = problem.objective.realtime_penalty * priorities.reshape(-1, 1)

    def at(self, prices: Floats) -> tuple[float, Floats]:
        """Return the bound that `prices` prove, and its subgradient: the capacity left at every step."""
        paid = np.concatenate([[0.0], np.cumsum(prices)])
        left = self.capacity.astype(np.float64)
        bound = float(prices @ left)
        bound -= float((np.minimum(prices, self.penalty) * self.demand).sum())
        left -= np.where(prices < self.penalty, self.demand, 0).sum(axis=0)
        if len(self.size):
            bound += self._sell_to_jobs(paid, left)
        return bound, left

    def _sell_to_jobs(self, paid: Floats, left: Floats) -> float:
        """Let every job take its best start and size at these prices; return the gains, take the GPUs from `left`."""
        gain = self.reward - self.size[:, None] * (paid[self.end] - paid[:-1])
        start = np.argmax(gain, axis=1)
        rows = np.arange(len(start))
        best = gain[rows, start]
        order = np.lexsort((-best, self.job))
        chosen = order[np.concatenate([[True], np.diff(self.job[order]) > 0])]
        chosen = chosen[(best[chosen] > 0) | self.compulsory[self.job[chosen]]]
        change = np.zeros(self.steps + 1)
        np.add.at(change, start[chosen], -self.size[chosen])
        np.add.at(change, self.end[chosen, start[chosen]], self.size[chosen])
        left += np.cumsum(change[:-1])
        return float(best[chosen].sum())


def priced_bound(problem: Problem, legal_value: float, seconds: float, rounds: int = 100_000) -> PricedBound:
    """Return the best bound found within `seconds` and `rounds`; `legal_value`, of any legal plan, guides the steps."""
    priced, until = PricedProblem(problem), time.perf_counter() + seconds
    prices = np.full(priced.steps, _mean_density(problem))
    best, stuck, length = PricedBound(np.inf, prices), 0, 1.0
    for _ in range(rounds):
        bound, left = priced.at(prices)
        stuck = 0 if bound < best.bound - 1e-9 else stuck + 1
        if bound < best.bound:
            best = PricedBound(bound, prices)
        if stuck >= SLOWER_AFTER:
            stuck, length, prices = 0, length * SLOWER_BY, best.prices
            _, left = priced.at(prices)
        downhill = float(left @ left)
        if downhill == 0 or length < 1e-6 or time.perf_counter() > until:
            break
        step = length * max(best.bound - legal_value, 0.0) / downhill
        prices = np.maximum(0.0, prices - step * left)
    return best


def _options(problem: Problem, index: int, job: Job) -> list[_Option]:
    horizon = problem.horizon
    if job.running:
        size, remaining = len(job.running.gpus), job.running.remaining
        return [_Option(index, size, remaining, 0, 0, job.priority)]
    options = []
    for size in admissible_sizes(problem.cluster, job.gpus):
        duration = job.duration_at(size)
        last = horizon.steps - (duration if horizon.finish_inside else 1)
        if last >= job.submit and size <= problem.cluster.gpu_count:
            options.append(_Option(index, size, duration, job.submit, last, job.priority))
    return options


def _capacity(problem: Problem) -> Ints:
    closed = np.zeros((problem.horizon.steps, problem.cluster.gpu_count), dtype=np.bool_)
    for entry in problem.cluster.unavailable:
        closed[entry.from_step : entry.until_step, list(entry.gpus)] = True
    capacity: Ints = problem.cluster.gpu_count - closed.sum(axis=1)
    return capacity


def _mean_density(problem: Problem) -> float:
    """Return the mean priority of the jobs: a GPU-step is worth about that."""
    return sum(job.priority for job in problem.jobs) / max(1, len(problem.jobs))
