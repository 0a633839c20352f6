"""The story of one service: in which steps it falls short, by how much, why, and what would mend it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from loadfactor.explain.blockers import obstacles_told
from loadfactor.explain.findings import BEFORE_THE_HORIZON, Blocker, Cause, Rule, ServiceExplanation, Shortfall
from loadfactor.explain.holdings import FREE, UNAVAILABLE, Holdings, Mask
from loadfactor.explain.service_changes import changes_for_service
from loadfactor.explain.telling import amount, at_step, count, in_steps
from loadfactor.explain.trials import Trials
from loadfactor.model import Service

RULES: dict[Cause, Rule | None] = {
    "max_gpus": "R2",
    "no_gpus": "R1",
    "swap_cap": "R4",
    "left_free": None,
    "chosen": "R1",
}


def explain_service(holdings: Holdings, service: Service, trials: Trials | None) -> ServiceExplanation:
    """Return where `service` falls short and why; with `trials`, also the changes that would mend it."""
    shortfalls = tuple(_Service(holdings, service).shortfalls())
    missing = sum(item.gpu_steps for item in shortfalls)
    penalty = sum(item.penalty for item in shortfalls)
    changes, refuted = changes_for_service(holdings, service, trials) if trials and missing else ((), ())
    return ServiceExplanation(
        service.id,
        sum(service.demand),
        missing,
        penalty,
        _summary(service, shortfalls, missing, penalty),
        shortfalls,
        changes,
        refuted,
        trials is not None and missing > 0,
    )


def _summary(service: Service, shortfalls: tuple[Shortfall, ...], missing: int, penalty: float) -> str:
    demand = count(sum(service.demand), "GPU-step")
    if not missing:
        return f"meets its whole demand of {demand}"
    steps = sum(item.until_step - item.from_step for item in shortfalls)
    short = f"falls short by {missing:,} of {demand} in {count(steps, 'step')}"
    return f"{short}, which costs {amount(penalty)} of value"


class _Service:
    """A service beside the grid, step by step."""

    def __init__(self, holdings: Holdings, service: Service) -> None:
        self.holdings = holdings
        self.service = service
        self.horizon = holdings.problem.horizon
        self.gpus = holdings.held[service.id]
        self.held = holdings.counts(service)
        self.missing = np.maximum(0, np.array(service.demand) - self.held)
        self.suitable = holdings.blocks.suitable_gpus(service)
        running = [index for index, holder in enumerate(holdings.holders) if holder.kind == "running"]
        fixed: Mask = np.isin(holdings.owner, [UNAVAILABLE, *running])
        self.obtainable = (self.suitable[:, None] & ~fixed).sum(axis=0)
        self.free = (self.suitable[:, None] & (holdings.owner == FREE)).sum(axis=0)

    def shortfalls(self) -> Iterator[Shortfall]:
        """Yield one shortfall for each run of steps with one cause."""
        causes = [(int(step), self._cause(int(step))) for step in np.flatnonzero(self.missing)]
        runs = groupby(enumerate(causes), key=lambda item: (item[1][0] - item[0], item[1][1]))
        for (_, cause), run in runs:
            steps = [step for _, (step, _) in run]
            yield self._shortfall(cause, steps[0], steps[-1] + 1)

    def _cause(self, step: int) -> Cause:
        if self.service.max_gpus is not None and self.held[step] >= self.service.max_gpus:
            return "max_gpus"
        if self.obtainable[step] <= self.held[step]:
            return "no_gpus"
        if self._swapped(step) >= self.service.max_swap and (step or self.service.held is not None):
            return "swap_cap"
        return "left_free" if self.free[step] else "chosen"

    def _swapped(self, step: int) -> int:
        before = self.gpus[step - 1] if step else self.service.held or ()
        return len(set(before) ^ set(self.gpus[step]))

    def _grow_from(self, step: int) -> int:
        """Return the step at which growing by the cap every step would have had to begin to meet demand at `step`."""
        demand, cap = self.service.demand[step], self.service.max_swap
        for earlier in range(step - 1, -1, -1):
            if self.held[earlier] >= demand - cap * (step - earlier):
                return earlier + 1
        if self.service.held is None:
            return 0
        return 0 if len(self.service.held) >= demand - cap * (step + 1) else BEFORE_THE_HORIZON

    def _shortfall(self, cause: Cause, start: int, end: int) -> Shortfall:
        missing = int(self.missing[start:end].sum())
        largest = int(self.missing[start:end].max())
        objective = self.holdings.problem.objective
        penalty = objective.realtime_penalty * self.service.priority * missing
        worst = start + int(np.argmax(self.missing[start:end]))
        grow_from = self._grow_from(worst) if cause == "swap_cap" else None
        since = start if grow_from is None else max(0, min(grow_from, start))
        blockers = self._blockers(since, end) if cause != "max_gpus" else ()
        span = in_steps(self.horizon, start, end)
        head = (
            f"{span}: short by {missing:,} GPU-steps, {count(largest, 'GPU')} at worst, at {amount(penalty)} of value"
        )
        why = self._why(cause, worst, largest, grow_from, penalty, blockers)
        return Shortfall(
            start, end, missing, largest, penalty, cause, RULES[cause], grow_from, blockers, f"{head}. {why}"
        )

    def _blockers(self, start: int, end: int) -> tuple[Blocker, ...]:
        where: Mask = np.zeros_like(self.holdings.owner, dtype=np.bool_)
        where[self.suitable, start:end] = True
        return obstacles_told(self.holdings, where, self.service.id)

    def _why(
        self,
        cause: Cause,
        worst: int,
        largest: int,
        grow_from: int | None,
        penalty: float,
        blockers: tuple[Blocker, ...],
    ) -> str:
        demand = self.service.demand[worst]
        if cause == "max_gpus":
            return f"max_gpus allows {self.service.max_gpus}, demand is up to {demand} (R2)"
        if cause == "no_gpus":
            left = count(int(self.obtainable[worst]), "suitable GPU")
            return f"only {left} neither unavailable nor held by running jobs (R1, R2)"
        if cause == "swap_cap":
            return self._why_swap_cap(worst, grow_from)
        if cause == "left_free":
            free = count(int(self.free[worst]), "suitable GPU")
            return f"{free} left free at {at_step(self.horizon, worst)} and not given to it"
        return self._why_chosen(largest, penalty, blockers)

    def _why_swap_cap(self, worst: int, grow_from: int | None) -> str:
        cap, demand = self.service.max_swap, self.service.demand[worst]
        if grow_from == BEFORE_THE_HORIZON:
            held = len(self.service.held or ())
            return f"{count(held, 'GPU')} held before step 0 and a swap cap of {cap} reach no {demand} by then (R4)"
        begin = at_step(self.horizon, grow_from or 0)
        return (
            f"its swap cap is {cap} (R4): to hold {demand} at {at_step(self.horizon, worst)} "
            f"it had to begin to grow at {begin}"
        )

    def _why_chosen(self, largest: int, penalty: float, blockers: tuple[Blocker, ...]) -> str:
        rewards = {holder.id: holder.reward for holder in self.holdings.holders if holder.kind == "job"}
        jobs = [item for item in blockers if item.holder in rewards and len(item.gpus) >= largest]
        if not jobs:
            return "its GPUs are held by others"
        cheapest = min(jobs, key=lambda item: rewards[item.holder or ""])
        worth = rewards[cheapest.holder or ""]
        verdict = "so the plan serves the job" if worth >= penalty else "which is less: the plan can be improved"
        return (
            f"the cheapest single job on enough of these GPUs is {cheapest.holder} (priority "
            f"{amount(cheapest.priority or 0)}), worth {amount(worth)}, {verdict}"
        )
