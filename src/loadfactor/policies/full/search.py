"""The search of `full`: a bound from the model in counts, plans from its positions, cuts where there are none."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from loadfactor.model import Plan, Problem
from loadfactor.policies.draft import Draft
from loadfactor.policies.full.arranging import neighbours
from loadfactor.policies.full.choices import ChoiceMaker, JobClass, job_classes, starts_of
from loadfactor.policies.full.decided import Decided, give_hint
from loadfactor.policies.full.fitting import Fitter
from loadfactor.policies.full.model import GridModel
from loadfactor.policies.full.neighbourhoods import Neighbourhoods
from loadfactor.policies.full.outlines import cut_off, forbid, outline_of, whole
from loadfactor.policies.full.partition import Partition
from loadfactor.policies.full.positions import Outline, Placer
from loadfactor.policies.full.recounting import Recounter
from loadfactor.policies.full.refuting import Demands, Refuter
from loadfactor.policies.full.scale import Scale
from loadfactor.policies.full.seeking import Seeker
from loadfactor.policies.full.shrinking import Shrinker
from loadfactor.policies.full.solver import Limits, cores, solve
from loadfactor.policies.prices import price_capacity
from loadfactor.policies.protocol import Effort, Policy, Progress, relative_gap

TOLERANCE = 1e-6
"""A plan is called optimal where it lies within this share of the bound (or of 1): the model rounds to integers."""
LARGEST_MODEL = 1_500_000
"""Largest number of terms in the capacity rules; a larger problem keeps the plan it started from, with the
bound that prices prove."""
STALLED = 4
"""Attempts in a row that find no better counts before positions are looked for."""
FITS, FIT_SECONDS = 4, 0.8
"""Searches for positions near the same counts, each with other random numbers, and the shortest time for one."""
RESTARTS = 3
"""New beginnings of the first policy in a turn."""
RECOUNT_SECONDS = 0.5
"""Time limit for some jobs counted anew."""
NEIGHBOURHOOD_SECONDS = 0.8
"""Time limit for a few nodes planned anew."""
NEARLY, IMPATIENT = 0.005, 0.25
"""Gap of the model in counts below which it is given its whole share of the time, and what it is given above."""
REALIZE_SHARES = ((0.08, 0.1), (0.15, 0.2), (0.5, 0.5))
"""Shares of a turn's time for positions by ejection and for an exact search, first and where both were in vain."""
NODES_SECONDS, GPUS_SECONDS, JUDGE_SECONDS = 0.3, 2.0, 0.5
"""Time for finding nodes where alike ones are interchangeable, the least for GPUs in them, and the least for proving
that there are none."""
LEAST_SHRINKING = 0.3
"""The least time for making a conflict smaller before it is forbidden; it may take as long as the counts took."""
SEEKING, SEEK_SHARE = 4.0, 0.25
"""Between two optima in counts, other good counts are looked for, so many times as long as an optimum took. This share
of a turn's time is granted for the nodes of one of them."""
FIRST_SHARE = 0.1
"""The first round takes this share of the time limit for each of its parts; every further round takes twice as much."""


@dataclass(frozen=True)
class Solution:
    """A plan in counts and what it would be worth with positions."""

    decided: Decided
    worth: float


