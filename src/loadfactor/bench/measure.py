"""Run contestants on a case: time every decision, have the judge recompute every plan, compare with the best bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from loadfactor.bench.events import EVENTS, answer_events, event_row
from loadfactor.bench.results import Row
from loadfactor.bench.timing import Timing, timed
from loadfactor.judge import Verdict, judge
from loadfactor.model import Plan, Problem
from loadfactor.policies import DEFAULT_EFFORT, Effort, Policy, relative_gap
from loadfactor.policies.prices import price_capacity

TOLERANCE = 1e-6  # a policy may sum in another order, and an exact solver works on scaled integers
BASELINE = "fifo"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Contestant:
    """A policy at an effort; `effort_text` is how the tables name it. Repeat i runs with seed i."""

    policy: Policy
    effort_text: str = ""
    effort: Effort = field(default=DEFAULT_EFFORT)
    repeats: int = 1
    warm_ups: int = 1
    within_seconds: float = math.inf

    def decide(self, problem: Problem, seed: int) -> Plan:
        """Return the plan of this contestant with this seed."""
        return self.policy.plan(problem, replace(self.effort, seed=seed))


@dataclass(frozen=True)
class Case:
    """A named problem, made only when it is run, and who competes on it.

    `price_iterations` steps are spent on a bound by prices; `events` of each kind are answered incrementally.
    """

    name: str
    build: Callable[[], Problem]
    contestants: tuple[Contestant, ...]
    price_iterations: int = 0
    events: int = 0


@dataclass(frozen=True)
class Attempt:
    """The judged plans of one contestant."""

    policy: str
    effort_text: str
    timing: Timing
    plans: Sequence[Plan]
    verdicts: Sequence[Verdict]

    @property
    def bound(self) -> float | None:
        """Return the least bound that any of its plans proves."""
        return min((plan.bound for plan in self.plans if plan.bound is not None), default=None)

    @property
    def legal_values(self) -> list[float]:
        """Return the judge's values of the legal plans."""
        return [verdict.metrics.value for verdict in self.verdicts if verdict.legal]

    def best(self) -> Plan | None:
        """Return the legal plan of the highest value."""
        legal = [index for index, verdict in enumerate(self.verdicts) if verdict.legal]
        best = max(legal, key=lambda index: self.verdicts[index].metrics.value, default=None)
        return None if best is None else self.plans[best]

    def median(self) -> int:
        """Return the position of the plan with the median value (the lower one of two)."""
        order = sorted(range(len(self.plans)), key=lambda index: self.verdicts[index].metrics.value)
        return order[(len(order) - 1) // 2]

    def broken_rule(self) -> str | None:
        """Return the first violation of any of the plans."""
        return next((f"ILLEGAL {verdict.violations[0]}" for verdict in self.verdicts if not verdict.legal), None)


def run_case(case: Case, say: Say) -> tuple[Row, ...]:
    """Return one row for each contestant of the case; `say` is told who is running."""
    problem = case.build()
    attempts = []
    for contestant in case.contestants:
        say(f"{case.name}: {contestant.policy.name} {contestant.effort_text}".rstrip())
        attempts.append(attempt(contestant, problem))
    priced = None
    if case.price_iterations:
        say(f"{case.name}: bound by prices")
        best = max((value for tried in attempts for value in tried.legal_values), default=0.0)
        priced = price_capacity(problem, best, case.price_iterations).bound
    return (*rows_of(case.name, attempts, priced), *_event_rows(case, problem, attempts, say))


def _event_rows(case: Case, problem: Problem, attempts: Sequence[Attempt], say: Say) -> Iterator[Row]:
    """Yield one row for each kind of event, each from the best plan of the last `fast`."""
    plans = [plan for tried in attempts if tried.policy == "fast" and (plan := tried.best()) is not None]
    for kind in EVENTS if case.events and plans else ():
        say(f"{case.name}: {kind}")
        yield event_row(case.name, kind, answer_events(problem, plans[-1], kind, case.events))


def attempt(contestant: Contestant, problem: Problem) -> Attempt:
    """Run and judge one contestant."""
    timing, plans = timed(
        lambda seed: contestant.decide(problem, seed),
        contestant.repeats,
        contestant.warm_ups,
        contestant.within_seconds,
    )
    verdicts = [judge(problem, plan) for plan in plans]
    return Attempt(contestant.policy.name, contestant.effort_text, timing, plans, verdicts)


def rows_of(case: str, attempts: Sequence[Attempt], priced: float | None = None) -> tuple[Row, ...]:
    """Return the rows of a case, each measured against the best bound proven by anybody on it, or by prices."""
    bounds = [bound for bound in (priced, *(tried.bound for tried in attempts)) if bound is not None]
    bound = min(bounds, default=None)
    best = max((value for tried in attempts for value in tried.legal_values), default=-math.inf)
    baseline = next((tried for tried in attempts if tried.policy == BASELINE), None)
    return tuple(_row(case, tried, bound, best, baseline) for tried in attempts)


def _row(case: str, tried: Attempt, bound: float | None, best: float, baseline: Attempt | None) -> Row:
    index = tried.median()
    plan, metrics = tried.plans[index], tried.verdicts[index].metrics
    values = [verdict.metrics.value for verdict in tried.verdicts]
    return Row(
        case=case,
        policy=tried.policy,
        effort=tried.effort_text,
        metrics=metrics,
        gain=_gain(metrics.value, baseline),
        own_bound=tried.bound,
        bound=bound,
        gap=None if bound is None else relative_gap(metrics.value, bound),
        worst_gap=None if bound is None else relative_gap(min(values), bound),
        optimal=plan.optimal,
        timing=tried.timing,
        fault=tried.broken_rule() or _wrong_bound(tried, best),
    )


def _gain(value: float, baseline: Attempt | None) -> float | None:
    if baseline is None:
        return None
    before = baseline.verdicts[0].metrics.value
    return value / before - 1 if before > 0 else None


def _wrong_bound(tried: Attempt, best: float) -> str | None:
    """Return what is wrong with a bound that a legal plan, of whichever contestant, exceeds."""
    bound = tried.bound
    if bound is None or best <= bound + TOLERANCE * max(1.0, abs(bound)):
        return None
    return f"WRONG BOUND {bound:.6f} below the legal value {best:.6f}"
