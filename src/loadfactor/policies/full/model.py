"""The exact model of a problem over the pools of a partition, family by family of the rule book (CP-SAT).

Time-indexed: a variable for every choice of a class of jobs (how many of its jobs make that choice) and for every
service, pool and step (how many GPUs of the pool it holds). R3 and R5 live in the choices: each is a legal block, held
from start to end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from ortools.sat.python import cp_model

from loadfactor.model import Problem, Service
from loadfactor.policies.full.choices import Choice, JobClass
from loadfactor.policies.full.partition import Ints, Mask, Partition
from loadfactor.policies.full.scale import Scale

IntVar = cp_model.IntVar
LinearExpr = cp_model.LinearExpr


@dataclass(frozen=True)
class Rest:
    """What is decided already and stays outside a model of a part of the cluster."""

    pools: Mask
    """(P,) the pools whose GPUs the model gives out."""
    capacity: Ints
    """(P, T) GPUs of every pool that are left to it."""
    held: Ints
    """(S, T) GPUs of the other pools that every service holds."""
    swaps: Ints
    """(S, T) GPUs of the other pools given to and taken from every service at every step."""

    @classmethod
    def nothing(cls, partition: Partition) -> Rest:
        """Return the rest of a model of the whole cluster."""
        none = np.zeros((len(partition.problem.services), partition.problem.horizon.steps), dtype=np.int64)
        return cls(np.ones(partition.pools, dtype=np.bool_), partition.capacity, none, none)


@dataclass
class ServiceVariables:
    """The variables of one service."""

    service: Service
    held: list[dict[int, IntVar]] = field(default_factory=list)
    """For every step, the GPUs held of every pool that suits."""
    shortfall: list[IntVar] = field(default_factory=list)

    def total(self, step: int) -> LinearExpr:
        """Return the GPUs held at `step`, over all pools."""
        return cp_model.LinearExpr.sum(list(self.held[step].values()))


class GridModel:
    """Jobs and services compete for the cells of a grid of pools and steps."""

    def __init__(
        self,
        partition: Partition,
        classes: Sequence[JobClass],
        choices: Iterable[Choice],
        scale: Scale,
        rest: Rest | None = None,
    ) -> None:
        self.partition = partition
        self.rest = rest or Rest.nothing(partition)
        self.problem: Problem = partition.problem
        self.classes = classes
        self.choices = list(choices)
        self.scale = scale
        self.steps = range(self.problem.horizon.steps)
        self.model = cp_model.CpModel()
        self.chosen: list[IntVar] = [self.model.new_int_var(0, choice.most, "") for choice in self.choices]
        self.services = [self._new_service(*numbered) for numbered in enumerate(self.problem.services)]
        self._add_rules()

    def _add_rules(self) -> None:
        self._r1_one_holder_per_gpu()
        self._r2_each_job_at_most_once()
        self._r2_shortfall_is_unmet_demand()
        self._r4_swap_caps()

    def _new_service(self, index: int, service: Service) -> ServiceVariables:
        variables = ServiceVariables(service)
        suits = (self.partition.suits(service) & self.rest.pools).nonzero()[0].tolist()
        most = self._most_held(service, len(suits))
        for step in self.steps:
            held = {}
            for pool in suits:
                room = min(most[step], int(self.rest.capacity[pool, step]))
                held[pool] = self.model.new_int_var(0, room, "")
            variables.held.append(held)
            variables.shortfall.append(self.model.new_int_var(0, service.demand[step], ""))
            elsewhere = int(self.rest.held[index, step])
            if service.max_gpus is not None and (len(suits) > 1 or elsewhere):
                self.model.add(variables.total(step) <= service.max_gpus - elsewhere)
        return variables

    def _most_held(self, service: Service, pools: int) -> list[int]:
        """Return the most GPUs that `service` has a reason to hold at every step.

        Where GPUs are not told apart, capping any legal curve at its peak (or at the slope down to the peak from what
        it holds) leaves it legal and serves the same demand. Where they are, one more helps to move.
        """
        limit = self.problem.cluster.gpu_count if service.max_gpus is None else service.max_gpus
        if pools != 1 or self.partition.pools == self.problem.cluster.gpu_count:
            return [limit] * len(self.steps)
        held, peak = len(service.held or ()), max(service.demand)
        return [min(limit, max(peak, held - service.max_swap * (step + 1))) for step in self.steps]

    def _r1_one_holder_per_gpu(self) -> None:
        """The jobs and services that use a pool at a step fit into it."""
        use: dict[tuple[int, int], list[tuple[IntVar, int]]] = defaultdict(list)
        for choice, chosen in zip(self.choices, self.chosen, strict=True):
            for pool, count in choice.usage:
                for step in range(choice.start, choice.end):
                    use[pool, step].append((chosen, count))
        for variables in self.services:
            for step, held in enumerate(variables.held):
                for pool, gpus in held.items():
                    use[pool, step].append((gpus, 1))
        for (pool, step), terms in use.items():
            room = int(self.rest.capacity[pool, step])
            self.model.add(_weighted(terms) <= room)

    def _r2_each_job_at_most_once(self) -> None:
        mine: list[list[IntVar]] = [[] for _ in self.classes]
        for choice, chosen in zip(self.choices, self.chosen, strict=True):
            mine[choice.job_class].append(chosen)
        for jobs, variables in zip(self.classes, mine, strict=True):
            if variables:
                self.model.add(cp_model.LinearExpr.sum(variables) <= len(jobs.jobs))

    def _r2_shortfall_is_unmet_demand(self) -> None:
        for variables, elsewhere in zip(self.services, self.rest.held.tolist(), strict=True):
            for step, demand in enumerate(variables.service.demand):
                if demand > elsewhere[step]:
                    self.model.add(variables.total(step) + variables.shortfall[step] >= demand - elsewhere[step])

    def _r4_swap_caps(self) -> None:
        """GPUs given plus GPUs taken away between two steps are within the cap."""
        for variables, elsewhere in zip(self.services, self.rest.swaps.tolist(), strict=True):
            held = self.partition.held(variables.service)
            before: dict[int, IntVar | int] | None = None if held is None else dict(enumerate(held.tolist()))
            for step, now in enumerate(variables.held):
                if before is not None:
                    self._swap_cap(before, now, variables.service.max_swap - elsewhere[step])
                before = dict(now)

    def _swap_cap(self, before: dict[int, IntVar | int], now: dict[int, IntVar], cap: int) -> None:
        if len(now) == 1:
            pool, count = next(iter(now.items()))
            self.model.add_linear_constraint(count - before[pool], -cap, cap)
            return
        swaps = []
        for pool, count in now.items():
            given, taken = self.model.new_int_var(0, cap, ""), self.model.new_int_var(0, cap, "")
            self.model.add(count - before[pool] == given - taken)
            swaps += [given, taken]
        if swaps:
            self.model.add(cp_model.LinearExpr.sum(swaps) <= cap)

    def maximize_value(self) -> None:
        """State the objective."""
        self.model.maximize(self.value)

    @cached_property
    def value(self) -> LinearExpr:
        """What a solution is worth, in units of the scale: rounded up, so that no plan is worth more."""
        terms = [(chosen, self.scale.reward(c.reward)) for c, chosen in zip(self.choices, self.chosen, strict=True)]
        for variables in self.services:
            price = self.scale.penalty(self.problem.objective.realtime_penalty * variables.service.priority)
            terms += [(shortfall, -price) for shortfall in variables.shortfall]
        return _weighted(terms)


def _weighted(terms: Sequence[tuple[IntVar, int]]) -> LinearExpr:
    return cp_model.LinearExpr.weighted_sum([variable for variable, _ in terms], [weight for _, weight in terms])
