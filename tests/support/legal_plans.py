"""Random legal plans, made without the policies: services wander under their cap, jobs take what is left."""

from __future__ import annotations

from random import Random

from loadfactor.model import Placement, Plan, Problem, Service, ServiceAllocation, Unplaced
from tests.support.cells import Cell, cells_of, closed_cells, inherited, meets_needs, nodes_of_gpus, placements

_TRIES = 40


def random_legal_plan(problem: Problem, rng: Random) -> Plan:
    """Return a legal plan, seldom a good one."""
    steps = problem.horizon.steps
    placed = inherited(problem)
    taken = closed_cells(problem)
    for placement in placed:
        taken |= cells_of(placement, steps)
    services: dict[str, ServiceAllocation] = {}
    reserved = {gpu: service.id for service in problem.services for gpu in service.held or ()}
    for service in rng.sample(problem.services, len(problem.services)):
        avoid = {gpu for gpu, owner in reserved.items() if owner != service.id and owner not in services}
        allocation = _Wanderer(problem, service, taken, avoid, rng).allocation()
        services[service.id] = allocation
        taken |= {(gpu, step) for step, gpus in enumerate(allocation.gpus) for gpu in gpus}
    placed += _place_jobs(problem, taken, rng)
    ids = {placement.id for placement in placed}
    return Plan(
        problem=problem.name,
        policy="random",
        jobs=tuple(placed),
        unplaced=tuple(Unplaced(id=job.id, reason="left out at random") for job in problem.jobs if job.id not in ids),
        services=tuple(services[service.id] for service in problem.services),
    )


def _place_jobs(problem: Problem, taken: set[Cell], rng: Random) -> list[Placement]:
    placed: list[Placement] = []
    for job in rng.sample(problem.jobs, len(problem.jobs)):
        if job.running is not None or rng.random() < 0.1:
            continue
        candidates = list(placements(problem, job))
        for placement in rng.sample(candidates, min(_TRIES, len(candidates))):
            cells = cells_of(placement, problem.horizon.steps)
            if not cells & taken:
                taken |= cells
                placed.append(placement)
                break
    return placed


class _Wanderer:
    """One service on its way through the steps, never caught holding a GPU that it cannot give back in time."""

    def __init__(self, problem: Problem, service: Service, taken: set[Cell], avoid: set[int], rng: Random) -> None:
        self.service = service
        self.steps = problem.horizon.steps
        self.rng = rng
        nodes = nodes_of_gpus(problem.cluster)
        self.gpus = [gpu for gpu, node in enumerate(nodes) if meets_needs(service, node) and gpu not in avoid]
        self.taken = taken
        self.limit = len(nodes) if service.max_gpus is None else service.max_gpus

    def allocation(self) -> ServiceAllocation:
        held = set(self.service.held or ())
        entries: list[tuple[int, ...]] = []
        for step in range(self.steps):
            free = self.service.held is None and step == 0
            held = self._next(held, step, 10**6 if free else self.service.max_swap)
            entries.append(tuple(sorted(held)))
        return ServiceAllocation(id=self.service.id, gpus=tuple(entries))

    def _next(self, held: set[int], step: int, budget: int) -> set[int]:
        now = set(held)
        for gpu in sorted(held, key=lambda gpu: (self._closing(gpu, step), gpu)):
            if len(now) <= self.limit and self._can_go_on(now, step):
                break
            now.remove(gpu)
            budget -= 1
        assert budget >= 0, "the generator made a problem without a legal plan"
        return self._stroll(now, step, self.rng.randint(0, min(budget, 4)))

    def _stroll(self, now: set[int], step: int, moves: int) -> set[int]:
        for _ in range(moves):
            if now and self.rng.random() < 0.3:
                now = now - {self.rng.choice(sorted(now))}
                continue
            free = [gpu for gpu in self.gpus if gpu not in now and (gpu, step) not in self.taken]
            if free and len(now) < self.limit:
                larger = now | {self.rng.choice(free)}
                now = larger if self._can_go_on(larger, step) else now
        return now

    def _closing(self, gpu: int, step: int) -> int:
        """Return the first step from `step` at which somebody else has the GPU, or T."""
        return next((later for later in range(step, self.steps) if (gpu, later) in self.taken), self.steps)

    def _can_go_on(self, held: set[int], step: int) -> bool:
        closings = sorted(closing for gpu in held if (closing := self._closing(gpu, step)) < self.steps)
        return all(lost <= self.service.max_swap * (at - step) for lost, at in enumerate(closings, start=1))
