"""The one function: a problem and a plan in, the story of every job and service out."""

from __future__ import annotations

from loadfactor.errors import Fault, InputError
from loadfactor.explain.findings import Explanation
from loadfactor.explain.holdings import Holdings
from loadfactor.explain.jobs import explain_job
from loadfactor.explain.services import explain_service
from loadfactor.explain.trials import Trials
from loadfactor.judge import judge
from loadfactor.model import Plan, Problem
from loadfactor.policies import DEFAULT_EFFORT, Effort

MOST_SEARCHED = 20
"""Where more jobs and services than these want changes, changes are searched only for one that is asked for."""


def explain(
    problem: Problem,
    plan: Plan,
    job_id: str | None = None,
    *,
    policy_name: str = "fast",
    effort: Effort = DEFAULT_EFFORT,
) -> Explanation:
    """Return why every job and service is where `plan` has it; with `job_id`, of that job or service alone.

    For what is left out or falls short, single changes of the problem are tried, each verified: by a legal plan with
    everything else in place, or by planning the changed problem with `policy_name` and `effort`. One explanation of a
    job takes about 50 such plans, of a service 30.

    Raises `InputError` if the plan is not legal for the problem, or nothing has the id `job_id`; `UnknownPolicyError`.
    """
    _refuse_illegal(problem, plan)
    jobs = [job for job in problem.jobs if job_id in {None, job.id}]
    services = [service for service in problem.services if job_id in {None, service.id}]
    if job_id is not None and not jobs and not services:
        raise _unknown_id(problem, job_id)
    holdings = Holdings(problem, plan)
    searched = job_id is not None or len(plan.unplaced) + len(services) <= MOST_SEARCHED

    def trials(of: str) -> Trials | None:
        return Trials(problem, plan, policy_name, effort, of) if searched else None

    return Explanation(
        problem.name,
        plan.policy,
        policy_name,
        tuple(explain_job(holdings, job, trials(job.id)) for job in jobs),
        tuple(explain_service(holdings, service, trials(service.id)) for service in services),
    )


def _refuse_illegal(problem: Problem, plan: Plan) -> None:
    verdict = judge(problem, plan)
    if not verdict.legal:
        first = verdict.violations[0]
        fact = f"breaks {first} (the first of {len(verdict.violations)} violations)"
        raise InputError([Fault("plan", fact, "explain a legal plan; `loadfactor check` lists every violation")])


def _unknown_id(problem: Problem, name: str) -> InputError:
    ids = [*(job.id for job in problem.jobs), *(service.id for service in problem.services)]
    listed = ", ".join(ids[:10]) + (f" and {len(ids) - 10} more" if len(ids) > 10 else "")
    return InputError.of("job", f"{name!r} is neither a job nor a service of {problem.name!r}", f"choose from {listed}")
