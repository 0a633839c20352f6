"""A price for a GPU at every step, and the bound on the value of any plan that the prices prove.

Lagrangian relaxation of the capacities in counts (Fisher 1981): whoever takes a GPU pays its price, and everybody then
does what is best alone. Whatever the prices, no legal plan is worth more than

    Σ_pool,t price · capacity  +  Σ_jobs max(0, best reward - price paid)  +  Σ_services best(- price paid - penalty),

because a legal plan keeps within the capacities. The prices are improved by subgradient steps of Polyak's length
(1969), averaged as in the volume algorithm (Barahona and Anbil 2000). Swap caps and positions are relaxed too, so the
bound holds for every rule book that only adds to them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from loadfactor.model import Problem
from loadfactor.policies.compiled import inner, making_inner, making_kernel
from loadfactor.policies.draft import decayed_steps
from loadfactor.policies.instance import (
    DURATION,
    FIRST_OPTION,
    LAST_OPTION,
    LAST_START,
    MAX_GPUS,
    POOL,
    SIZE,
    SUBMIT,
    Floats,
    Ints,
    compile_problem,
)

DEFAULT_ITERATIONS = 300
SAFETY = 1e-9
"""Relative margin for the rounding of sums in floating point, added to the bound."""


@dataclass(frozen=True)
class Prices:
    """`bound`: no legal plan is worth more. `price`: (P, T), what a GPU of each pool is worth at each step."""

    bound: float
    price: Floats


def price_capacity(problem: Problem, value: float, iterations: int = DEFAULT_ITERATIONS) -> Prices:
    """Return prices and bound after `iterations` steps; `value` is that of a plan at hand, which guides them."""
    instance = compile_problem(problem)
    constant = _running_reward(problem)
    price = np.zeros(instance.free.shape)
    best = improve_prices(
        iterations, value - constant, price, instance.free, instance.jobs, instance.options, instance.reward,
        instance.weight, instance.services, instance.demand, instance.price, instance.service_pools,
    )  # fmt: skip
    bound = best + constant
    return Prices(bound=bound + SAFETY * max(1.0, abs(bound)), price=price)


def _running_reward(problem: Problem) -> float:
    steps = problem.horizon.steps
    return sum(
        job.priority * len(job.running.gpus) * decayed_steps(problem, 0, min(job.running.remaining, steps))
        for job in problem.jobs
        if job.running
    )


@making_kernel
def improve_prices(
    iterations: int,
    target: float,
    price: Floats,
    free: Ints,
    jobs: Ints,
    options: Ints,
    reward: Floats,
    weight: Floats,
    services: Ints,
    demand: Ints,
    penalty: Floats,
    service_pools: npt.NDArray[np.bool_],
) -> float:
    """Improve `price` (P, T) in place, leave the best prices found there, and return the bound that they prove."""
    pools, steps = free.shape
    usage = np.empty((pools, steps))
    centre = np.zeros((pools, steps))
    tried = np.zeros((pools, steps))
    direction = np.zeros((pools, steps))
    best, stride, stalled = np.inf, 1.0, 0
    for iteration in range(iterations):
        bound = _priced(tried, usage, free, jobs, options, reward, weight, services, demand, penalty, service_pools)
        mixed = 1.0 if iteration == 0 else 0.3
        for pool in range(pools):
            for t in range(steps):
                slack = free[pool, t] - usage[pool, t]
                direction[pool, t] = mixed * slack + (1 - mixed) * direction[pool, t]
        if bound < best - 1e-12:
            best, stalled = bound, 0
            for pool in range(pools):
                for t in range(steps):
                    centre[pool, t] = tried[pool, t]
        else:
            stalled += 1
            if stalled >= 8:
                stride, stalled = stride * 0.7, 0
        length = 0.0
        for pool in range(pools):
            for t in range(steps):
                length += direction[pool, t] ** 2
        if length < 1e-12 or best - target < 1e-9:
            break
        step = stride * max(best - target, 1e-3 * abs(best)) / length
        for pool in range(pools):
            for t in range(steps):
                tried[pool, t] = max(0.0, centre[pool, t] - step * direction[pool, t])
    for pool in range(pools):
        for t in range(steps):
            price[pool, t] = centre[pool, t]
    return best


@making_inner
def _priced(
    price: Floats,
    usage: Floats,
    free: Ints,
    jobs: Ints,
    options: Ints,
    reward: Floats,
    weight: Floats,
    services: Ints,
    demand: Ints,
    penalty: Floats,
    service_pools: npt.NDArray[np.bool_],
) -> float:
    """Return the bound at these prices; `usage` (P, T) receives the GPUs that everybody then takes."""
    pools, steps = free.shape
    bound = 0.0
    paid = np.zeros((pools + 1, steps + 1))
    for t in range(steps):
        least = np.inf
        for pool in range(pools):
            bound += price[pool, t] * free[pool, t]
            paid[pool, t + 1] = paid[pool, t] + price[pool, t]
            least = min(least, price[pool, t])
            usage[pool, t] = 0.0
        paid[pools, t + 1] = paid[pools, t] + least
    for job in range(len(jobs)):
        best, best_option, best_start = 0.0, -1, -1
        for option in range(jobs[job, FIRST_OPTION], jobs[job, LAST_OPTION]):
            size, duration = options[option, SIZE], options[option, DURATION]
            # a block that spans pools pays at least the cheapest of them at every step
            row = options[option, POOL] if options[option, POOL] >= 0 else pools
            for start in range(jobs[job, SUBMIT], options[option, LAST_START] + 1):
                end = min(start + duration, steps)
                profit = reward[option] * (weight[end] - weight[start]) - size * (paid[row, end] - paid[row, start])
                if profit > best:
                    best, best_option, best_start = profit, option, start
        if best_option >= 0:
            bound += best
            pool = max(0, options[best_option, POOL])
            for t in range(best_start, min(best_start + options[best_option, DURATION], steps)):
                usage[pool, t] += options[best_option, SIZE]
    return bound + _serve_priced(price, usage, services, demand, penalty, service_pools)


@inner
def _serve_priced(
    price: Floats,
    usage: Floats,
    services: Ints,
    demand: Ints,
    penalty: Floats,
    service_pools: npt.NDArray[np.bool_],
) -> float:
    """Return what the services are worth when each demand is met where that is cheaper than not to meet it."""
    worth = 0.0
    for service in range(len(services)):
        for t in range(demand.shape[1]):
            cheapest = -1
            for pool in range(price.shape[0]):
                if service_pools[service, pool] and (cheapest < 0 or price[pool, t] < price[cheapest, t]):
                    cheapest = pool
            most = min(demand[service, t], services[service, MAX_GPUS])
            if cheapest >= 0 and price[cheapest, t] < penalty[service]:
                usage[cheapest, t] += most
                worth -= price[cheapest, t] * most + penalty[service] * (demand[service, t] - most)
            else:
                worth -= penalty[service] * demand[service, t]
    return worth
