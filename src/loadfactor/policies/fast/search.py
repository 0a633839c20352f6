"""The search of `fast`: counts first, positions second, within a budget of time or of iterations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from loadfactor.policies.fast.changes import changes_of, in_order, keeps_caps, unmet_cost
from loadfactor.policies.fast.counts import ANY, anneal, best_order
from loadfactor.policies.fast.curves import NONE, serve
from loadfactor.policies.fast.filling import complete, count_free, total_worth
from loadfactor.policies.fast.fitting import fit
from loadfactor.policies.fast.handing import hand_out
from loadfactor.policies.fast.items import mark_items, place_items
from loadfactor.policies.fast.layout import Layout
from loadfactor.policies.fast.ordering import reorder
from loadfactor.policies.fast.packing import FEW_NODES
from loadfactor.policies.fast.relocate import improve
from loadfactor.policies.fast.serving import lay_intervals, reserve_services
from loadfactor.policies.instance import DURATION, LAST_OPTION, SIZE, Floats, Instance, Ints
from loadfactor.policies.occupancy import Bits


class Shares(NamedTuple):
    """Shares of a round's budget; what is left of it improves positions."""

    counts: float
    """The search in counts."""
    fit: float
    """Positions for what the counts decided."""
    worth: float
    """Placing the jobs by worth, in several orders."""
    order: float
    """Changing the best of these orders."""
    starts: int
    """Orders that are changed."""


SHARES = {
    0: Shares(counts=0.4, fit=0.2, worth=0.03, order=0.2, starts=8),
    24: Shares(counts=0.25, fit=0.2, worth=0.0, order=0.0, starts=0),
    48: Shares(counts=0.02, fit=0.02, worth=0.1, order=0.1, starts=1),
}
"""By the number of jobs from which on they hold: the more jobs, the sooner placing them by worth finds a good start."""
HEAT, POSITIONS_HEAT = 0.003, 0.03
"""First temperatures as shares of the mean worth of a job."""
COOLING = 0.005
"""Last temperature as a share of the first."""
SIZE_POWERS, DURATION_POWERS = (0.1, 0.7), (0.2, 1.4)
"""Ranges of the powers of size and duration that are tried when jobs are placed by worth."""
TINY = 1e-9
FEW_ORDERS = 8
"""Orders tried where the effort is given in iterations."""
MOST_ORDERS = 32
CHOOSING = 0.6
"""Share of the time for changing orders after which only one is left."""
LARGE_POWERS = np.array([(0.1, 0.25)])
"""Powers of size and duration on a grid that is too large to try several."""
FIRST_CHUNK = 24
FIT_CHUNK = 50
SHORTEST_ROUND = 2e-4
"""Seconds below which another round is not begun."""
LARGEST_FITTED_GRID = 65_536
"""Cells up to which positions are found by ejection; beyond, jobs are placed by worth alone, at a cost in bit rows."""


class Budget:
    """Wall time or, where the effort names them, iterations; hands out a search in chunks that a clock can stop."""

    def __init__(self, began: float, budget_ms: float, iterations: int | None) -> None:
        self.end = began + budget_ms / 1e3
        self.iterations = iterations

    def left(self) -> float:
        """Return the seconds that are left."""
        return self.end - time.perf_counter()

    def chunks(self, seconds: float) -> Iterator[tuple[int, float, float]]:
        """Yield (iterations, heat at their start, heat at their end) for about `seconds`; heat falls from 1."""
        if self.iterations is not None:
            yield self.iterations, 1.0, COOLING
            return
        begin = now = time.perf_counter()
        size, rate = FIRST_CHUNK, 1e5
        while now < begin + seconds:
            first = (now - begin) / seconds
            last = min(1.0, first + size / rate / seconds)
            yield size, COOLING**first, COOLING**last
            spent, now = time.perf_counter() - now, time.perf_counter()
            rate = size / max(spent, 1e-7)
            size = max(1, min(4 * size, int(rate * (begin + seconds - now)) + 1))


