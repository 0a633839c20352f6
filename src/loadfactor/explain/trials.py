"""Trying a change out: plan the changed problem, or build a plan for it, and let the judge decide whether it counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from loadfactor.allocator import decide
from loadfactor.errors import InputError
from loadfactor.explain.findings import Change, ChangeKind, Proof
from loadfactor.explain.holdings import reward_of
from loadfactor.explain.telling import amount, names
from loadfactor.judge import judge
from loadfactor.model import Job, Placement, Plan, Problem, Service, ServiceAllocation
from loadfactor.policies import Effort

Works = Callable[[Plan], bool]
Item = TypeVar("Item", Job, Service)


@dataclass(frozen=True)
class Trials:
    """The problem and plan to be explained, and the policy that plans changed problems."""

    problem: Problem
    plan: Plan
    policy_name: str
    effort: Effort
    beneficiary: str
    """The id of the job or service for which changes are looked for."""
    lucky: list[Plan] = field(default_factory=list)

    def planned(self, changed: Problem, works: Works, may_be_legal_as_it_is: bool = False) -> Plan | None:
        """Return the policy's plan for `changed` if it works, judged legal, else None.

        A plan that is legal for the unchanged problem too owes nothing to the change: it is kept in `lucky` instead.
        Not so (`may_be_legal_as_it_is`) for a change of priority, which changes what is worth doing and not what is
        legal, and for the unchanged problem itself.
        """
        decision = decide(changed, self.policy_name, self.effort)
        if decision.replaced is not None or not works(decision.plan):
            return None
        if not may_be_legal_as_it_is:
            verdict = judge(self.problem, decision.plan)
            if verdict.legal:
                self.lucky.append(decision.plan.model_copy(update={"metrics": verdict.metrics}))
                return None
        return decision.plan

    def by_luck(self) -> Change | None:
        """Return the cheapest plan for the unchanged problem that was met while changes were tried."""
        words = f"plan again with {self.policy_name!r} for longer, nothing changed"
        found = [
            self.change("plan_again", self.beneficiary, (None, None), words, self.problem, plan, "planned")
            for plan in self.lucky
        ]
        return min(found, key=lambda change: change.cost, default=None)

    def placed_on_top(
        self, changed: Problem, placement: Placement, services: tuple[ServiceAllocation, ...] | None = None
    ) -> Plan | None:
        """Return the plan with `placement` added and all else left where it is, if it is legal for `changed`."""
        unplaced = tuple(entry for entry in self.plan.unplaced if entry.id != placement.id)
        update: dict[str, Any] = {
            "jobs": (*self.plan.jobs, placement),
            "unplaced": unplaced,
            "bound": None,
            "optimal": None,
        }
        if services is not None:
            update["services"] = services
        plan = self.plan.model_copy(update=update)
        verdict = judge(changed, plan)
        return plan.model_copy(update={"metrics": verdict.metrics}) if verdict.legal else None

    def change(
        self,
        kind: ChangeKind,
        subject: str,
        figures: tuple[float | None, float | None],
        what: str,
        changed: Problem,
        plan: Plan,
        proof: Proof,
    ) -> Change:
        """Return the verified change with its cost: what everyone but `subject` loses against the plan explained."""
        others_before, own_before = self._values_in(self.problem, self.plan)
        others_after, own_after = self._values_in(changed, plan)
        cost, gain = others_before - others_after, own_after - own_before
        displaced = _displaced(self.plan, plan, self.beneficiary)
        delayed = _delayed(self.plan, plan, self.beneficiary)
        cost = 0.0 if abs(cost) < 1e-9 * max(1.0, abs(gain)) else cost
        message = f"{what}; {_cost_text(cost, displaced, delayed)}"
        return Change(kind, subject, *figures, cost, gain, displaced, delayed, proof, message, changed, plan)

    def _values_in(self, changed: Problem, plan: Plan) -> tuple[float, float]:
        """Return the value of the others and of the beneficiary at the original priorities and demand."""
        others = own = 0.0
        jobs: dict[str, Job] = {job.id: job for job in self.problem.jobs}
        for placed in plan.jobs:
            reward = reward_of(changed, jobs[placed.id], placed.start, placed.end, len(placed.gpus))
            own, others = (own + reward, others) if placed.id == self.beneficiary else (own, others + reward)
        held = {entry.id: entry.gpus for entry in plan.services}
        penalty = self.problem.objective.realtime_penalty
        for service in self.problem.services:
            pairs = zip(service.demand, held[service.id], strict=False)
            lost = penalty * service.priority * sum(max(0, demand - len(gpus)) for demand, gpus in pairs)
            own, others = (own - lost, others) if service.id == self.beneficiary else (own, others - lost)
        return others, own


def replace_in(items: tuple[Item, ...], changed: Item) -> tuple[Item, ...]:
    """Return `items` with the one of the same id replaced."""
    return tuple(changed if item.id == changed.id else item for item in items)


def changed_or_none(problem: Problem, **changes: Any) -> Problem | None:
    """Return the problem with `changes`, or None where the model refuses them (a limit, a contradiction)."""
    try:
        return problem.replace(**changes)
    except InputError:
        return None


def smallest(low: int, high: int, attempt: Callable[[int], Plan | None]) -> tuple[int, Plan] | None:
    """Return the smallest number in (low, high] that bisection finds to work, with its plan, or None if `high` fails.

    The number returned works and the one below it does not (or is `low`): both were tried. A heuristic policy may
    work at a smaller one that bisection never tried.
    """
    plan = attempt(high) if high > low else None
    if plan is None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        found = attempt(middle)
        if found is None:
            low = middle
        else:
            high, plan = middle, found
    return high, plan


def _displaced(before: Plan, after: Plan, beneficiary: str) -> tuple[str, ...]:
    still = {placed.id for placed in after.jobs}
    return tuple(placed.id for placed in before.jobs if placed.id not in still and placed.id != beneficiary)


def _delayed(before: Plan, after: Plan, beneficiary: str) -> tuple[str, ...]:
    starts = {placed.id: placed.start for placed in before.jobs}
    return tuple(
        placed.id
        for placed in after.jobs
        if placed.id in starts and placed.start > starts[placed.id] and placed.id != beneficiary
    )


def _cost_text(cost: float, displaced: tuple[str, ...], delayed: tuple[str, ...]) -> str:
    amounts = f"costs the others {amount(cost)}" if cost > 0 else f"the others gain {amount(-cost)}"
    pieces = ["costs nobody anything" if cost == 0 else amounts]
    if displaced:
        pieces.append(f"leaves out {names(displaced)}")
    if delayed:
        pieces.append(f"delays {names(delayed)}")
    return ", ".join(pieces)
