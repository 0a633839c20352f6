"""Which single changes would place an unplaced job: each is tried out, and only what worked is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil, floor

from loadfactor.explain.attempts import Attempts, Idea
from loadfactor.explain.cluster_changes import gpus_back, nodes_back, unavailable_among
from loadfactor.explain.findings import Change, ChangeKind, Opening
from loadfactor.explain.holdings import FREE, UNAVAILABLE, Mask, ramp
from loadfactor.explain.horizon_changes import later_end, open_end
from loadfactor.explain.telling import amount, count, in_steps, on_gpus
from loadfactor.explain.trials import replace_in, smallest
from loadfactor.model import GpuRange, Plan, Problem, Service, admissible_sizes
from loadfactor.model.limits import MAX_PRIORITY
from loadfactor.policies.draft import decayed_steps

PRIORITY_DIGITS = 100
"""A priority is searched in hundredths."""
MOST_SERVICES, MOST_SIZES = 4, 3
ORDER: tuple[ChangeKind, ...] = (
    *("plan_again", "fewer_gpus", "later_end", "open_end"),
    *("gpus_back", "max_swap", "max_gpus", "priority"),
)
Found = Change | str
"""A change that works, or the words for one that does not."""


def changes_for_job(attempts: Attempts) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """Return the changes that place the job, cheapest first, and the words for those that do not."""
    blocks = attempts.holdings.blocks
    if not blocks.suitable_gpus(attempts.job).any():
        return (), ("every change of size, time, priority or swap caps: no GPU meets its needs",)
    if not blocks.sizes(attempts.job):
        return sorted_out(list(_fewer_gpus(attempts)))
    again = list(_plan_again(attempts))
    if attempts.holdings.opening(attempts.job, attempts.holdings.free()) is not None:
        return sorted_out(again)
    if again:
        attempts = replace(attempts, only_on_top=True)
    searches = (_fewer_gpus, later_end, open_end, _unavailable, *(() if again else (_swap_caps, _priority)))
    found = [*again, *(item for search in searches for item in search(attempts))]
    lucky = attempts.trials.by_luck()
    return sorted_out(found if lucky is None else [*found, lucky])


def sorted_out(found: list[Found]) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """Return the changes in `found`, cheapest first, and the words for those that do not work."""
    changes = [item for item in found if isinstance(item, Change)]
    changes.sort(key=lambda item: (round(item.cost, 6), ORDER.index(item.kind)))
    return tuple(changes), tuple(item for item in found if isinstance(item, str))


def _plan_again(attempts: Attempts) -> Iterator[Found]:
    """Yield the change that changes nothing, where the plan leaves a place free or the policy finds one."""
    opening = attempts.holdings.opening(attempts.job, attempts.holdings.free())
    on_top = None if opening is None else attempts.trials.placed_on_top(attempts.problem, attempts.placement(opening))
    if on_top is not None:
        idea = Idea("plan_again", attempts.job.id, "add it to this plan, nothing changed")
        yield attempts.told(idea, attempts.problem, on_top, "constructed")
        return
    plan = attempts.planned(attempts.problem, may_be_legal_as_it_is=True)
    if plan is not None:
        words = f"plan again with {attempts.trials.policy_name!r}, nothing changed"
        yield attempts.told(Idea("plan_again", attempts.job.id, words), attempts.problem, plan, "planned")


def _fewer_gpus(attempts: Attempts) -> Iterator[Found]:
    """Yield the largest size below the range at which the job is placed."""
    job, least = attempts.job, attempts.job.gpus.min
    sizes = admissible_sizes(attempts.problem.cluster, GpuRange(min=1, max=least - 1)) if least > 1 else []
    tried = sizes[: -MOST_SIZES - 1 : -1]
    for size in tried:
        smaller = job.model_copy(update={"gpus": GpuRange(min=size, max=job.gpus.max)})
        opening = attempts.holdings.opening(smaller, attempts.holdings.free(), (size,))
        words = f"let it run on {count(size, 'GPU')} instead of {least}"
        idea = Idea("fewer_gpus", job.id, words, float(least), float(size))
        change = attempts.attempt(idea, attempts.with_job(smaller), opening)
        if change is not None:
            yield change
            return
    if tried:
        yield f"fewer GPUs (down to {tried[-1]})"


def _unavailable(attempts: Attempts) -> Iterator[Found]:
    """Yield the unavailable GPUs that would have to come back, and for which steps."""
    holdings = attempts.holdings
    if not (holdings.owner == UNAVAILABLE).any():
        return
    change = _some_gpus_back(attempts, holdings.opening(attempts.job, _free_or_unavailable(attempts)))
    change = change or next(_some_node_back(attempts), None)
    yield change or "unavailable GPUs back"


def _free_or_unavailable(attempts: Attempts) -> Mask:
    owner = attempts.holdings.owner
    mask: Mask = (owner == FREE) | (owner == UNAVAILABLE)
    return mask


def _some_gpus_back(attempts: Attempts, opening: Opening | None) -> Change | None:
    if opening is None:
        return None
    problem = attempts.problem
    start, end = opening.start, min(opening.end, problem.horizon.steps)
    gpus = unavailable_among(problem, opening.gpus, start, end)
    if not gpus:
        return None
    words = f"have {on_gpus(gpus)} back in {in_steps(problem.horizon, start, end)}"
    changed = gpus_back(problem, gpus, start, end)
    return attempts.attempt(Idea("gpus_back", on_gpus(gpus), words), changed, opening)


def _some_node_back(attempts: Attempts) -> Iterator[Change]:
    for name, changed in nodes_back(attempts.problem) if not attempts.only_on_top else ():
        change = attempts.attempt(Idea("gpus_back", name, f"have all GPUs of {name} back"), changed, None)
        if change is not None:
            yield change


def _swap_caps(attempts: Attempts) -> Iterator[Found]:
    """Yield, for each service that holds most for a ramp, the smallest higher swap cap that places the job."""
    holdings = attempts.holdings
    idle = {service.id: int(ramp(service, holdings.counts(service)).sum()) for service in attempts.problem.services}
    ranked = sorted(attempts.problem.services, key=lambda service: -idle[service.id])[:MOST_SERVICES]
    refuted = []
    for service in ranked:
        change = _higher_cap(attempts, service)
        if change is None:
            refuted.append(service.id)
        else:
            yield change
    if refuted:
        yield f"a higher swap cap of {' or '.join(refuted)}"


def _higher_cap(attempts: Attempts, service: Service) -> Change | None:
    def attempt(cap: int) -> Plan | None:
        return attempts.planned(with_service(attempts.problem, service, max_swap=cap))

    found = smallest(service.max_swap, max(service.demand), attempt)
    if found is None:
        return None
    words = f"raise max_swap of {service.id} from {service.max_swap} to {found[0]}"
    idea = Idea("max_swap", service.id, words, float(service.max_swap), float(found[0]))
    return attempts.told(idea, with_service(attempts.problem, service, max_swap=found[0]), found[1], "planned")


def with_service(problem: Problem, service: Service, **changes: object) -> Problem:
    """Return `problem` with these fields of `service` changed."""
    return problem.replace(services=replace_in(problem.services, service.model_copy(update=changes)))


def _priority(attempts: Attempts) -> Iterator[Found]:
    """Yield the smallest higher priority (in hundredths) with which the policy places the job."""
    job = attempts.job

    def raised(hundredths: int) -> Problem:
        return attempts.with_job(job.model_copy(update={"priority": hundredths / PRIORITY_DIGITS}))

    low = floor(job.priority * PRIORITY_DIGITS)
    high = ceil(min(MAX_PRIORITY, _decisive_priority(attempts)) * PRIORITY_DIGITS)
    found = smallest(low, high, lambda hundredths: attempts.planned(raised(hundredths), may_be_legal_as_it_is=True))
    if found is None:
        yield f"any priority up to {amount(high / PRIORITY_DIGITS)}"
        return
    needed, below = found[0] / PRIORITY_DIGITS, (found[0] - 1) / PRIORITY_DIGITS
    not_enough = f" ({amount(below)} does not do)" if below > job.priority else ""
    words = f"raise its priority from {amount(job.priority)} to {amount(needed)}{not_enough}"
    yield attempts.told(Idea("priority", job.id, words, job.priority, needed), raised(found[0]), found[1], "planned")


def _decisive_priority(attempts: Attempts) -> float:
    """Return a priority at which the job alone outweighs everything that a plan could lose for it."""
    problem, job = attempts.problem, attempts.job
    steps = problem.horizon.steps
    unmet = sum(service.priority * sum(service.demand) for service in problem.services)
    at_stake = sum(holder.reward for holder in attempts.holdings.holders) + problem.objective.realtime_penalty * unmet
    size = min(attempts.holdings.blocks.sizes(job), default=1)
    weight = size * decayed_steps(problem, max(0, steps - job.duration_at(size)), steps)
    return job.priority + 1.0 + at_stake / max(weight, 1e-9)
