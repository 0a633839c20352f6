"""Which single changes would mend the whole shortfall of a service; each is planned anew before it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil, floor

from loadfactor.explain.cluster_changes import nodes_back
from loadfactor.explain.findings import Change, ChangeKind
from loadfactor.explain.holdings import UNAVAILABLE, Holdings
from loadfactor.explain.job_changes import PRIORITY_DIGITS, Found, sorted_out, with_service
from loadfactor.explain.telling import amount
from loadfactor.explain.trials import Trials, smallest
from loadfactor.model import Plan, Problem, Service
from loadfactor.model.limits import MAX_PRIORITY


def changes_for_service(
    holdings: Holdings, service: Service, trials: Trials
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """Return the changes after which `service` meets its whole demand, cheapest first, and those that do not do."""
    mender = _Mender(holdings, service, trials)
    again = mender.planned(trials.problem, may_be_legal_as_it_is=True)
    if again is not None:
        words = f"plan again with {trials.policy_name!r}, nothing changed"
        return (mender.told("plan_again", (None, None), words, trials.problem, again),), ()
    found = [*mender.max_gpus(), *mender.swap_cap(), *mender.unavailable(), *mender.priority()]
    lucky = trials.by_luck()
    return sorted_out(found if lucky is None else [*found, lucky])


class _Mender:
    def __init__(self, holdings: Holdings, service: Service, trials: Trials) -> None:
        self.holdings = holdings
        self.service = service
        self.trials = trials
        self.peak = max(service.demand)

    def planned(self, changed: Problem, may_be_legal_as_it_is: bool = False) -> Plan | None:
        """Return the policy's plan for `changed` if the service meets its whole demand in it, thanks to the change."""
        return self.trials.planned(changed, self._is_met, may_be_legal_as_it_is)

    def told(
        self, kind: ChangeKind, figures: tuple[float | None, float | None], words: str, changed: Problem, plan: Plan
    ) -> Change:
        """Return the change, verified by planning anew."""
        words = f"{words}: it meets its whole demand"
        return self.trials.change(kind, self.service.id, figures, words, changed, plan, "planned")

    def max_gpus(self) -> Iterator[Found]:
        """Yield the smallest max_gpus that mends the shortfall."""
        most = self.service.max_gpus
        if most is not None and most < self.peak:
            yield self._smallest("max_gpus", most, self.peak, lambda value: self._with(max_gpus=value))

    def swap_cap(self) -> Iterator[Found]:
        """Yield the smallest max_swap that mends the shortfall."""
        cap = self.service.max_swap
        if cap < self.peak:
            yield self._smallest("max_swap", cap, self.peak, lambda value: self._with(max_swap=value))

    def unavailable(self) -> Iterator[Found]:
        """Yield the first node that mends the shortfall by coming back from unavailable."""
        if not (self.holdings.owner == UNAVAILABLE).any():
            return
        for name, changed in nodes_back(self.trials.problem):
            plan = self.planned(changed)
            if plan is not None:
                yield self.told("gpus_back", (None, None), f"have all GPUs of {name} back", changed, plan)
                return
        yield "the GPUs of one node back"

    def priority(self) -> Iterator[Found]:
        """Yield the smallest higher priority, in hundredths, that mends the shortfall."""
        service, penalty = self.service, self.trials.problem.objective.realtime_penalty
        at_stake = sum(holder.reward for holder in self.holdings.holders)
        others = (other for other in self.trials.problem.services if other.id != service.id)
        at_stake += penalty * sum(other.priority * sum(other.demand) for other in others)
        if penalty == 0:
            yield "any priority (realtime_penalty is 0)"
            return
        low = floor(service.priority * PRIORITY_DIGITS)
        high = ceil(min(MAX_PRIORITY, service.priority + 1.0 + at_stake / penalty) * PRIORITY_DIGITS)
        yield self._smallest("priority", low, high, lambda value: self._with(priority=value / 100), PRIORITY_DIGITS)

    def _smallest(
        self, field: ChangeKind, low: int, high: int, changed: Callable[[int], Problem], digits: int = 1
    ) -> Found:
        is_priority = field == "priority"
        found = smallest(low, high, lambda value: self.planned(changed(value), is_priority))
        if found is None:
            return f"{field} up to {amount(high / digits)}"
        value, plan = found
        before, after = float(getattr(self.service, field)), value / digits
        words = f"raise {field} of {self.service.id} from {amount(before)} to {amount(after)}"
        return self.told(field, (before, after), words, changed(value), plan)

    def _with(self, **changes: object) -> Problem:
        return with_service(self.trials.problem, self.service, **changes)

    def _is_met(self, plan: Plan) -> bool:
        held = next(entry.gpus for entry in plan.services if entry.id == self.service.id)
        return all(len(gpus) >= demand for gpus, demand in zip(held, self.service.demand, strict=True))