@dataclass
class Search:
    """Starts from the plan of `start_policy` and improves plan and bound until they meet or time is up."""

    problem: Problem
    effort: Effort
    start_policy: Policy
    workers: int = 1
    began: float = field(default_factory=time.perf_counter)
    bound: float | None = None
    count_seconds: float = 0.0
    """What the last solution in counts took."""

    def run(self, name: str) -> Plan:
        """Return the best plan found, with its bound."""
        self.best = draft_from(self.problem, self.start_policy.plan(self.problem, self._start_effort()))
        self._report()
        classes = job_classes(self.problem)
        if size_of_model(self.problem, classes) <= LARGEST_MODEL:
            self._improve(classes)
        else:
            self.bound = price_capacity(self.problem, self.value).bound
            self._report()
        bound = None if self.bound is None else max(self.bound, self.value)
        seconds = time.perf_counter() - self.began
        return self.best.plan(name, seconds, bound, None if bound is None else self.closed)

    @property
    def value(self) -> float:
        """The value of the best plan so far."""
        return self.best.metrics.value

    @property
    def closed(self) -> bool:
        """Whether the best plan reaches the bound."""
        return self.bound is not None and self.value >= self.bound - TOLERANCE * max(1.0, abs(self.bound))

    @property
    def remaining(self) -> float:
        """Seconds left."""
        return self.effort.time_limit_seconds - (time.perf_counter() - self.began)

    def _improve(self, classes: Sequence[JobClass]) -> None:
        """Take turns: counts, their positions, other starts, counts job by job, and plans node by node."""
        counts = counts_model(self.problem, classes)
        placer = Placer(self.problem, classes, counts.scale)
        recounter = Recounter(counts, self.effort.seed)
        seeker = Seeker(counts)
        share, settled = FIRST_SHARE, False
        solution: Solution | None = None
        for turn in range(1_000_000):
            if self._over:
                return
            seconds = min(self.remaining, share * self.effort.time_limit_seconds)
            settled, solution = self._settle(placer, seeker, settled, solution, seconds, turn)
            self._try_again(seconds / (4 if turn else 2), turn)
            self._recount(recounter, None if settled else solution, 2 * seconds, turn)
            self._explore(placer, seconds / 4, turn)
            share = min(2 * share, 1.0)

    def _settle(
        self, placer: Placer, seeker: Seeker, settled: bool, solution: Solution | None, seconds: float, turn: int
    ) -> tuple[bool, Solution | None]:
        """Solve the counts, find positions for the optimum, cut it off where there are none, and again.

        Between two optima, counts that are better than the best plan get the same. Return whether the counts are solved
        to the end, and their best solution.
        """
        until, counts = time.perf_counter() + seconds, seeker.counts
        while not self._over and time.perf_counter() < until:
            if not settled:
                patience = 1.0 if solution is None or self._nearly(solution) else IMPATIENT
                settled, solution = self._count(counts, patience * seconds, turn)
            if solution is None or not settled or self._over:
                break
            settled = self._realize(placer, counts, solution, seconds, turn)
            seeking = until - time.perf_counter() if settled else SEEKING * self.count_seconds
            self._seek(placer, seeker, min(seeking, self.remaining), SEEK_SHARE * seconds, turn)
            if settled:
                break
        return settled, solution

    def _nearly(self, solution: Solution) -> bool:
        """Return whether the model in counts is nearly solved, so that more time for it is likely to settle it."""
        return self.bound is not None and relative_gap(solution.worth, self.bound) < NEARLY

    @property
    def _over(self) -> bool:
        return self.closed or self.remaining <= 0

    def _decided_by_best(self, counts: GridModel) -> Decided:
        return Decided.by_draft(self.best, counts.partition, counts.classes)

    def _count(self, counts: GridModel, seconds: float, turn: int) -> tuple[bool, Solution | None]:
        """Solve the model in counts; return whether it is solved to the end, and its solution."""
        counts.model.clear_hints()  # type: ignore[no-untyped-call]
        give_hint(counts, self._decided_by_best(counts))
        began = time.perf_counter()
        outcome = solve(counts.model, self._limits(seconds, turn), lambda units: self._hear(counts, units))
        self.count_seconds = time.perf_counter() - began
        if not outcome.solved:
            return outcome.proven, None
        self._hear(counts, outcome.bound)
        worth = counts.scale.value(outcome.objective) + self._inherited
        return outcome.proven, Solution(Decided.by_solver(counts, outcome.values), worth)

    def _realize(self, placer: Placer, counts: GridModel, solution: Solution, seconds: float, turn: int) -> bool:
        """Find positions for an optimum in counts; cut it off and return False where it is proven to have none.

        Both ways of looking for them are given little time before either is given much.
        """
        outline = outline_of(solution.decided)
        for fit_share, place_share in REALIZE_SHARES:
            self._fit(counts, solution, fit_share * seconds)
            if self._over:
                break
            if self._refuter.applies:
                judged = self._judge_nodes(placer, counts, outline, place_share * seconds, turn)
                if judged is not None:
                    return judged
            placed = placer.place(outline, self._limits(place_share * seconds, turn))
            if placed.draft is not None:
                self._keep(placed.draft)
                break
            if placed.impossible:
                cut_off(counts, outline, placed.conflict or whole(counts, outline))
                return False
        return True

    def _seek(self, placer: Placer, seeker: Seeker, seconds: float, judging: float, turn: int) -> None:
        """Find positions for counts that are better than the best plan, or cut them off, one after the other."""
        until, counts = time.perf_counter() + seconds, seeker.counts
        tries = 0
        while self._refuter.applies and not self._over and time.perf_counter() < until:
            floor = self.value + TOLERANCE / 2 * max(1.0, abs(self.value))
            tries += 1
            outcome = seeker.above(floor - self._inherited, self._limits(until - time.perf_counter(), turn + tries))
            if not outcome.solved:
                if outcome.infeasible and not seeker.aside:
                    self._lower_bound(floor)
                elif outcome.infeasible:
                    seeker.aside.clear()
                return
            outline = outline_of(Decided.by_solver(counts, outcome.values))
            if self._judge_nodes(placer, counts, outline, judging, turn) is None:
                seeker.aside.append(outline)

    def _judge_nodes(
        self, placer: Placer, counts: GridModel, outline: Outline, seconds: float, turn: int
    ) -> bool | None:
        """Return True where positions were found soon, False where it is proven that there are no nodes, else None."""
        demands = Demands.of(self.problem, counts.classes, outline)
        limits = replace(self._limits(max(JUDGE_SECONDS, seconds), turn), workers=1, linearization=0, quick=True)
        answer = self._refuter.search(demands, replace(limits, seconds=max(NODES_SECONDS, seconds / 2)))
        if answer.nodes is not None:
            arranged = neighbours(answer.nodes, self._refuter.kind_of_node.tolist())
            limits = replace(limits, seconds=min(self.remaining, max(GPUS_SECONDS, seconds)))
            draft = None if arranged is None else placer.place_on(outline, arranged, limits)
            if draft is not None:
                self._keep(draft)
            return None if draft is None else True
        # what clauses have refuted they refute again; a linear relaxation is for what resists them
        shrinker = Shrinker(self._refuter, demands, replace(limits, linearization=0 if answer.infeasible else 1))
        conflict = shrinker.refute(min(self.remaining, max(LEAST_SHRINKING, self.count_seconds)))
        if conflict is not None:
            forbid(counts, conflict)
        return None if conflict is None else False

    @cached_property
    def _refuter(self) -> Refuter:
        return Refuter(self.problem, job_classes(self.problem))

    def _fit(self, counts: GridModel, solution: Solution, seconds: float) -> None:
        """Look for a plan near a solution in counts, unless it is no better than the best plan."""
        if not self._over and solution.worth > self.value + TOLERANCE * max(1.0, abs(self.value)):
            draft = self._fitter.fit(counts, solution.decided, solution.worth, min(self.remaining, seconds))
            if draft is not None:
                self._keep(draft)

    @cached_property
    def _fitter(self) -> Fitter:
        return Fitter(self.problem, self.effort.seed)

    def _recount(self, recounter: Recounter, found: Solution | None, seconds: float, turn: int) -> None:
        """Improve counts, those of the best plan or better ones that were `found`, and look for positions near them."""
        until = time.perf_counter() + seconds
        while time.perf_counter() < until and not self._over:
            begin = time.perf_counter()
            solution = Solution(self._decided_by_best(recounter.counts), self.value)
            if found is not None and found.worth > solution.worth:
                solution = found
            solution = self._better_counts(recounter, solution, begin + seconds / 2, turn)
            spent = time.perf_counter() - begin
            for _ in range(FITS):
                self._fit(recounter.counts, solution, max(FIT_SECONDS, spent / FITS))
            found = None

    def _better_counts(self, recounter: Recounter, solution: Solution, until: float, turn: int) -> Solution:
        """Improve a solution in counts until that stalls."""
        stalled = 0
        while stalled < STALLED and time.perf_counter() < until and self.remaining > 0:
            limits = replace(self._limits(RECOUNT_SECONDS, turn), linearization=1, quick=True)
            found = recounter.improve(solution.decided, limits)
            worth = solution.worth if found is None else found[1] + self._inherited
            stalled = 0 if worth > solution.worth else stalled + 1
            if found is not None and worth >= solution.worth:
                solution = Solution(found[0], worth)
        return solution

    def _explore(self, placer: Placer, seconds: float, turn: int) -> None:
        """Plan a few nodes anew at a time."""
        until = time.perf_counter() + seconds
        if len(self.problem.cluster.nodes) < 2 or self._over:
            return
        neighbourhoods = Neighbourhoods(placer, self.value, self.effort.seed + turn)
        while time.perf_counter() < until and not self._over:
            limits = replace(self._limits(NEIGHBOURHOOD_SECONDS, turn), linearization=1, quick=True)
            draft = neighbourhoods.improve(self.best, limits)
            if draft is not None:
                self._keep(draft)

    def _hear(self, counts: GridModel, units: float) -> None:
        self._lower_bound(counts.scale.value(units) + self._inherited)

    def _lower_bound(self, bound: float) -> None:
        if self.bound is None or bound < self.bound:
            self.bound = max(bound, self.value)
            self._report()

    @cached_property
    def _inherited(self) -> float:
        """The reward of running jobs, which the model leaves out."""
        placed = {job.id: self.best.placed[job.id] for job in self.problem.jobs if job.running}
        return Draft(self.problem, placed, self.best.held).metrics.batch_reward

    def _try_again(self, seconds: float, turn: int) -> None:
        """Let the policy that made the first plan begin anew, a few times."""
        until = time.perf_counter() + seconds
        for run in range(RESTARTS):
            left = min(until - time.perf_counter(), self.remaining)
            if left <= 0 or self.closed:
                return
            seed = self.effort.seed + RESTARTS * turn + run + 1
            effort = replace(self._start_effort(), seed=seed, budget_ms=1000 * min(left, seconds / RESTARTS))
            self._keep(draft_from(self.problem, self.start_policy.plan(self.problem, effort)))

    def _keep(self, draft: Draft) -> None:
        if draft.metrics.value > self.value:
            self.best = draft
            self._report()

    def _start_effort(self) -> Effort:
        budget_ms = min(self.effort.budget_ms, 100 * self.effort.time_limit_seconds)
        return replace(self.effort, budget_ms=budget_ms, progress=None)

    def _limits(self, seconds: float, turn: int) -> Limits:
        return Limits(min(seconds, self.remaining), self.effort.seed + turn, self.workers or cores())

    def _report(self) -> None:
        if self.effort.progress is not None:
            bound = None if self.bound is None else max(self.bound, self.value)
            self.effort.progress(Progress(time.perf_counter() - self.began, self.value, bound))


