"""The true optimum of a tiny problem by trying everything: every placement of every job, every way of every service."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations, product

from loadfactor.model import Placement, Problem, Service
from tests.support.cells import (
    Cell,
    cells_of,
    closed_cells,
    inherited,
    meets_needs,
    nodes_of_gpus,
    placements,
)

State = tuple[frozenset[int], ...]
INFEASIBLE = float("-inf")


def best_value(problem: Problem) -> float:
    """Return the largest value of any legal plan; only for a handful of GPUs, steps and jobs."""
    return _BruteForce(problem).best()


class _BruteForce:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.steps = problem.horizon.steps
        self.options: list[list[tuple[float, frozenset[Cell]]]] = [
            sorted((self._valued(placement) for placement in placements(problem, job)), key=lambda it: -it[0])
            for job in problem.jobs
            if job.running is None
        ]
        held = [self._valued(placement) for placement in inherited(problem)]
        self.fixed_reward = sum(reward for reward, _ in held)
        self.fixed_cells = frozenset(closed_cells(problem)).union(*(cells for _, cells in held))
        self.services = _Services(problem)
        self.penalty = cache(self.services.least_penalty)

    def _valued(self, placement: Placement) -> tuple[float, frozenset[Cell]]:
        """Return what a placement earns, step by step, and the cells that it fills."""
        job = next(job for job in self.problem.jobs if job.id == placement.id)
        cells = cells_of(placement, self.steps)
        return sum(job.priority * self.problem.objective.decay**step for _, step in cells), frozenset(cells)

    def best(self) -> float:
        rewards = [max((reward for reward, _ in options), default=0.0) for options in self.options]
        self.still_to_earn = [sum(rewards[index:]) for index in range(len(rewards) + 1)]
        self.least_penalty = self.penalty(self.fixed_cells)
        return self._search(0, self.fixed_reward, self.fixed_cells, INFEASIBLE)

    def _search(self, index: int, reward: float, busy: frozenset[Cell], best: float) -> float:
        if reward + self.still_to_earn[index] - self.least_penalty <= best:
            return best
        if index == len(self.options):
            return max(best, reward - self.penalty(busy))
        for earned, cells in self.options[index]:
            if not cells & busy:
                best = self._search(index + 1, reward + earned, busy | cells, best)
        return self._search(index + 1, reward, busy, best)


class _Services:
    """All services together: a state is the set of GPUs that each of them holds."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.services = problem.services
        choices = [list(self._sets(service)) for service in self.services]
        self.states = [state for state in product(*choices) if self._disjoint(state)]
        self.cost = [self._cost(step) for step in range(problem.horizon.steps)]
        self.before = {state: [old for old in self.states if self._within_cap(old, state)] for state in self.states}

    def _sets(self, service: Service) -> Iterator[frozenset[int]]:
        gpus = [gpu for gpu, node in enumerate(nodes_of_gpus(self.problem.cluster)) if meets_needs(service, node)]
        limit = len(gpus) if service.max_gpus is None else min(service.max_gpus, len(gpus))
        for size in range(limit + 1):
            yield from map(frozenset, combinations(gpus, size))

    @staticmethod
    def _disjoint(state: State) -> bool:
        return sum(map(len, state)) == len(frozenset().union(*state))

    def _cost(self, step: int) -> dict[State, float]:
        penalty = self.problem.objective.realtime_penalty
        return {
            state: sum(
                penalty * service.priority * max(0, service.demand[step] - len(gpus))
                for service, gpus in zip(self.services, state, strict=True)
            )
            for state in self.states
        }

    def _within_cap(self, old: State, new: State) -> bool:
        pairs = zip(self.services, old, new, strict=True)
        return all(len(before ^ after) <= service.max_swap for service, before, after in pairs)

    def _may_start(self, state: State) -> bool:
        pairs = zip(self.services, state, strict=True)
        return all(
            service.held is None or len(frozenset(service.held) ^ gpus) <= service.max_swap for service, gpus in pairs
        )

    def least_penalty(self, busy: frozenset[Cell]) -> float:
        """Return the least penalty of any legal way through the steps, or infinity where there is none."""
        paid = {state: 0.0 for state in self.states if self._may_start(state)}
        for step in range(self.problem.horizon.steps):
            taken = frozenset(gpu for gpu, at in busy if at == step)
            allowed = [state for state in self.states if not any(gpus & taken for gpus in state)]
            paid = {
                state: min(paid[old] for old in olds) + self.cost[step][state]
                for state in allowed
                if (olds := [state] if step == 0 and state in paid else [o for o in self.before[state] if o in paid])
                and (step > 0 or state in paid)
            }
        return min(paid.values(), default=float("inf"))
