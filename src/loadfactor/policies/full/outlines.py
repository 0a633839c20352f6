"""Plans in counts: reading one from a solution, and cutting one off that has no positions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ortools.sat.python import cp_model

from loadfactor.policies.full.decided import Decided
from loadfactor.policies.full.model import GridModel
from loadfactor.policies.full.positions import Conflict, Demanded, Outline
from loadfactor.policies.full.refuting import Demands, Part


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


def forbid(model: GridModel, demands: Demands) -> None:
    """Forbid demands together that have no nodes: one of the jobs must not run so long, or a service must hold less.

    Whoever runs at least as long on at least as many GPUs needs the same and more, whenever it starts, so that one cut
    covers many choices. That does not hold where a class has several parts, since one job could stand for two of them:
    of those only the very choice is forbidden.
    """
    ways_out: list[cp_model.LinearExprT] = []
    alone = Counter(part.job_class for part in demands.parts)
    for part in demands.parts:
        meant = list(_meant(model, part, exactly=alone[part.job_class] > 1))
        if len(model.classes[part.job_class].jobs) == 1:
            ways_out.append(1 - cp_model.LinearExpr.sum(meant))
        else:
            fewer = model.model.new_bool_var("")
            model.model.add(cp_model.LinearExpr.sum(meant) <= part.jobs - 1).only_enforce_if(fewer)
            ways_out.append(fewer)
    for (service, step), least in sorted(demands.needs.items()):
        variables = model.services[service]
        more = model.model.new_bool_var("")
        allowed = variables.service.demand[step] - least + 1
        model.model.add(variables.shortfall[step] >= allowed).only_enforce_if(more)
        ways_out.append(more)
    model.model.add(cp_model.LinearExpr.sum(ways_out) >= 1)


def _meant(model: GridModel, part: Part, *, exactly: bool) -> Iterator[cp_model.IntVar]:
    """Yield the choices that need what `part` needs, or only the one that it was taken from."""
    for choice, chosen in zip(model.choices, model.chosen, strict=True):
        if choice.job_class == part.job_class:
            same = choice.size == part.size and choice.start == part.chosen_start
            covers = choice.size >= part.size and choice.start <= part.start and choice.end >= part.end
            if same or (covers and not exactly):
                yield chosen
