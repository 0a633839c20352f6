"""Positions for a plan in counts by the ejection search of `fast`: at once where there are many, near it where none."""

from __future__ import annotations

import time

from loadfactor.model import Problem
from loadfactor.policies.catalogue import SPANNING
from loadfactor.policies.draft import Draft
from loadfactor.policies.fast.curves import NONE
from loadfactor.policies.fast.layout import draft_of
from loadfactor.policies.fast.loading import load_compiled_code
from loadfactor.policies.fast.search import Budget, Positions, Search
from loadfactor.policies.full.choices import Usage
from loadfactor.policies.full.decided import Decided
from loadfactor.policies.full.model import GridModel
from loadfactor.policies.instance import FIRST_OPTION, LAST_OPTION, POOL, SIZE, compile_problem

TRY_SECONDS = 0.015
"""Seconds of ejections in one try: a hundred short tries find positions for all more often than a few long ones."""
ENOUGH = 1e-6
"""A plan that falls short by no more than this share has all that was decided: solvers round to integers."""
FIT_SHARE = 0.6
"""Share of the time that goes into positions for all; the rest improves the best that was found."""


class Fitter:
    """Makes legal plans from solutions of the model in counts, each a random try."""

    def __init__(self, problem: Problem, seed: int) -> None:
        load_compiled_code()
        self._instance = compile_problem(problem)
        self._seed = seed

    def fit(self, counts: GridModel, decided: Decided, worth: float, seconds: float) -> Draft | None:
        """Return the best plan found near what was decided in counts; one of `worth` ends the search early."""
        self._seed += 1
        search = _NearCounts(self._instance, self._seed)
        search.read(counts, decided)
        search.search(worth, seconds)
        return None if search.best is None else draft_of(self._instance, search.best)


class _NearCounts(Search):
    """The search of `fast`, from decisions in counts that somebody else has made."""

    def read(self, counts: GridModel, decided: Decided) -> None:
        """Take over starts, sizes and the services' curves."""
        waiting = [iter(jobs.jobs) for jobs in counts.classes]
        row = {job.id: index for index, job in enumerate(self.instance.waiting)}
        for (job_class, size, start, usage), jobs in decided.jobs.items():
            for _ in range(jobs):
                job = row[next(waiting[job_class]).id]
                self.chosen[job] = self._option(job, size, usage, counts)
                self.begin[job] = start
        for service, allocation in enumerate(decided.held):
            for step, held in enumerate(allocation):
                for pool, count in held.items():
                    self.curves[service, self._pool(counts, pool), step] += count

    def search(self, worth: float, seconds: float) -> None:
        """Try to place all of it, again and again; where that fails, improve the best try."""
        began, best = time.perf_counter(), None
        while best is None or time.perf_counter() - began < FIT_SHARE * seconds:
            found = self._placed_as_counted(Budget(time.perf_counter(), 1000 * TRY_SECONDS, None), TRY_SECONDS)
            if best is None or found.reward > best.reward:
                best = found
                self._keep(found)
            if self.best is not None and self.best.value >= worth - ENOUGH * max(1.0, abs(worth)):
                return
        self._improve_until(best, began + seconds)

    def _improve_until(self, found: Positions, end: float) -> None:
        left = end - time.perf_counter()
        if left > 0:
            self._improve(Budget(time.perf_counter(), 1000 * left, None), left, found)

    def _option(self, job: int, size: int, usage: Usage, counts: GridModel) -> int:
        """Return the option of `job` that is meant."""
        i = self.instance
        pool = self._pool(counts, usage[0][0]) if len(usage) == 1 else SPANNING
        for option in range(i.jobs[job, FIRST_OPTION], i.jobs[job, LAST_OPTION]):
            if i.options[option, SIZE] == size and i.options[option, POOL] == pool:
                return option
        return NONE

    def _pool(self, counts: GridModel, pool: int) -> int:
        """Return what the compiled problem calls a pool of the model's partition: it numbers them on its own."""
        gpu = int((counts.partition.pool_of_gpu == pool).argmax())
        return int(self.instance.pool_of_gpu[gpu])
