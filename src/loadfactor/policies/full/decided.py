"""A plan in counts: who starts when, at which size, in which pools, and how many GPUs every service holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadfactor.policies.draft import Draft
from loadfactor.policies.full.choices import Choice, JobClass, Usage
from loadfactor.policies.full.model import GridModel
from loadfactor.policies.full.partition import Partition

Key = tuple[int, int, int, Usage]
"""(job class, size, start, usage) of a choice."""


def key_of(choice: Choice) -> Key:
    """Return what tells a choice from the others of its model."""
    return choice.job_class, choice.size, choice.start, choice.usage


@dataclass(frozen=True)
class Decided:
    """Decisions at the resolution of a partition, whatever model they come from."""

    jobs: Mapping[Key, int]
    """How many jobs make a choice; choices that none makes are left out."""
    held: Sequence[Sequence[Mapping[int, int]]]
    """GPUs of every pool, for every service and step."""
    shortfall: Sequence[Sequence[int]]
    """What every service is allowed to fall short by at every step; a cut can make it more than the held leave."""

    @classmethod
    def by_solver(cls, model: GridModel, values: Sequence[int]) -> Decided:
        """Return what a solution of `model` decides."""
        chosen = zip(model.choices, model.chosen, strict=True)
        jobs = {key_of(choice): values[count.index] for choice, count in chosen if values[count.index]}
        held = [
            [{pool: values[count.index] for pool, count in step.items()} for step in variables.held]
            for variables in model.services
        ]
        shortfall = [[values[missing.index] for missing in variables.shortfall] for variables in model.services]
        return cls(jobs, held, shortfall)

    @classmethod
    def by_draft(cls, draft: Draft, partition: Partition, classes: Sequence[JobClass]) -> Decided:
        """Return what a plan decides, as far as a model of `partition` knows."""
        pool_of_gpu = partition.pool_of_gpu.tolist()
        jobs: Counter[Key] = Counter()
        for index, members in enumerate(classes):
            for job in members.jobs:
                if job.id in draft.placed:
                    start, gpus = draft.placed[job.id]
                    usage = Counter(pool_of_gpu[gpu] for gpu in gpus)
                    jobs[index, len(gpus), start, tuple(sorted(usage.items()))] += 1
        held = [[Counter(pool_of_gpu[gpu] for gpu in gpus) for gpus in allocation] for allocation in draft.held]
        shortfall = [
            [max(0, demand - len(gpus)) for demand, gpus in zip(service.demand, allocation, strict=True)]
            for service, allocation in zip(draft.problem.services, draft.held, strict=True)
        ]
        return cls(jobs, held, shortfall)


def give_hint(model: GridModel, decided: Decided) -> None:
    """Tell the solver where to look first."""
    for choice, chosen in zip(model.choices, model.chosen, strict=True):
        model.model.add_hint(chosen, decided.jobs.get(key_of(choice), 0))
    elsewhere = model.rest.held.tolist()
    for variables, allocation, outside in zip(model.services, decided.held, elsewhere, strict=True):
        for step, counts in enumerate(allocation):
            hinted = {pool: counts.get(pool, 0) for pool in variables.held[step]}
            for pool, count in hinted.items():
                model.model.add_hint(variables.held[step][pool], count)
            missing = variables.service.demand[step] - outside[step] - sum(hinted.values())
            model.model.add_hint(variables.shortfall[step], max(0, missing))