@dataclass
class Positions:
    """Where everything of a decoding in counts came to lie; `where` is -1 for jobs without a block.

    `grid` has all of it taken, `reserved` (S, N, W) the part of every service; `whole` says that every interval has a
    GPU of its own from start to end.
    """

    grid: Bits
    reserved: Bits
    chosen: Ints
    begin: Ints
    where: Ints
    intervals: Ints
    fixed: Bits
    """(N, W) what no job may have: closed GPUs, running work and the services."""
    order: Ints
    """(m,) the order in which the jobs without a block were placed."""
    whole: bool = False
    reward: float = 0.0

    def copy(self) -> Positions:
        """Return a copy for another try at placing the jobs; the services' reservations are shared."""
        chosen, begin, where = self.chosen.copy(), self.begin.copy(), self.where.copy()
        return replace(self, grid=self.grid.copy(), chosen=chosen, begin=begin, where=where)


class Search:
    """One problem's search: the state in counts, and the best layout found so far."""

    def __init__(self, instance: Instance, seed: int) -> None:
        self.instance = instance
        jobs, services = len(instance.jobs), len(instance.services)
        self.random = np.array([(seed * 0x9E3779B97F4A7C15 + 0x2545F4914F6CDD1D) % 2**64 or 1], dtype=np.uint64)
        self.state = np.empty((2, jobs), dtype=np.int64)
        self.orders = orders_by_worth(instance)
        self.state[0], self.state[1] = self.orders[0], ANY
        self.aims = instance.demand.copy()
        self.chosen = np.full(jobs, NONE, dtype=np.int64)
        self.begin = np.full(jobs, NONE, dtype=np.int64)
        self.curves = np.zeros((services, len(instance.free), instance.steps), dtype=np.int64)
        self.best: Layout | None = None

    def run(self, budget: Budget) -> Layout | None:
        """Return the best layout that the budget allows; the first round is always finished.

        None where the services' held GPUs and closures leave none that the hand-out finds.
        """
        self._round(budget, max(0.0, budget.left()))
        if self.best is None:  # what some service holds leaves it no legal way around these jobs
            self._keep(self._reserve(lambda found: found.chosen.fill(NONE)))
        while budget.iterations is None and self.best is not None:
            left = budget.left()
            if left < SHORTEST_ROUND or len(self.instance.jobs) == 0:
                break
            self._round(budget, left)
        return self.best

    def _round(self, budget: Budget, seconds: float) -> None:
        begin = time.perf_counter()
        large = len(self.instance.pool_of_gpu) * self.instance.steps > LARGEST_FITTED_GRID
        shares = SHARES[max(least for least in SHARES if least <= len(self.instance.jobs))]
        self._search_counts(budget, 0.0 if large else seconds * shares.counts)
        if large:
            found = self._placed_by_worth(budget, 0.0, 1)[0]
        else:
            found = self._placed_as_counted(budget, seconds * shares.fit)
            if self.best is None and shares.worth > 0:
                starts = self._placed_by_worth(budget, seconds * shares.worth, shares.starts)
                by_worth = self._reordered(budget, seconds * shares.order, starts)
                found = max(found, by_worth, key=lambda start: start.reward)
        self._improve(budget, seconds - (time.perf_counter() - begin), found)

    def _search_counts(self, budget: Budget, seconds: float) -> None:
        i, searched = self.instance, False
        if self.best is None:
            best_order(self.orders, self.state, i.jobs, i.options, i.reward, i.weight, i.free, self.chosen, self.begin)
        if not len(self.instance.jobs) and not len(self.instance.services):
            seconds = 0.0  # nothing to move: iterations that take no time would let the chunks grow without end
        for iterations, hot, cold in budget.chunks(seconds):
            self._anneal(iterations, hot, cold)
            searched = True
        if not searched:
            self._anneal(0, 1.0, 1.0)

    def _anneal(self, iterations: int, hot: float, cold: float) -> None:
        i = self.instance
        cooling = (cold / hot) ** (1 / max(iterations, 1))
        anneal(
            iterations, HEAT * i.mean_worth * hot, cooling, self.state, self.aims, i.jobs, i.options, i.reward,
            i.weight, i.services, i.demand, i.price, i.service_pools, i.kept, i.free, self.random, self.chosen,
            self.begin, self.curves,
        )  # fmt: skip

    def _placed_as_counted(self, budget: Budget, seconds: float) -> Positions:
        """Find blocks for what the counts decided, and places for the jobs for which there are none."""
        found = self._reserve(lambda found: self._fit(budget, seconds, found))
        self._insert(found, self.state[0])
        return found

    def _placed_by_worth(self, budget: Budget, seconds: float, starts: int) -> list[Positions]:
        """Reserve the services, then place the jobs in each order by worth while there is time; return the best.

        Of several that are worth the same only one: they are hardly ever different plans.
        """
        empty = self._reserve(lambda found: found.chosen.fill(NONE))
        until, best = time.perf_counter() + seconds, dict[float, Positions]()
        for number, order in enumerate(self.orders, start=1):
            found = empty.copy()
            found.order = order.copy()
            self._insert(found, order)
            best.setdefault(found.reward, found)
            if number >= FEW_ORDERS if budget.iterations is not None else time.perf_counter() > until:
                break
        return [best[reward] for reward in sorted(best, reverse=True)[:starts]]

    def _reordered(self, budget: Budget, seconds: float, starts: list[Positions]) -> Positions:
        """Change the orders that led to `starts` for the better, ever longer for ever fewer; return the best.

        Successive halving (Jamieson and Talwalkar 2016): half of the time goes to choosing the start.
        """
        rounds = len(starts).bit_length() - 1
        while len(starts) > 1:
            for start in starts:
                self._reorder(budget, CHOOSING * seconds / rounds / len(starts), start)
            starts = sorted(starts, key=lambda start: -start.reward)[: len(starts) // 2]
        self._reorder(budget, (1 - CHOOSING) * seconds if rounds else seconds, starts[0])
        return starts[0]

    def _reorder(self, budget: Budget, seconds: float, found: Positions) -> None:
        """Change the order that led to `found` for the better."""
        i = self.instance
        if not len(i.options):
            return
        free = self._counts()
        for iterations, _, _ in budget.chunks(seconds):
            found.reward += reorder(
                iterations, found.order, found.grid, i.node_of_gpu, i.first_of_node, i.pool_of_gpu, free, i.jobs,
                i.options, i.reward, i.starts, i.weight, self.random, found.chosen, found.begin, found.where,
            )  # fmt: skip

    def _reserve(self, before: Callable[[Positions], None]) -> Positions:
        """Return the grid with the services reserved; `before` may place what should choose first."""
        i = self.instance
        closed, grid = i.grid[: len(i.pool_of_gpu)], i.grid.copy()
        reserved = np.zeros((len(i.services), *closed.shape), dtype=np.uint64)
        intervals, ranked, whole = lay_intervals(self.curves, i.services, i.held, grid, reserved)
        found = Positions(
            grid=grid,
            reserved=reserved,
            chosen=self.chosen.copy(),
            begin=self.begin.copy(),
            where=np.full(len(i.jobs), NONE, dtype=np.int64),
            intervals=intervals,
            fixed=np.empty_like(closed),
            order=self.state[0],
        )
        before(found)
        each_alone = reserve_services(
            intervals, ranked, i.service_pools, i.pool_of_gpu, grid, reserved, closed, found.fixed, i.node_of_gpu,
            i.first_of_node, i.steps,
        )  # fmt: skip
        found.whole = whole and each_alone
        return found

    def _insert(self, found: Positions, order: Ints) -> None:
        """Place the jobs that have no block yet, in `order`, and note what all of them earn."""
        i = self.instance
        found.reward = complete(
            order, found.grid, i.node_of_gpu, i.first_of_node, i.pool_of_gpu, self._counts(), i.jobs, i.options,
            i.reward, i.starts, i.weight, found.chosen, found.begin, found.where,
        )  # fmt: skip

    def _fit(self, budget: Budget, seconds: float, found: Positions) -> None:
        i = self.instance
        closed = found.grid[: len(i.pool_of_gpu)].copy()
        items, cost, where = place_items(
            self.chosen, self.begin, i.options, i.reward, i.weight, found.intervals, i.services, i.price, i.starts,
            found.grid,
        )  # fmt: skip
        if (where == NONE).any() and (seconds > 0 or budget.iterations is not None):
            penalty = cost.copy()
            until = time.perf_counter() + seconds
            while fit(FIT_CHUNK, items, cost, penalty, i.starts, closed, found.grid, i.steps, self.random, where) > 0:
                if budget.iterations is not None or time.perf_counter() > until:
                    break
        mark_items(items, where, found.reserved, found.where, found.intervals)

    def _improve(self, budget: Budget, seconds: float, found: Positions) -> None:
        i = self.instance
        begin = time.perf_counter()
        self._keep(found)
        if not len(i.jobs):  # nothing to move; with `iterations` the chunks would come all the same
            return
        gain, free = 0.0, self._counts()
        count_free(found.grid, i.pool_of_gpu, free)
        for iterations, hot, cold in budget.chunks(seconds - (time.perf_counter() - begin)):
            cooling = (cold / hot) ** (1 / max(iterations, 1))
            gain += improve(
                iterations, POSITIONS_HEAT * i.mean_worth * hot, cooling, found.grid, i.node_of_gpu, i.first_of_node,
                i.pool_of_gpu, free, i.jobs, i.options, i.reward, i.starts, i.weight, self.random, _NO_FOCUS,
                found.fixed, found.chosen, found.begin, found.where,
            )  # fmt: skip
        if gain > 0:
            found.reward = total_worth(i.options, i.reward, i.weight, found.chosen, found.begin, found.where)
            self._keep(found)

    def _counts(self) -> Ints:
        """Return room for the free GPUs of pools and steps (P, T); none where nobody asks for them (see `insert`)."""
        pools, steps = self.instance.free.shape
        few = len(self.instance.first_of_node) <= FEW_NODES and self.instance.grid.shape[1] == 1
        return np.empty((0 if few else pools, steps), dtype=np.int64)

    def _keep(self, found: Positions) -> None:
        """Give the services their GPUs around the jobs, and keep the layout if it is the best so far."""
        i = self.instance
        for changes in self._candidates(found):
            value = found.reward - unmet_cost(changes, i.services, i.demand, i.price)
            better = self.best is None or value > self.best.value + 1e-9
            if better and keeps_caps(changes, i.services):
                self.best = Layout(found.chosen.copy(), found.begin.copy(), found.where.copy(), changes, value)

    def _candidates(self, found: Positions) -> Iterator[Ints]:
        """Yield ways to give the services their GPUs: as reserved, and where that falls short, around the jobs."""
        i = self.instance
        if found.whole:
            planned = changes_of(found.intervals, i.services, i.held, i.steps)
            if keeps_caps(planned, i.services):
                yield planned
                if (self.aims == i.demand).all():
                    return
        yield self._hand_out(self.curves, found)
        curves, free = np.empty_like(self.curves), np.empty_like(i.free)
        serve(i.demand, i.services, i.service_pools, i.kept, i.free, free, curves)
        yield self._hand_out(curves, found)

    def _hand_out(self, curves: Ints, found: Positions) -> Ints:
        i = self.instance
        room = 8 * len(i.services) * i.steps + 4 * len(found.intervals) + 64
        while True:
            changes, tried = np.empty((room, 4), dtype=np.int64), found.grid.copy()
            count = hand_out(
                i.by_price, curves, i.services, i.service_pools, i.pool_of_gpu, i.held, tried, found.reserved, changes
            )
            if count <= room:
                return in_order(changes, count, len(i.services), i.steps)
            room = count


def orders_by_worth(instance: Instance) -> Ints:
    """Return orders (K, m) of the jobs by priority times powers of their size and duration, one for each pair of them.

    A large or long block is hard to find later, so that size and duration count beside worth. How much differs from
    problem to problem, so that the pairs cover a rectangle evenly, its middle first (Roberts 2018, R2 sequence).
    """
    i = instance
    if not len(i.options):
        return np.arange(len(i.jobs)).reshape(1, -1)
    last = i.options[i.jobs[:, LAST_OPTION] - 1]  # of a job without options it is another's, which does no harm
    worth, size, duration = np.log(i.density + TINY), np.log(last[:, SIZE]), np.log(last[:, DURATION])
    large = len(i.pool_of_gpu) * i.steps > LARGEST_FITTED_GRID
    powers = LARGE_POWERS if large else POWERS
    return np.argsort(-worth - powers @ np.stack((size, duration)), axis=1, kind="stable")


def spread(first: tuple[float, float], second: tuple[float, float], count: int) -> Floats:
    """Return (count, 2) points that cover the rectangle of the two ranges evenly, the middle first."""
    steps = np.arange(count)[:, None] * np.array([0.7548776662466927, 0.5698402909980532])
    low, high = np.array([first[0], second[0]]), np.array([first[1], second[1]])
    points: Floats = low + (high - low) * ((0.5 + steps) % 1.0)
    return points


POWERS = spread(SIZE_POWERS, DURATION_POWERS, MOST_ORDERS)
_NO_FOCUS = np.empty(0, dtype=np.int64)
