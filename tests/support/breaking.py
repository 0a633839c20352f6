"""Legal plans broken in exactly one way: for every rule, every variety of breaking it that a plan allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from loadfactor.model import Placement, Plan, Problem, ServiceAllocation, Unplaced
from tests.support.bench import Bench, largest_swap, own_range
from tests.support.cells import UNAVAILABLE, Cell, cells_of, is_legal_block, legal_blocks, meets_needs, placements


@dataclass(frozen=True)
class Broken:
    """A plan with one planted breach, and how it was planted."""

    rule: str
    variety: str
    plan: Plan


def break_plan(problem: Problem, plan: Plan, rule: str, rng: Random) -> Iterator[Broken]:
    """Yield `plan` broken in every variety of `rule` that it allows; `plan` must be legal."""
    bench = Bench(problem, plan, rng)
    for variety, plant in VARIETIES[rule].items():
        broken = plant(bench)
        if broken is not None:
            yield Broken(rule, variety, broken)


# R1


def _job_on(bench: Bench, wanted: Callable[[set[str]], bool]) -> Plan | None:
    candidates = (placement for job in bench.waiting for placement in placements(bench.problem, job))
    return bench.pick(candidates, lambda placement: wanted(bench.others(placement)))


def _job_on_job(bench: Bench) -> Plan | None:
    return _job_on(bench, lambda others: bool(others & bench.placed.keys()))


def _job_on_service(bench: Bench) -> Plan | None:
    return _job_on(bench, lambda others: any(entry.id in others for entry in bench.plan.services))


def _job_on_unavailable(bench: Bench) -> Plan | None:
    return _job_on(bench, lambda others: UNAVAILABLE in others)


def _service_on_holder(bench: Bench) -> Plan | None:
    return bench.extra_gpu(lambda _, gpu, who: gpu < len(bench.nodes) and bool(who - {None, UNAVAILABLE}))


def _service_on_unavailable(bench: Bench) -> Plan | None:
    return bench.extra_gpu(lambda _, gpu, who: gpu < len(bench.nodes) and UNAVAILABLE in who)


def _job_names_gpu_twice(bench: Bench) -> Plan | None:
    candidates = [placement for placement in bench.plan.jobs if placement.start < bench.steps]
    if not candidates:
        return None
    placement = bench.rng.choice(candidates)
    return bench.put(placement.model_copy(update={"gpus": (*placement.gpus, placement.gpus[-1])}))


def _service_names_gpu_twice(bench: Bench) -> Plan | None:
    for service, gpus in bench.entries():
        for step, held in enumerate(gpus):
            if held:
                return bench.put_service(service, [*gpus[:step], (*held, held[0]), *gpus[step + 1 :]])
    return None


# R2


def _too_large(bench: Bench) -> Plan | None:
    return bench.pick(bench.candidates(lambda job: range(job.gpus.max + 1, len(bench.nodes) + 1)), bench.free)


def _too_small(bench: Bench) -> Plan | None:
    return bench.pick(bench.candidates(lambda job: range(1, job.gpus.min)), bench.free)


def _ends(bench: Bench, change: int) -> Plan | None:
    last = bench.steps if bench.problem.horizon.finish_inside else 10**6
    ids = {job.id for job in bench.waiting}
    changed = (p.model_copy(update={"end": p.end + change}) for p in bench.plan.jobs if p.id in ids)
    return bench.pick(changed, lambda p: 1 <= p.end <= last and p.start <= p.end and bench.free(p))


def _too_long(bench: Bench) -> Plan | None:
    return _ends(bench, 1)


def _too_short(bench: Bench) -> Plan | None:
    return _ends(bench, -1)


def _before_submit(bench: Bench) -> Plan | None:
    earlier = (
        placement
        for job in bench.waiting
        for block in legal_blocks(bench.problem, job)
        for placement in bench.at_all_starts(job.model_copy(update={"submit": 0}), block)
        if placement.start < job.submit
    )
    return bench.pick(earlier, bench.free)


def _behind_horizon(bench: Bench) -> Plan | None:
    if bench.problem.horizon.finish_inside:
        return None
    late = (
        Placement(id=job.id, start=start, end=start + job.duration_at(len(block)), gpus=tuple(block))
        for job in bench.waiting
        for block in legal_blocks(bench.problem, job)
        for start in [max(job.submit, bench.steps)]
    )
    return bench.pick(late, lambda _: True)


def _running(bench: Bench, change: Callable[[Placement], dict[str, object]]) -> Plan | None:
    changed = (p for job in bench.running for p in [bench.placed[job.id]] if change(p))
    return bench.pick((p.model_copy(update=change(p)) for p in changed), bench.free)


def _running_starts_late(bench: Bench) -> Plan | None:
    return _running(bench, lambda placement: {"start": placement.start + 1})


def _running_cut_short(bench: Bench) -> Plan | None:
    return _running(bench, lambda placement: {"end": placement.end - 1} if placement.end > 1 else {})


def _running_moved(bench: Bench) -> Plan | None:
    everywhere = (
        bench.placed[job.id].model_copy(update={"gpus": tuple(range(first, first + size))})
        for job in bench.running
        for size in range(job.gpus.min, job.gpus.max + 1)
        for first in range(len(bench.nodes) - size + 1)
    )
    return bench.pick(everywhere, lambda p: bench.free(p) and p.gpus != bench.placed[p.id].gpus)


def _running_missing(bench: Bench) -> Plan | None:
    if not bench.running:
        return None
    gone = bench.rng.choice(bench.running).id
    unplaced = [*bench.plan.unplaced, Unplaced(id=gone)] if bench.rng.random() < 0.5 else None
    return bench.with_(jobs=[p for p in bench.plan.jobs if p.id != gone], unplaced=unplaced)


def _unknown_job(bench: Bench) -> Plan | None:
    stranger = (Placement(id="stranger", start=0, end=1, gpus=(gpu,)) for gpu in range(len(bench.nodes)))
    return bench.pick(stranger, bench.free)


def _unknown_unplaced(bench: Bench) -> Plan | None:
    return bench.with_(unplaced=[*bench.plan.unplaced, Unplaced(id="stranger")])


def _placed_twice(bench: Bench) -> Plan | None:
    again = [
        placement
        for job in bench.waiting
        if job.id in bench.placed
        for placement in placements(bench.problem, job)
        if not any(cell in bench.holders for cell in cells_of(placement, bench.steps))
    ]
    return bench.with_(jobs=[*bench.plan.jobs, bench.rng.choice(again)]) if again else None


def _placed_and_unplaced(bench: Bench) -> Plan | None:
    if not bench.plan.jobs:
        return None
    both = Unplaced(id=bench.rng.choice(bench.plan.jobs).id)
    return bench.with_(unplaced=[*bench.plan.unplaced, both])


def _forgotten_job(bench: Bench) -> Plan | None:
    return bench.with_(unplaced=list(bench.plan.unplaced[1:])) if bench.plan.unplaced else None


def _unplaced_twice(bench: Bench) -> Plan | None:
    if not bench.plan.unplaced:
        return None
    return bench.with_(unplaced=[*bench.plan.unplaced, bench.rng.choice(bench.plan.unplaced)])


def _forgotten_service(bench: Bench) -> Plan | None:
    return bench.with_(services=list(bench.plan.services[1:])) if bench.plan.services else None


def _unknown_service(bench: Bench) -> Plan | None:
    stranger = ServiceAllocation(id="stranger", gpus=((),) * bench.steps)
    return bench.with_(services=[*bench.plan.services, stranger])


def _service_twice(bench: Bench) -> Plan | None:
    for service, _ in bench.entries():
        if len(service.held or ()) <= service.max_swap:
            again = ServiceAllocation(id=service.id, gpus=((),) * bench.steps)
            return bench.with_(services=[*bench.plan.services, again])
    return None


def _step_missing(bench: Bench) -> Plan | None:
    return next((bench.put_service(service, gpus[:-1]) for service, gpus in bench.entries()), None)


def _step_too_many(bench: Bench) -> Plan | None:
    return next((bench.put_service(service, [*gpus, gpus[-1]]) for service, gpus in bench.entries()), None)


def _above_max_gpus(bench: Bench) -> Plan | None:
    full = {s.id for s, gpus in bench.entries() if s.max_gpus is not None and len(gpus[-1]) == s.max_gpus}
    return bench.extra_gpu(
        lambda service, gpu, who: gpu < len(bench.nodes) and service.id in full and who == {None}, limited=False
    )


def _job_on_unfit(bench: Bench) -> Plan | None:
    def unfit(placement: Placement) -> bool:
        job = bench.job(placement.id)
        return not all(meets_needs(job, bench.nodes[gpu]) for gpu in placement.gpus) and bench.free(placement)

    return bench.pick(bench.candidates(own_range, needs=False), unfit)


def _service_on_unfit(bench: Bench) -> Plan | None:
    return bench.extra_gpu(lambda _, gpu, who: gpu < len(bench.nodes) and who == {None}, fits=False)


def _job_outside(bench: Bench) -> Plan | None:
    ids = {job.id for job in bench.waiting}
    first = len(bench.nodes)
    outside = (
        p.model_copy(update={"gpus": tuple(range(first, first + len(p.gpus)))}) for p in bench.plan.jobs if p.id in ids
    )
    return bench.pick(outside, lambda _: True)


def _service_outside(bench: Bench) -> Plan | None:
    return bench.extra_gpu(lambda _, gpu, who: gpu == len(bench.nodes))


# R3


def _windows(bench: Bench) -> Iterator[Placement]:
    """Yield free placements on consecutive, suitable GPUs of a size in the range that R3 forbids."""
    for job in bench.waiting:
        for size in own_range(job):
            for first in range(len(bench.nodes) - size + 1):
                block = range(first, first + size)
                suitable = all(meets_needs(job, bench.nodes[gpu]) for gpu in block)
                if suitable and not is_legal_block(bench.problem.cluster, first, size):
                    yield from bench.at_all_starts(job, block)


def _size_of_no_power(bench: Bench) -> Plan | None:
    return bench.pick(_windows(bench), lambda p: len(p.gpus) & (len(p.gpus) - 1) > 0 and bench.free(p))


def _across_nodes(bench: Bench) -> Plan | None:
    return bench.pick(_windows(bench), lambda p: len(p.gpus) & (len(p.gpus) - 1) == 0 and bench.free(p))


def _with_a_gap(bench: Bench) -> Plan | None:
    def spread(placement: Placement) -> Placement:
        last = placement.gpus[-1]
        return placement.model_copy(update={"gpus": (*placement.gpus[:-1], min(last + 1, len(bench.nodes) - 1))})

    def gap(placement: Placement) -> bool:
        fits = meets_needs(bench.job(placement.id), bench.nodes[placement.gpus[-1]])
        return placement.gpus[-1] - placement.gpus[0] == len(placement.gpus) > 1 and fits and bench.free(placement)

    return bench.pick(map(spread, bench.candidates(own_range)), gap)


# R4 and R5


def _swap_beyond_cap(bench: Bench, steps: range) -> Plan | None:
    for service, gpus in bench.entries():
        for _ in range(10):
            step = bench.rng.choice(steps or range(1))
            limit = len(bench.nodes) if service.max_gpus is None else service.max_gpus
            usable = [gpu for gpu, node in enumerate(bench.nodes) if meets_needs(service, node)]
            cells: list[Cell] = [(gpu, step) for gpu in usable]
            free = [gpu for gpu, at in cells if bench.holders.get((gpu, at), service.id) == service.id]
            held = tuple(bench.rng.sample(free, bench.rng.randint(0, min(limit, len(free)))))
            swapped = [*gpus[:step], held, *gpus[step + 1 :]]
            if largest_swap(service, swapped) > service.max_swap:
                return bench.put_service(service, swapped)
    return None


def _swap_inside(bench: Bench) -> Plan | None:
    return _swap_beyond_cap(bench, range(1, bench.steps)) if bench.steps > 1 else None


def _swap_against_held(bench: Bench) -> Plan | None:
    return _swap_beyond_cap(bench, range(1)) if any(s.held is not None for s in bench.problem.services) else None


def _past_horizon(bench: Bench) -> Plan | None:
    if not bench.problem.horizon.finish_inside:
        return None
    late = (
        Placement(id=job.id, start=start, end=start + job.duration_at(len(block)), gpus=tuple(block))
        for job in bench.waiting
        for block in legal_blocks(bench.problem, job)
        for start in range(job.submit, max(job.submit, bench.steps) + 1)
        if start + job.duration_at(len(block)) > bench.steps
    )
    return bench.pick(late, bench.free)


def _by_name(*plants: Callable[[Bench], Plan | None]) -> dict[str, Callable[[Bench], Plan | None]]:
    return {plant.__name__.strip("_"): plant for plant in plants}


VARIETIES = {
    "R1": _by_name(
        _job_on_job,
        _job_on_service,
        _job_on_unavailable,
        _service_on_holder,
        _service_on_unavailable,
        _job_names_gpu_twice,
        _service_names_gpu_twice,
    ),
    "R2": _by_name(
        _too_large,
        _too_small,
        _too_long,
        _too_short,
        _before_submit,
        _behind_horizon,
        _running_starts_late,
        _running_cut_short,
        _running_moved,
        _running_missing,
        _unknown_job,
        _unknown_unplaced,
        _placed_twice,
        _placed_and_unplaced,
        _forgotten_job,
        _unplaced_twice,
        _forgotten_service,
        _unknown_service,
        _service_twice,
        _step_missing,
        _step_too_many,
        _above_max_gpus,
        _job_on_unfit,
        _service_on_unfit,
        _job_outside,
        _service_outside,
    ),
    "R3": _by_name(_size_of_no_power, _across_nodes, _with_a_gap),
    "R4": _by_name(_swap_inside, _swap_against_held),
    "R5": _by_name(_past_horizon),
}
