"""Plans in counts: reading one from a solution, and cutting one off that has no positions."""

from __future__ import annotations

from collections import Counter

from ortools.sat.python import cp_model

from loadfactor.policies.full.decided import Decided
from loadfactor.policies.full.model import GridModel
from loadfactor.policies.full.positions import Conflict, Demanded, Outline


def outline_of(decided: Decided) -> Outline:
    """Return what was decided, without its pools."""
    jobs: Counter[tuple[int, int, int]] = Counter()
    for (job_class, size, start, _), count in decided.jobs.items():
        jobs[job_class, size, start] += count
    demanded = tuple(Demanded(*key, count) for key, count in jobs.items())
    return Outline(demanded, tuple(tuple(steps) for steps in decided.shortfall))


def whole(model: GridModel, outline: Outline) -> Conflict:
    """Return the conflict that names every part of an outline, for where no smaller one is known."""
    steps = {
        (service, step)
        for service, (variables, shortfall) in enumerate(zip(model.services, outline.shortfall, strict=True))
        for step, most in enumerate(shortfall)
        if most < variables.service.demand[step]
    }
    return Conflict(frozenset(range(len(outline.demanded))), frozenset(steps))


def cut_off(model: GridModel, outline: Outline, conflict: Conflict) -> None:
    """Forbid the conflicting parts of an outline together (a logic-based Benders cut; Hooker and Ottosson 2003).

    One of its jobs must not start there at that size, or one of its services must fall short by more at one of its
    steps. A plan that asks for the same and for more has no positions either, so that every plan lost is illegal.
    """
    ways_out: list[cp_model.IntVar] = []
    for index in sorted(conflict.demanded):
        demanded = outline.demanded[index]
        key = (demanded.job_class, demanded.size, demanded.start)
        same = [
            chosen
            for choice, chosen in zip(model.choices, model.chosen, strict=True)
            if (choice.job_class, choice.size, choice.start) == key
        ]
        fewer = model.model.new_bool_var("")
        model.model.add(cp_model.LinearExpr.sum(same) <= demanded.jobs - 1).only_enforce_if(fewer)
        ways_out.append(fewer)
    for service, step in sorted(conflict.shortfall):
        more = model.model.new_bool_var("")
        least = outline.shortfall[service][step] + 1
        model.model.add(model.services[service].shortfall[step] >= least).only_enforce_if(more)
        ways_out.append(more)
    model.model.add_bool_or(ways_out)
