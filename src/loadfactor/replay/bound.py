"""What no policy can exceed in a world, not even one that knows the future: bounds on objective, value and utilization.

The objective of a replay is

    Σ_jobs priority · GPUs · run hours · decay^(hours from submission until the block is given)
      − penalty · Σ_services priority · unmet GPU-hours.

**The bound.** Lagrangian relaxation of the capacity alone (Fisher 1981), as in `policies.prices`: a GPU costs λ(t) ≥ 0,
constant within each price step, and everybody does what is best alone. A schedule that keeps within N GPUs pays at most
Σ λ · N for what it uses, so its objective is at most

    Σ_t λ · N
      + Σ_jobs max(0, max_s worth · decay^(s − submission) − block · ∫_[s, s + held) λ)
      − Σ_services Σ_t demand · min(λ, penalty · priority),

whatever λ is: only a good λ makes it tight. `block` is the smallest admissible block for what the job asks (R3), and
`held` is its run and the start-up before it; a legal schedule takes no less.

**Starts between grid points.** The price paid is a piecewise linear function of the start s; it bends only where s or
s + held lies on the grid. Between two bends the worth is convex in s, so the profit is, and a convex function is
largest at an end of its interval: it is enough to try the submission, the last start that is allowed, the points of the
grid, and the points `held` before them. No time is rounded to the grid. Behind the last price step GPUs are free, and
the profit only falls.

**The end of the world.** A replay ends when its jobs are over, or at `world.end`. Until the earliest second at which
all jobs can be over, demand counts in full. Behind that, a schedule whose jobs are over could meet any demand of at
most N GPUs at no cost, so demand counts there only where it is no more than N. Behind `world.end` no demand counts;
jobs start before it and hold their blocks for their whole run. A demand step in which one of these seconds lies is
treated as behind it. Less demand never lowers the objective.

**Rounding.** A sum in floating point is wrong by at most (number of terms) · 2⁻⁵² · (sum of the magnitudes); that is
added. Positions, start-up of replicas, caps on swaps and lost GPUs are left out, and only lower what can be reached.
Where faults make a job start more than once, its worth is that of its last start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from loadfactor.control import BlockSizes
from loadfactor.engines import Arrival, World
from loadfactor.errors import InputError
from loadfactor.replay.purchases import LENGTHS, buy
from loadfactor.units import SECONDS_PER_DAY, SECONDS_PER_HOUR

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
DEFAULT_PENALTY, DEFAULT_DECAY_PER_HOUR = 8.0, 0.98
LEAST_SHARE_FOR_JOBS = 0.1
"""The queue is taken to drain with at least this share of the GPUs; it only decides for how long GPUs have a price."""
MOST_DAYS_BEHIND = 60
FIRST_SHARE, LEAST_SHARE, MIXED, PATIENCE = 0.01, 1e-3, 0.15, 4
"""The first steps aim at a bound that is lower by this share of it, or of a share of what the jobs are worth; the
weight of the newest direction; and the steps without gain after which the aim is halved. They decide how fast prices
improve, never whether the bound holds."""
SPARE_TERMS = 100
"""Terms counted for roundings outside of the long sums."""
"""GPUs have a price for at most so long behind the last arrival."""


@dataclass(frozen=True)
class BoundSettings:
    """The objective's constants, and how hard to try.

    `penalty` and `decay_per_hour` as in the objective. `price_seconds` is the length of a price step, a multiple of the
    world's step; each of `rounds` takes prices of half the length, ending with that one, and improves them by
    `iterations` steps.
    """

    penalty: float = DEFAULT_PENALTY
    decay_per_hour: float = DEFAULT_DECAY_PER_HOUR
    price_seconds: int = SECONDS_PER_HOUR
    rounds: int = 4
    iterations: int = 60


@dataclass(frozen=True)
class Bound:
    """No policy reaches more than `value`. `price` (H,): value per GPU-hour in each price step that proves it."""

    value: float
    price: Floats
    price_seconds: int


@dataclass(frozen=True)
class _Jobs:
    """All jobs that a policy could start, (J,) each: seconds from the world's beginning, GPUs, worth without wait."""

    submitted: Floats
    held: Floats
    block: Floats
    worth: Floats


def bound_objective(world: World, settings: BoundSettings | None = None) -> Bound:
    """Return the bound on the objective of any policy in `world`.

    Raises `InputError` where a price step is no multiple of the world's step, and where jobs are moldable.
    """
    return _bound(world, settings or BoundSettings(), priced=True)


def bound_batch_value(world: World, settings: BoundSettings | None = None) -> Bound:
    """Return the bound on the jobs' value alone, over all policies that meet all demand at every second.

    Jobs are left with N − demand GPUs, until they are over. Raises `InputError` as `bound_objective` does.
    """
    return _bound(world, settings or BoundSettings(), priced=False)