def counts_model(problem: Problem, classes: Sequence[JobClass]) -> GridModel:
    """Return the model of `problem` in counts: an optimum that no legal plan exceeds."""
    maker = ChoiceMaker(Partition.alike(problem))
    choices = [choice for index, jobs in enumerate(classes) for choice in maker.all_of(index, jobs)]
    most = [0.0] * len(classes)
    for choice in choices:
        most[choice.job_class] = max(most[choice.job_class], choice.reward)
    total = sum(reward * len(jobs.jobs) for reward, jobs in zip(most, classes, strict=True))
    penalty = problem.objective.realtime_penalty
    total += sum(penalty * service.priority * sum(service.demand) for service in problem.services)
    model = GridModel(maker.partition, classes, choices, Scale.for_total(total))
    model.maximize_value()
    return model


def size_of_model(problem: Problem, classes: Sequence[JobClass]) -> int:
    """Return about how many terms the capacity rules have: services GPU by GPU, jobs in counts."""
    table = Partition.alike(problem).table
    steps = problem.horizon.steps
    terms = len(problem.services) * problem.cluster.gpu_count * steps
    for jobs in classes:
        for size in table.sizes(jobs.example):
            duration = min(jobs.example.duration_at(size), steps)
            terms += len(starts_of(problem, jobs.example, size)) * duration
    return terms


def draft_from(problem: Problem, plan: Plan) -> Draft:
    """Return the decisions of a plan."""
    placed = {placement.id: (placement.start, placement.gpus) for placement in plan.jobs}
    held = {allocation.id: list(allocation.gpus) for allocation in plan.services}
    return Draft(problem, placed, [held[service.id] for service in problem.services])
