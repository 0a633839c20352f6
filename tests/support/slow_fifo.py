"""The baselines `fifo` and `backfill`, cell by cell, slowly and with nothing of the policies in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from loadfactor.model import Job, Placement, Problem, Service
from tests.support.cells import (
    Cell,
    cells_of,
    closed_cells,
    inherited,
    legal_blocks,
    meets_needs,
    nodes_of_gpus,
    placements,
)


@dataclass
class SlowBaseline:
    """What the baseline decides: the placement of every placed job, and the GPUs of every service at every step."""

    jobs: dict[str, Placement] = field(default_factory=dict)
    services: dict[str, list[set[int]]] = field(default_factory=dict)


def slow_baseline(problem: Problem, *, may_overtake: bool) -> SlowBaseline:
    """Return the plan of `fifo`, or of `backfill` where jobs may overtake."""
    steps = problem.horizon.steps
    result = SlowBaseline({placement.id: placement for placement in inherited(problem)})
    busy = closed_cells(problem).union(*(cells_of(placement, steps) for placement in result.jobs.values()))
    _reserve_peaks(problem, busy, result)
    not_before = 0
    for job in sorted((job for job in problem.jobs if job.running is None), key=lambda job: job.submit):
        found = _earliest(problem, job, busy, not_before)
        if found is not None:
            result.jobs[job.id] = found
            busy |= cells_of(found, steps)
            not_before = 0 if may_overtake else found.start
    return result


def _earliest(problem: Problem, job: Job, busy: set[Cell], not_before: int) -> Placement | None:
    largest = max((len(block) for block in legal_blocks(problem, job)), default=0)
    fits = [
        placement
        for placement in placements(problem, job)
        if len(placement.gpus) == largest
        and placement.start >= not_before
        and not cells_of(placement, problem.horizon.steps) & busy
    ]
    return min(fits, key=lambda placement: (placement.start, placement.gpus[0]), default=None)


def _reserve_peaks(problem: Problem, busy: set[Cell], result: SlowBaseline) -> None:
    """Give every service its peak for the whole horizon; GPUs held by any service are not for the others."""
    steps, nodes = problem.horizon.steps, nodes_of_gpus(problem.cluster)
    at_first = set(busy)
    spoken_for = {gpu for service in problem.services for gpu in service.held or ()}
    for service in problem.services:
        peak = min(max(service.demand), len(nodes) if service.max_gpus is None else service.max_gpus)
        leaving, staying = _sorted_held(service, peak, at_first, steps)
        coming = [
            gpu
            for gpu in reversed(range(len(nodes)))
            if gpu not in spoken_for
            and meets_needs(service, nodes[gpu])
            and not any((gpu, step) in at_first for step in range(steps))
        ][: max(0, peak - len(staying))]
        spoken_for |= set(coming)
        busy |= {(gpu, step) for gpu in [*coming, *staying] for step in range(steps)}
        held = _walk(service, leaving, staying, coming, steps)
        busy |= {(gpu, step) for step, gpus in enumerate(held) for gpu in gpus}
        result.services[service.id] = held


def _sorted_held(service: Service, peak: int, busy: set[Cell], steps: int) -> tuple[list[int], list[int]]:
    """Return the held GPUs that go (those that close, soonest first, then those beyond the peak) and the others."""
    closing = {gpu: [step for step in range(steps) if (gpu, step) in busy] for gpu in service.held or ()}
    lost = sorted((gpu for gpu in closing if closing[gpu]), key=lambda gpu: (closing[gpu][0], gpu))
    sound = sorted(gpu for gpu in closing if not closing[gpu])
    surplus = max(0, len(sound) - peak)
    return lost + sound[:surplus], sound[surplus:]


def _walk(service: Service, leaving: list[int], staying: list[int], coming: list[int], steps: int) -> list[set[int]]:
    """Go from the held GPUs to the peak one swap at a time, `max_swap` swaps a step; at once where none are held."""
    if service.held is None:
        return [set(coming)] * steps
    swaps = [("out", gpu) for gpu in leaving] + [("in", gpu) for gpu in coming]
    held, walk = set(service.held), []
    for _ in range(steps):
        now, swaps = swaps[: service.max_swap], swaps[service.max_swap :]
        held = (held - {gpu for way, gpu in now if way == "out"}) | {gpu for way, gpu in now if way == "in"}
        walk.append(held)
    return walk
