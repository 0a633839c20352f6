"""Proves that parts of a plan in counts have no nodes: a relaxation in which nodes that are alike are interchangeable.

A block larger than a node takes any whole nodes here, not neighbours, and blocks within a node may be scattered. What
has no nodes under these weaker rules has no positions. In return alike nodes may be renamed at will, which the search
for positions must not do, and of solutions that differ in names only few are kept: that is what makes a proof quick.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from ortools.sat.python import cp_model

from loadfactor.model import Problem
from loadfactor.policies.full.choices import JobClass
from loadfactor.policies.full.partition import Ints, Partition
from loadfactor.policies.full.positions import Outline
from loadfactor.policies.full.solver import Limits, solve

Needs = Mapping[tuple[int, int], int]
"""The least GPUs that a service holds at a step, by (service, step)."""
Load = dict[tuple[int, int], list[tuple[cp_model.IntVar, int]]]
"""(variable, GPUs) of all that uses a node at a step, by (node, step)."""

LARGEST_NODE_MODEL = 200_000
"""Most nodes times steps times workloads that are looked at: a model takes a second to build at about that size."""


@dataclass(frozen=True)
class Part:
    """`jobs` jobs of a class use blocks of `size` GPUs during the steps [start, end), or longer."""

    job_class: int
    size: int
    start: int
    end: int
    jobs: int
    chosen_start: int
    """The step at which the jobs start in the plan that the part was taken from."""


@dataclass(frozen=True)
class Demands:
    """Parts of a plan in counts; what they leave out may be anything."""

    parts: tuple[Part, ...]
    needs: Needs

    @classmethod
    def of(cls, problem: Problem, classes: Sequence[JobClass], outline: Outline) -> Demands:
        """Return all that an outline demands."""
        parts = []
        for d in outline.demanded:
            end = min(d.start + classes[d.job_class].example.duration_at(d.size), problem.horizon.steps)
            parts.append(Part(d.job_class, d.size, d.start, end, d.jobs, d.start))
        needs = {
            (index, step): demand - most
            for index, (service, shortfall) in enumerate(zip(problem.services, outline.shortfall, strict=True))
            for step, (demand, most) in enumerate(zip(service.demand, shortfall, strict=True))
            if demand > most
        }
        return cls(tuple(parts), needs)

    def within(self, first: int, last: int) -> Demands:
        """Return what is demanded during the steps [first, last)."""
        parts = [
            Part(p.job_class, p.size, max(p.start, first), min(p.end, last), p.jobs, p.chosen_start)
            for p in self.parts
            if p.start < last and p.end > first
        ]
        return Demands(tuple(parts), {key: least for key, least in self.needs.items() if first <= key[1] < last})


@dataclass(frozen=True)
class Answer:
    """What came of the search for nodes."""

    nodes: list[list[frozenset[int]]] | None
    """The nodes of every job of every part, where they were found within the limits."""
    infeasible: bool
    """Whether it is proven that there are none."""


class Refuter:
    """Looks for nodes under the weaker rules."""

    def __init__(self, problem: Problem, classes: Sequence[JobClass]) -> None:
        self.problem = problem
        self.classes = classes
        self.nodes = Partition.nodes(problem)
        self.room = int(np.bincount(self.nodes.pool_of_gpu).max())
        """GPUs of a node."""

    @cached_property
    def applies(self) -> bool:
        """Whether there are several nodes, not too many, all of one size: the rules for blocks are simple only then."""
        sizes = np.bincount(self.nodes.pool_of_gpu)
        workloads = len(self.classes) + len(self.problem.services)
        small = len(sizes) * self.problem.horizon.steps * workloads <= LARGEST_NODE_MODEL
        return len(sizes) > 1 and small and bool((sizes == sizes[0]).all())

    def search(self, demands: Demands, limits: Limits) -> Answer:
        """Look for nodes for all that is demanded."""
        model = NodeModel(self, demands, named=False)
        outcome = solve(model.model, limits)
        return Answer(model.found(outcome.values) if outcome.solved else None, outcome.infeasible)

    def core(self, demands: Demands, limits: Limits) -> Demands | None:
        """Return demands among these that have no nodes, or None where that is not proven within the limits."""
        named = NodeModel(self, demands, named=True)
        outcome = solve(named.model, limits)
        return named.named_by(outcome.core) if outcome.core else None

    @cached_property
    def suits_class(self) -> list[list[int]]:
        """The nodes that meet the needs of the jobs, class by class."""
        return [self.nodes.table.suitable_nodes(c.example).nonzero()[0].tolist() for c in self.classes]

    @cached_property
    def kind_of_node(self) -> Ints:
        """(P,) nodes of one number are alike: they offer the same to the same, and services hold as much of them."""
        suits = np.zeros((len(self.classes), self.nodes.pools), dtype=np.int64)
        for row, nodes in zip(suits, self.suits_class, strict=True):
            row[nodes] = 1
        rows: list[Ints] = [self.nodes.capacity.T, suits]
        for service in self.problem.services:
            held = self.nodes.held(service)
            rows.append(np.stack([self.nodes.suits(service), held if held is not None else suits[:0].sum(axis=0)]))
        kinds = np.unique(np.concatenate(rows), axis=1, return_inverse=True)[1]
        return np.asarray(kinds, dtype=np.int64).reshape(-1)


class NodeModel:
    """Nodes for parts of a plan; `named`: every job and every need stands step by step under an assumption."""

    def __init__(self, refuter: Refuter, demands: Demands, *, named: bool) -> None:
        self.refuter = refuter
        self.demands = demands
        self.model = cp_model.CpModel()
        self.named = named
        self._part_of: dict[int, tuple[int, int]] = {}
        self._need_of: dict[int, tuple[int, int]] = {}
        self._load: Load = defaultdict(list)
        self._taken: list[list[dict[int, cp_model.IntVar]]] = [[] for _ in demands.parts]
        steps = [step for part in demands.parts for step in (part.start, part.end - 1)]
        steps += [step for _, step in demands.needs]
        self._steps = range(min(steps, default=0), max(steps, default=-1) + 1)
        self._required = [0] * refuter.problem.horizon.steps
        self._jobs_have_nodes()
        for index, service in enumerate(refuter.problem.services):
            inherits = service.held is not None and self._steps.start == 0
            if inherits or any(index == needed for needed, _ in demands.needs):
                self._service_meets_needs(index)
        self._r1_one_holder_per_gpu()

    def found(self, values: Sequence[int]) -> list[list[frozenset[int]]]:
        """Return the nodes of every job of every part in a solution."""
        return [
            [frozenset(node for node, here in taken.items() if values[here.index]) for taken in jobs]
            for jobs in self._taken
        ]

    def named_by(self, core: Sequence[int]) -> Demands:
        """Return the demands that a core names, every job for the steps from the first to the last that it names."""
        steps: dict[int, list[int]] = defaultdict(list)
        for literal in core:
            if literal in self._part_of:
                part, step = self._part_of[literal]
                steps[part].append(step)
        parts = []
        for index, named in sorted(steps.items()):
            p = self.demands.parts[index]
            parts.append(Part(p.job_class, p.size, min(named), max(named) + 1, p.jobs, p.chosen_start))
        needs = (self._need_of[literal] for literal in core if literal in self._need_of)
        return Demands(tuple(parts), {key: self.demands.needs[key] for key in needs})

    def _jobs_have_nodes(self) -> None:
        """Every job gets its nodes (R2, R3, R5). The nth that asks for nodes of a kind gets one of the first n of them.

        Whoever is not the first in a node of its kind can be renamed into that, so that no plan is lost for good.
        """
        kinds = self.refuter.kind_of_node.tolist()
        rank = [kinds[:node].count(kind) for node, kind in enumerate(kinds)]
        asked = 0
        for index in self._in_order():
            part = self.demands.parts[index]
            asks = self._assumptions(index, part)
            for _ in range(part.jobs):
                width = max(1, part.size // self.refuter.room)
                asked += width
                nodes = [node for node in self.refuter.suits_class[part.job_class] if rank[node] < asked]
                taken = {node: self.model.new_bool_var("") for node in nodes}
                self.model.add(cp_model.LinearExpr.sum(list(taken.values())) == width)
                self._taken[index].append(taken)
                self._use(part, taken, asks)

    def _in_order(self) -> list[int]:
        """Return the parts in the order of naming nodes: first those that run when most whole nodes are taken."""
        parts = self.demands.parts
        whole = [0] * self.refuter.problem.horizon.steps
        for part in parts:
            if part.size >= self.refuter.room:
                for step in range(part.start, part.end):
                    whole[step] += part.size * part.jobs
        busiest = whole.index(max(whole))
        return sorted(range(len(parts)), key=lambda i: (not parts[i].start <= busiest < parts[i].end, -parts[i].size))

    def _assumptions(self, index: int, part: Part) -> dict[int, cp_model.IntVar]:
        if not self.named:
            return {}
        asks = {step: self._assumption() for step in range(part.start, part.end)}
        self._part_of |= {asked.index: (index, step) for step, asked in asks.items()}
        return asks

    def _assumption(self) -> cp_model.IntVar:
        asked = self.model.new_bool_var("")
        self.model.add_assumption(asked)
        return asked

    def _use(self, part: Part, taken: Mapping[int, cp_model.IntVar], asks: Mapping[int, cp_model.IntVar]) -> None:
        gpus = min(part.size, self.refuter.room)
        for step in range(part.start, part.end):
            self._required[step] += part.size
            for node, here in taken.items():
                used = here
                if asks:
                    used = self.model.new_bool_var("")
                    self.model.add_bool_or([~here, ~asks[step], used])
                self._load[node, step].append((used, gpus))

    def _service_meets_needs(self, index: int) -> None:
        """A service holds what it needs (R2) and keeps to its cap, counted node by node (R4)."""
        service = self.refuter.problem.services[index]
        suits = self.refuter.nodes.suits(service).nonzero()[0].tolist()
        held = self.refuter.nodes.held(service)
        before: list[cp_model.IntVar | int] | None = None
        if held is not None and self._steps.start == 0:
            before = held.tolist()
        for step in self._steps:
            now = [self.model.new_int_var(0, self.refuter.room, "") for _ in range(self.refuter.nodes.pools)]
            least = self.demands.needs.get((index, step), 0)
            if least:
                self._require(index, step, cp_model.LinearExpr.sum([now[node] for node in suits]) >= least)
                self._required[step] += least
            for node in suits:
                self._load[node, step].append((now[node], 1))
            if before is not None:
                self._swap_cap(suits, before, now, service.max_swap)
            before = list(now)

    def _require(self, service: int, step: int, met: cp_model.BoundedLinearExpression | bool) -> None:
        constraint = self.model.add(met)
        if self.named:
            asked = self._assumption()
            self._need_of[asked.index] = (service, step)
            constraint.only_enforce_if(asked)

    def _swap_cap(
        self, suits: Sequence[int], before: Sequence[cp_model.IntVar | int], now: Sequence[cp_model.IntVar], cap: int
    ) -> None:
        swaps = []
        for node in suits:
            given, taken = self.model.new_int_var(0, cap, ""), self.model.new_int_var(0, cap, "")
            self.model.add(now[node] - before[node] == given - taken)
            swaps += [given, taken]
        self.model.add(cp_model.LinearExpr.sum(swaps) <= cap)

    def _r1_one_holder_per_gpu(self) -> None:
        """What uses a node fits into it, and is at least what the other nodes together have no room for."""
        capacity = self.refuter.nodes.capacity
        room = capacity.sum(axis=0).tolist()
        for (node, step), terms in self._load.items():
            most = int(capacity[node, step])
            least = 0 if self.named else max(0, self._required[step] - (room[step] - most))
            load = cp_model.LinearExpr.weighted_sum([used for used, _ in terms], [gpus for _, gpus in terms])
            self.model.add_linear_constraint(load, least, most)
