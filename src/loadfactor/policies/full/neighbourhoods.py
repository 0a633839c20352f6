"""Improves a legal plan node by node: a few nodes are planned anew, exactly, while the others keep what they hold.

Large neighbourhood search (Shaw 1998) with the exact model as its repair: jobs that lie in the chosen nodes, jobs that
have no place, and the services' GPUs there are free. Of the choices of all these jobs the model gets those that look
best at the prices of `loadfactor.policies.prices`, shuffled a little, so that it stays small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from loadfactor.model import Problem
from loadfactor.policies.draft import Draft, Gpus, duration_of
from loadfactor.policies.full.choices import Choice, JobClass
from loadfactor.policies.full.decided import Decided, give_hint
from loadfactor.policies.full.model import GridModel, Rest
from loadfactor.policies.full.partition import Ints, Mask, Partition
from loadfactor.policies.full.positions import Placer, draft_of
from loadfactor.policies.full.solver import Limits, solve
from loadfactor.policies.prices import price_capacity

MOST_CHOICES = 700
"""Choices that a model of a few nodes gets: about a second of CP-SAT."""
SHUFFLE = 0.5
"""Losses are multiplied by a random factor within this distance of 1 before the choices are ranked."""
MOST_NODES = 4
POSITIONS_SECONDS = 1.0
"""Time limit for finding GPUs within the nodes, in which most puzzles take milliseconds."""
NOTICEABLE = 1e-6
"""Share of the value by which the model must promise more: it rounds to integers."""


class Neighbourhoods:
    """Plans a few nodes of a plan anew, others every time."""

    def __init__(self, placer: Placer, value: float, seed: int) -> None:
        self.placer = placer
        self.problem = placer.problem
        self.random = np.random.default_rng(seed)
        self._loss = self._losses(value)

    def improve(self, draft: Draft, limits: Limits) -> Draft | None:
        """Return a better plan than `draft`, or None where the nodes tried this time have none within the limits."""
        return self._replan(draft, self._few_nodes(), limits)

    def _few_nodes(self) -> list[int]:
        nodes = self.placer.nodes.pools
        count = min(nodes, int(self.random.integers(2, MOST_NODES + 1)))
        if self.random.random() < 0.5:  # larger blocks need neighbours
            first = int(self.random.integers(nodes))
            return [(first + index) % nodes for index in range(count)]
        return [int(node) for node in self.random.choice(nodes, count, replace=False)]

    def _replan(self, draft: Draft, nodes: Sequence[int], limits: Limits) -> Draft | None:
        part = Part(draft, self.placer.nodes, self.placer.gpus, nodes)
        classes = [JobClass(tuple(job for job in c.jobs if job.id not in part.fixed)) for c in self.placer.classes]
        choices = self._promising(draft, part, classes)
        model = GridModel(self.placer.nodes, classes, choices, self.placer.scale, part.rest(self.placer.nodes))
        model.maximize_value()
        give_hint(model, Decided.by_draft(draft, self.placer.nodes, classes))
        outcome = solve(model.model, limits)
        if not outcome.solved:
            return None
        if self.placer.scale.value(outcome.objective) <= part.value + NOTICEABLE * abs(part.value):
            return None
        fine = self.placer.within_nodes(model, outcome.values, part.rest(self.placer.gpus))
        found = solve(fine.model, replace(limits, seconds=min(POSITIONS_SECONDS, limits.seconds), quick=False))
        merged = part.merged(draft_of(fine, found.values)) if found.solved else draft
        return merged if merged.metrics.value > draft.metrics.value else None

    def _promising(self, draft: Draft, part: Part, classes: Sequence[JobClass]) -> list[Choice]:
        """Return the choices within the part that lose least, and those that the plan has made."""
        made = part.made(classes)
        open_classes = {index for index, jobs in enumerate(classes) if jobs.jobs}
        factors = self.random.uniform(1 - SHUFFLE, 1 + SHUFFLE, len(self._loss)).tolist()
        ranked: list[tuple[float, int]] = []
        for index, choice in enumerate(self.placer.by_node):
            if choice.job_class in open_classes and all(part.pools[node] for node, _ in choice.usage):
                taken = (choice.job_class, choice.size, choice.start) in made
                ranked.append((-1.0 if taken else self._loss[index] * factors[index], index))
        ranked.sort()
        chosen = (self.placer.by_node[index] for _, index in ranked[:MOST_CHOICES])
        return [replace(choice, most=min(choice.most, len(classes[choice.job_class].jobs))) for choice in chosen]

    def _losses(self, value: float) -> list[float]:
        """Return for every choice what it earns less, its GPUs paid, than the best of its class or no job at all."""
        prices = price_capacity(self.problem, value).price
        alike = Partition.alike(self.problem).pool_of_gpu
        paid = np.pad(prices.cumsum(axis=1), ((0, 0), (1, 0)))
        profits = []
        best = [0.0] * len(self.placer.classes)
        for choice in self.placer.by_node:
            pool = min(alike[choice.blocks[0]], len(prices) - 1)
            profit = choice.reward - choice.size * float(paid[pool, choice.end] - paid[pool, choice.start])
            profits.append(profit)
            best[choice.job_class] = max(best[choice.job_class], profit)
        return [best[c.job_class] - profit for c, profit in zip(self.placer.by_node, profits, strict=True)]


class Part:
    """A few nodes of a plan, free to be planned anew, and what is fixed around them."""

    def __init__(self, draft: Draft, nodes: Partition, gpus: Partition, chosen: Sequence[int]) -> None:
        self.draft = draft
        self.problem: Problem = draft.problem
        self._nodes = nodes
        self.pools: Mask = np.zeros(nodes.pools, dtype=np.bool_)
        self.pools[list(chosen)] = True
        self._free = self.pools[nodes.pool_of_gpu]
        self._capacity: Ints = (~gpus.closed & self._free[:, None]).astype(np.int64)
        self.fixed: dict[str, tuple[int, Gpus]] = {}
        for job in self.problem.jobs:
            if job.id in draft.placed and not (job.running is None and self._inside(draft.placed[job.id][1])):
                self._fix(job.id, duration_of(job, len(draft.placed[job.id][1])))

    def _inside(self, gpus: Gpus) -> bool:
        return all(self._free[gpu] for gpu in gpus)

    def _fix(self, job: str, duration: int) -> None:
        start, gpus = self.draft.placed[job]
        self.fixed[job] = (start, gpus)
        self._capacity[list(gpus), start : start + duration] = 0

    @property
    def value(self) -> float:
        """What the plan is worth less the reward of the fixed jobs: what a model of the part must exceed."""
        nothing = [[()] * self.problem.horizon.steps for _ in self.problem.services]
        fixed = Draft(self.problem, self.fixed, nothing).metrics.batch_reward
        return self.draft.metrics.value - fixed

    def made(self, classes: Sequence[JobClass]) -> set[tuple[int, int, int]]:
        """Return (class, size, start) of the jobs in the part."""
        made = set()
        for index, jobs in enumerate(classes):
            for job in jobs.jobs:
                if job.id in self.draft.placed:
                    start, gpus = self.draft.placed[job.id]
                    made.add((index, len(gpus), start))
        return made

    def rest(self, partition: Partition) -> Rest:
        """Return what a model of the part must know of the rest, by nodes or by GPUs."""
        pools = np.zeros(partition.pools, dtype=np.bool_)
        pools[partition.pool_of_gpu[self._free]] = True
        capacity = np.zeros((partition.pools, self.problem.horizon.steps), dtype=np.int64)
        np.add.at(capacity, partition.pool_of_gpu, self._capacity)
        held = [[len(self._outside(gpus)) for gpus in allocation] for allocation in self.draft.held]
        swaps = []
        for service, allocation in zip(self.problem.services, self.draft.held, strict=True):
            before = allocation[0] if service.held is None else service.held
            outside = [frozenset(self._outside(gpus)) for gpus in (before, *allocation)]
            swaps.append([len(earlier ^ later) for earlier, later in pairwise(outside)])
        shape = (len(self.problem.services), self.problem.horizon.steps)
        return Rest(
            pools,
            capacity,
            np.array(held, dtype=np.int64).reshape(shape),
            np.array(swaps, dtype=np.int64).reshape(shape),
        )

    def _outside(self, gpus: Gpus) -> Gpus:
        return tuple(gpu for gpu in gpus if not self._free[gpu])

    def merged(self, found: Draft) -> Draft:
        """Return the plan with the part as `found`."""
        held = [
            [tuple(sorted((*self._outside(before), *now))) for before, now in zip(old, new, strict=True)]
            for old, new in zip(self.draft.held, found.held, strict=True)
        ]
        return Draft(self.problem, {**found.placed, **self.fixed}, held)
