"""Blocks and GPUs for what was chosen in counts: the same model with every GPU a pool of its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ortools.sat.python import cp_model

from loadfactor.model import Problem
from loadfactor.policies.draft import Draft, Gpus
from loadfactor.policies.full.choices import Choice, ChoiceMaker, JobClass
from loadfactor.policies.full.model import GridModel, Rest, ServiceVariables
from loadfactor.policies.full.partition import Partition
from loadfactor.policies.full.scale import Scale
from loadfactor.policies.full.solver import Limits, Outcome, solve


@dataclass(frozen=True)
class Demanded:
    """`jobs` jobs of class `job_class` start at `start` on `size` GPUs each."""

    job_class: int
    size: int
    start: int
    jobs: int


@dataclass(frozen=True)
class Outline:
    """A plan in counts: the starts of jobs, and the most that every service may fall short by at every step."""

    demanded: tuple[Demanded, ...]
    shortfall: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Conflict:
    """Parts of an outline that cannot all be placed: jobs by their index in `demanded`, (service, step) pairs."""

    demanded: frozenset[int]
    shortfall: frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Placed:
    """What came of the search for positions; `conflict` says why they are impossible, where that is known."""

    draft: Draft | None = None
    impossible: bool = False
    conflict: Conflict | None = None


class Placer:
    """Finds GPUs for outlines of one problem."""

    def __init__(self, problem: Problem, classes: Sequence[JobClass], scale: Scale) -> None:
        self.problem = problem
        self.classes = classes
        self.scale = scale
        self._gpus = ChoiceMaker(Partition.single(problem))
        self._nodes = ChoiceMaker(Partition.nodes(problem))

    @property
    def nodes(self) -> Partition:
        """The partition in which every node is a pool."""
        return self._nodes.partition

    @property
    def gpus(self) -> Partition:
        """The partition in which every GPU is a pool."""
        return self._gpus.partition

    @cached_property
    def by_node(self) -> list[Choice]:
        """Every choice of every job, told apart by the nodes that it uses."""
        return [choice for index, jobs in enumerate(self.classes) for choice in self._nodes.all_of(index, jobs)]

    def _choices(self, maker: ChoiceMaker, job_class: int, size: int, start: int) -> list[Choice]:
        return list(maker.at(job_class, self.classes[job_class], size, start))

    def place(self, outline: Outline, limits: Limits) -> Placed:
        """Return a draft that keeps to the whole outline, or why there is none.

        First a node for every job and for the GPUs of every service, then the GPUs inside the nodes; only where the
        nodes found do not suffice, all GPUs at once.
        """
        began = time.perf_counter()
        if len(self.problem.cluster.nodes) > 1:
            nodes, outcome, conflict = self._search(outline, self._nodes, limits)
            if not outcome.solved:
                return Placed(impossible=outcome.infeasible, conflict=conflict)
            fine = self.within_nodes(nodes, outcome.values)
            outcome = solve(fine.model, _rest(limits, began))
            if outcome.solved:
                return Placed(draft_of(fine, outcome.values))
        gpus, outcome, conflict = self._search(outline, self._gpus, _rest(limits, began))
        draft = draft_of(gpus, outcome.values) if outcome.solved else None
        return Placed(draft, outcome.infeasible, conflict)

    def place_on(self, outline: Outline, nodes: Sequence[Sequence[frozenset[int]]], limits: Limits) -> Draft | None:
        """Return a draft in which every job has the nodes given for it, demand by demand, or None if none is found."""
        began = time.perf_counter()
        model, parts = self._model(outline, self._nodes)
        _require(model, parts, outline)
        choices = iter(model.choices)
        for part, wanted in zip(parts, nodes, strict=True):
            for chosen in part:
                usage = frozenset(node for node, _ in next(choices).usage)
                model.model.add(chosen == wanted.count(usage))
        outcome = solve(model.model, replace(limits, linearization=1))
        if not outcome.solved:
            return None
        fine = self.within_nodes(model, outcome.values)
        outcome = solve(fine.model, _rest(limits, began))
        return draft_of(fine, outcome.values) if outcome.solved else None

    def _search(
        self, outline: Outline, maker: ChoiceMaker, limits: Limits
    ) -> tuple[GridModel, Outcome, Conflict | None]:
        """Look for pools for a whole outline.

        First without a linear relaxation, which soon proves that there are none, with a core that says why; then with
        one, which is better at finding some.
        """
        began = time.perf_counter()
        model, parts = self._model(outline, maker)
        asked = _ask(model, parts, outline)
        outcome = solve(model.model, replace(limits, seconds=limits.seconds / 2, workers=1, linearization=0))
        if outcome.proven:
            return model, outcome, asked.conflict(outcome.core) if outcome.infeasible else None
        model, parts = self._model(outline, maker)
        _require(model, parts, outline)
        return model, solve(model.model, replace(_rest(limits, began), linearization=1)), None

    def within_nodes(self, nodes: GridModel, values: Sequence[int], rest: Rest | None = None) -> GridModel:
        """Return the model of GPUs in which every job and service keeps to the nodes found for it."""
        groups: list[tuple[list[Choice], int]] = []
        for choice, chosen in zip(nodes.choices, nodes.chosen, strict=True):
            if values[chosen.index]:
                mine = self._choices(self._gpus, choice.job_class, choice.size, choice.start)
                inside = [c for c in mine if c.blocks[0] in choice.blocks]
                groups.append((inside, values[chosen.index]))
        fine_choices = [choice for group, _ in groups for choice in group]
        model = GridModel(self._gpus.partition, nodes.classes, fine_choices, self.scale, rest)
        chosen_here = iter(model.chosen)
        for group, jobs in groups:
            model.model.add(cp_model.LinearExpr.sum([next(chosen_here) for _ in group]) == jobs)
        for fine, coarse in zip(model.services, nodes.services, strict=True):
            self._keep_to_nodes(model, fine, coarse, values)
        return model

    def _keep_to_nodes(
        self, model: GridModel, fine: ServiceVariables, coarse: ServiceVariables, values: Sequence[int]
    ) -> None:
        """Give a service its GPUs of every node, and move none inside a node.

        So R4 holds node by node as it holds between them, and the nodes become puzzles of their own.
        """
        node_of_gpu = self._nodes.partition.pool_of_gpu
        counted = self._nodes.partition.held(fine.service)
        inherited = self._gpus.partition.held(fine.service)
        for step, held in enumerate(coarse.held):
            for node, count in held.items():
                gpus = [gpu for gpu in fine.held[step] if node_of_gpu[gpu] == node]
                now = values[count.index]
                model.model.add(cp_model.LinearExpr.sum([fine.held[step][gpu] for gpu in gpus]) == now)
                if step:
                    before = values[coarse.held[step - 1][node].index]
                    for gpu in gpus:
                        _one_way(model, fine.held[step - 1][gpu], fine.held[step][gpu], now - before)
                elif counted is not None and inherited is not None:
                    for gpu in gpus:
                        _one_way(model, int(inherited[gpu]), fine.held[0][gpu], now - int(counted[node]))

    def _model(self, outline: Outline, maker: ChoiceMaker) -> tuple[GridModel, list[list[cp_model.IntVar]]]:
        groups = [self._choices(maker, d.job_class, d.size, d.start) for d in outline.demanded]
        model = GridModel(maker.partition, self.classes, [c for group in groups for c in group], self.scale)
        chosen = iter(model.chosen)
        return model, [[next(chosen) for _ in group] for group in groups]


@dataclass(frozen=True)
class Asked:
    """Which literal of a model asks for which part of an outline."""

    jobs: dict[int, int]
    shortfall: dict[int, tuple[int, int]]

    def conflict(self, core: Sequence[int]) -> Conflict | None:
        """Return the parts that a core names, or None where it names nothing."""
        if not core:
            return None
        return Conflict(
            frozenset(self.jobs[literal] for literal in core if literal in self.jobs),
            frozenset(self.shortfall[literal] for literal in core if literal in self.shortfall),
        )


def _ask(model: GridModel, parts: list[list[cp_model.IntVar]], outline: Outline) -> Asked:
    """Require the outline part by part, each under an assumption that a core can name."""
    asked = Asked({}, {})
    for index, (part, demanded) in enumerate(zip(parts, outline.demanded, strict=True)):
        kept = model.model.new_bool_var("")
        model.model.add(cp_model.LinearExpr.sum(part) >= demanded.jobs).only_enforce_if(kept)
        asked.jobs[kept.index] = index
        model.model.add_assumption(kept)
    for service, (variables, shortfall) in enumerate(zip(model.services, outline.shortfall, strict=True)):
        for step, most in enumerate(shortfall):
            if most < variables.service.demand[step]:
                kept = model.model.new_bool_var("")
                model.model.add(variables.shortfall[step] <= most).only_enforce_if(kept)
                asked.shortfall[kept.index] = (service, step)
                model.model.add_assumption(kept)
    return asked


def _require(model: GridModel, parts: list[list[cp_model.IntVar]], outline: Outline) -> None:
    for part, demanded in zip(parts, outline.demanded, strict=True):
        model.model.add(cp_model.LinearExpr.sum(part) == demanded.jobs)
    for variables, shortfall in zip(model.services, outline.shortfall, strict=True):
        for variable, most in zip(variables.shortfall, shortfall, strict=True):
            model.model.add(variable <= most)


def _one_way(model: GridModel, before: cp_model.IntVar | int, now: cp_model.IntVar, change: int) -> None:
    """Take no GPU away in a node that is given some, and give none in a node that loses some."""
    if change >= 0:
        model.model.add(now >= before)
    if change <= 0:
        model.model.add(now <= before)


def _rest(limits: Limits, began: float) -> Limits:
    return replace(limits, seconds=limits.seconds - (time.perf_counter() - began))


def draft_of(model: GridModel, values: Sequence[int]) -> Draft:
    """Return the decisions of a solution of a model in which every GPU is a pool."""
    problem = model.problem
    placed: dict[str, tuple[int, Gpus]] = {job.id: (0, job.running.gpus) for job in problem.jobs if job.running}
    waiting = [iter(jobs.jobs) for jobs in model.classes]
    for choice, chosen in zip(model.choices, model.chosen, strict=True):
        for _ in range(values[chosen.index]):
            first = choice.blocks[0]
            placed[next(waiting[choice.job_class]).id] = (choice.start, tuple(range(first, first + choice.size)))
    held = [
        [tuple(gpu for gpu, count in step.items() if values[count.index]) for step in variables.held]
        for variables in model.services
    ]
    return Draft(problem, placed, held)