@dataclass(frozen=True)
class UtilizationBound:
    """Shares of all GPU-seconds that no policy exceeds.

    `jobs`: jobs at work, where all demand is met. `useful`: jobs at work, or replicas that serve demand.
    """

    jobs: float
    useful: float


def bound_utilization(world: World, until: int) -> UtilizationBound:
    """Return the bound on utilization from the world's beginning until second `until`, by a fluid argument.

    Whatever τ is: until τ no more work is done than a cluster without limits would have done, in which every job
    begins as it comes; behind τ, no more than the GPUs can do. The least over all τ counts (Lindley 1952, for the work
    in a queue); the sum is piecewise linear in τ, so its bends suffice. All sums are of whole GPU-seconds, and exact.
    Raises `InputError` where `until` is not after the beginning, and where jobs are moldable.
    """
    _refuse_moldable(world)
    span = until - world.begin
    if span <= 0:
        fact = f"{until} is not after the beginning of the world, {world.begin}"
        raise InputError.of("until", fact, "choose a later second")
    steps = np.arange(-(-span // world.step_seconds))
    curves = [world.demand[service.id][steps % len(world.demand[service.id])] for service in world.services]
    demand = np.minimum(world.cluster.gpu_count, np.sum(curves, axis=0, dtype=np.int64) + 0 * steps)
    begins = np.array([max(0, each.at - world.begin) + world.job_start_seconds for each in world.arrivals], np.int64)
    ends = begins + np.array([each.run_seconds for each in world.arrivals], np.int64)
    gpus = np.array([each.job.gpus for each in world.arrivals], np.int64)
    points = np.unique(np.clip(np.concatenate((begins, ends, steps * world.step_seconds, [span])), 0, span))
    work = _grown(points, np.concatenate((begins, ends)), np.concatenate((gpus, -gpus)))
    edges = steps * world.step_seconds
    served = _grown(points, edges, np.diff(demand, prepend=0))
    most = world.cluster.gpu_count * (span - points)
    total = world.cluster.gpu_count * span
    jobs = int((work + most - (served[-1] - served)).min())
    return UtilizationBound(jobs / total, int((work + served + most).min()) / total)


def _grown(points: Ints, at: Ints, steeper: Ints) -> Ints:
    """Return, at each of the `points` (from 0 on), a sum that grows faster by `steeper[i]` from `at[i]` on."""
    slope = np.zeros(len(points) + 1, dtype=np.int64)
    np.add.at(slope, np.searchsorted(points, at), steeper)
    return np.concatenate(([0], np.cumsum(np.cumsum(slope[:-1])[:-1] * np.diff(points))))


def _refuse_moldable(world: World) -> None:
    count = sum(arrival.job.most > arrival.job.gpus for arrival in world.arrivals)
    if count:
        remedy = "leave out --bound, or `moldable` of the recipe"
        raise InputError.of("bound", f"{count} jobs are moldable, and bounds are proven for one size a job", remedy)


def _bound(world: World, settings: BoundSettings, priced: bool) -> Bound:
    _refuse_moldable(world)
    if settings.price_seconds % world.step_seconds:
        fact = f"{settings.price_seconds} is no multiple of the world's step of {world.step_seconds} seconds"
        raise InputError.of("price_seconds", fact, f"choose a multiple of {world.step_seconds}")
    jobs = _jobs(world)
    price, value = np.zeros(0), np.inf
    for halvings in range(settings.rounds):
        seconds = settings.price_seconds << (settings.rounds - 1 - halvings)
        market = _Market(world, settings, jobs, seconds, priced)
        price = np.repeat(price, 2)[: market.steps]
        price = np.pad(price, (0, market.steps - len(price)))
        value, price = _improve(market, price, settings.iterations)
    return Bound(value, price, settings.price_seconds)


def _jobs(world: World) -> _Jobs:
    sizes = BlockSizes(world.cluster)
    rows = [
        (max(0, arrival.at - world.begin), arrival.run_seconds + world.job_start_seconds, block, _worth(arrival))
        for arrival in world.arrivals
        if (block := sizes.smallest(arrival.job.gpus)) is not None and (world.end is None or arrival.at < world.end)
    ]
    return _Jobs(*np.array(rows, dtype=np.float64).reshape(-1, 4).T.copy())


def _worth(arrival: Arrival) -> float:
    return arrival.job.priority * arrival.job.gpus * arrival.run_seconds / SECONDS_PER_HOUR


class _Market:
    """What everybody does at a price: price steps of `seconds`, capacity (H,) and demand (S, H) in mean GPUs."""

    def __init__(self, world: World, settings: BoundSettings, jobs: _Jobs, seconds: int, priced: bool) -> None:
        self.hours = seconds / SECONDS_PER_HOUR
        self._jobs = _Jobs(jobs.submitted / seconds, jobs.held / seconds, jobs.block, jobs.worth)
        self._starts = np.full(len(jobs.worth), -1.0)
        self._rate = -np.log(settings.decay_per_hour) * self.hours
        self._last = np.inf if world.end is None else (world.end - world.begin) / seconds
        self.steps = -(-_priced_seconds(world, jobs) // seconds)
        demand = _demand(world, jobs, self.steps * seconds, capped=priced)
        gpus = np.full(demand.shape[1], float(world.cluster.gpu_count))
        if not priced:
            gpus, demand = np.maximum(0.0, gpus - demand.sum(axis=0)), demand[:0]
        each = seconds // world.step_seconds
        self._capacity = gpus.reshape(self.steps, each).mean(axis=1)
        self._demand = demand.reshape(len(demand), self.steps, each).mean(axis=2)
        priorities = np.array([each.priority for each in world.services], dtype=np.float64).reshape(-1, 1)
        self._penalty = settings.penalty * priorities[: len(demand)]

    @property
    def worth(self) -> float:
        """What all jobs are worth without wait."""
        return float(self._jobs.worth.sum())

    def bound(self, price: Floats) -> tuple[float, Floats]:
        """Return the bound that the price (H,) per GPU-hour proves, and the mean GPUs (H,) that stay unused."""
        jobs, usage = self._jobs, np.zeros(self.steps + 1)
        profit, magnitude = buy(
            price * self.hours, self._rate, self._last, LENGTHS,
            jobs.submitted, jobs.held, jobs.block, jobs.worth, self._starts, usage,
        )  # fmt: skip
        rent = float(self._capacity @ price) * self.hours
        served = price < self._penalty
        paid = float((self._demand * np.where(served, price, self._penalty)).sum()) * self.hours
        terms = len(jobs.worth) + self.steps + SPARE_TERMS
        rounding = terms * np.finfo(float).eps * (magnitude + rent + paid)
        unused = self._capacity - np.cumsum(usage)[:-1] - (self._demand * served).sum(axis=0)
        return rent + profit - paid + rounding, unused


def _priced_seconds(world: World, jobs: _Jobs) -> int:
    """Return for how long GPUs have a price: until a queue that drains slowly is empty."""
    if not len(jobs.worth):
        return world.step_seconds
    demand = sum(float(curve.mean()) for curve in world.demand.values())
    gpus = world.cluster.gpu_count
    behind = np.cumsum((jobs.block * jobs.held)[::-1])[::-1] / max(LEAST_SHARE_FOR_JOBS * gpus, gpus - demand)
    last = float(jobs.submitted.max()) + MOST_DAYS_BEHIND * SECONDS_PER_DAY
    return int(min(last, float((jobs.submitted + behind).max()) + SECONDS_PER_DAY))


def _demand(world: World, jobs: _Jobs, seconds: int, capped: bool) -> Floats:
    """Return the demand that counts, (S, demand steps) in GPUs; `capped`: no more than N once jobs can be over."""
    steps = seconds // world.step_seconds
    curves = [np.resize(world.demand[service.id], steps) for service in world.services]
    demand = np.array(curves, dtype=np.float64).reshape(-1, steps)
    if world.end is not None:
        demand[:, max(0, world.end - world.begin) // world.step_seconds :] = 0.0
    if capped:
        over = int((jobs.submitted + jobs.held).max(initial=0.0)) // world.step_seconds
        demand[:, over:] *= demand[:, over:].sum(axis=0) <= world.cluster.gpu_count
    return demand


def _improve(market: _Market, price: Floats, iterations: int) -> tuple[float, Floats]:
    """Return the best bound found from `price` on, and its prices.

    Subgradient steps of Polyak's length (1969) towards a bound that is lower by an aim, along averaged directions as
    in the volume algorithm (Barahona and Anbil 2000); the aim follows what is gained.
    """
    best, unused = market.bound(price)
    direction, centre = unused, price
    aim, stalled = FIRST_SHARE * max(abs(best), LEAST_SHARE * market.worth), 0
    for _ in range(iterations):
        moving = np.where((centre > 0) | (direction < 0), direction, 0.0)  # prices do not fall below 0
        length = float(moving @ moving) * market.hours
        if length <= 0.0:
            break
        tried = np.maximum(0.0, centre - aim / length * moving)
        value, unused = market.bound(tried)
        direction = MIXED * unused + (1 - MIXED) * direction
        gain, stalled = best - value, stalled + 1
        if gain > 0.0:
            best, centre, stalled = value, tried, 0
            aim *= 2 if gain > aim / 2 else 1
        elif stalled >= PATIENCE:
            aim, stalled = aim / 2, 0
    return best, centre
