"""Run a policy, judge its plan, and never hand on an illegal one."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from loadfactor.errors import IllegalPlanError
from loadfactor.judge import Verdict, judge
from loadfactor.model import Plan, Problem
from loadfactor.policies import DEFAULT_EFFORT, Effort, policy

SAFE_POLICY = "fifo"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Decision:
    """A legal plan, the judge's verdict on it, and what was wrong with the plan that it replaces, if any."""

    plan: Plan
    verdict: Verdict
    replaced: Verdict | None = None


def decide(problem: Problem, policy_name: str = "fast", effort: Effort = DEFAULT_EFFORT) -> Decision:
    """Return the judged plan of the policy; where the judge refuses it, the safe policy's plan and the refusal.

    Raises `UnknownPolicyError`, and `IllegalPlanError` where even the safe policy's plan is illegal.
    """
    plan = policy(policy_name).plan(problem, effort)
    verdict = judge(problem, plan)
    if not verdict.violations:
        return Decision(_with_judged_metrics(plan, verdict), verdict)
    _log.error("the plan of %r for %r is illegal: %s", policy_name, problem.name, verdict.violations[0].message)
    safe = policy(SAFE_POLICY).plan(problem, effort)
    safe_verdict = judge(problem, safe)
    if safe_verdict.violations:
        raise IllegalPlanError(
            f"{SAFE_POLICY!r} broke a rule on {problem.name!r}: {safe_verdict.violations[0].message}"
        )
    return Decision(_with_judged_metrics(safe, safe_verdict), safe_verdict, replaced=verdict)


def allocate(
    problem: Problem,
    policy: str = "fast",
    *,
    budget_ms: float = DEFAULT_EFFORT.budget_ms,
    time_limit: float = DEFAULT_EFFORT.time_limit_seconds,
    iterations: int | None = None,
    seed: int = 0,
) -> Plan:
    """Return a legal plan for `problem`, its metrics computed by the judge.

    `budget_ms` limits `fast`, `time_limit` (seconds) limits `full`; with `iterations` the result of `fast` depends on
    the seed alone. Raises `UnknownPolicyError` for a policy that nobody registered.
    """
    effort = Effort(budget_ms=budget_ms, iterations=iterations, time_limit_seconds=time_limit, seed=seed)
    return decide(problem, policy, effort).plan


def _with_judged_metrics(plan: Plan, verdict: Verdict) -> Plan:
    return plan.model_copy(update={"metrics": verdict.metrics})
