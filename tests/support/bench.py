"""A legal plan on the workbench: the tools that plant one breach in it and keep everything else legal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from loadfactor.model import Job, Placement, Plan, Problem, Service, ServiceAllocation, Unplaced
from tests.support.cells import cells_of, holders, legal_blocks, meets_needs, nodes_of_gpus


class Bench:
    """A legal plan on the workbench, with what the tools need to know of it."""

    def __init__(self, problem: Problem, plan: Plan, rng: Random) -> None:
        self.problem = problem
        self.plan = plan
        self.rng = rng
        self.steps = problem.horizon.steps
        self.nodes = nodes_of_gpus(problem.cluster)
        self.holders = holders(problem, plan)
        self.placed = {placement.id: placement for placement in plan.jobs}
        self.waiting = rng.sample([j for j in problem.jobs if not j.running], sum(not j.running for j in problem.jobs))
        self.running = [job for job in problem.jobs if job.running]

    def others(self, placement: Placement) -> set[str]:
        """Return who else holds the cells of `placement`."""
        held = {self.holders.get(cell) for cell in cells_of(placement, self.steps)}
        return {holder for holder in held if holder not in (None, placement.id)}

    def pick(self, candidates: Iterator[Placement], accept: Callable[[Placement], bool]) -> Plan | None:
        """Return the plan with one of the accepted candidates in place of that job's placement."""
        accepted = [candidate for candidate in candidates if accept(candidate)]
        return self.put(self.rng.choice(accepted)) if accepted else None

    def put(self, placement: Placement) -> Plan:
        """Return the plan with `placement` in place of that job's own."""
        jobs = [other for other in self.plan.jobs if other.id != placement.id] + [placement]
        unplaced = [entry for entry in self.plan.unplaced if entry.id != placement.id]
        return self.with_(jobs=jobs, unplaced=unplaced)

    def with_(
        self,
        jobs: list[Placement] | None = None,
        unplaced: list[Unplaced] | None = None,
        services: list[ServiceAllocation] | None = None,
    ) -> Plan:
        """Return the plan with other entries."""
        return Plan(
            problem=self.plan.problem,
            policy="broken",
            jobs=tuple(self.plan.jobs if jobs is None else jobs),
            unplaced=tuple(self.plan.unplaced if unplaced is None else unplaced),
            services=tuple(self.plan.services if services is None else services),
        )

    def free(self, placement: Placement) -> bool:
        """Return whether nobody else holds the cells of `placement`."""
        return not self.others(placement)

    def candidates(self, sizes: Callable[[Job], range], *, needs: bool = True) -> Iterator[Placement]:
        """Yield legal placements of all waiting jobs, apart from the sizes and, without `needs`, from the needs."""
        for job in self.waiting:
            for block in legal_blocks(self.problem, job, sizes(job), needs=needs):
                yield from self.at_all_starts(job, block)

    def at_all_starts(self, job: Job, block: range) -> Iterator[Placement]:
        """Yield `block` from every step at which R2 and R5 let the job start."""
        duration = job.duration_at(len(block))
        last = self.steps - duration if self.problem.horizon.finish_inside else self.steps - 1
        for start in range(job.submit, last + 1):
            yield Placement(id=job.id, start=start, end=start + duration, gpus=tuple(block))

    def job(self, id_: str) -> Job:
        """Return the job of that id."""
        return next(job for job in self.problem.jobs if job.id == id_)

    def entries(self) -> Iterator[tuple[Service, list[tuple[int, ...]]]]:
        """Yield every service, in random order, with its GPUs at every step."""
        allocations = {allocation.id: list(allocation.gpus) for allocation in self.plan.services}
        for service in self.rng.sample(self.problem.services, len(self.problem.services)):
            yield service, allocations[service.id]

    def put_service(self, service: Service, gpus: list[tuple[int, ...]]) -> Plan:
        """Return the plan with other GPUs for `service`."""
        new = ServiceAllocation(id=service.id, gpus=tuple(gpus))
        return self.with_(services=[new if old.id == new.id else old for old in self.plan.services])

    def extra_gpu(
        self, accept: Callable[[Service, int, set[str | None]], bool], *, limited: bool = True, fits: bool = True
    ) -> Plan | None:
        """Return the plan with one GPU more for a service from some step to the end, its R2 and R4 kept otherwise."""
        for service, gpus in self.entries():
            for gpu in self.rng.sample(range(len(self.nodes) + 1), len(self.nodes) + 1):
                start = self.rng.randrange(self.steps)
                fit = gpu == len(self.nodes) or meets_needs(service, self.nodes[gpu]) == fits
                who = {self.holders.get((gpu, step)) for step in range(start, self.steps)}
                if service.id in who or not fit or not accept(service, gpu, who):
                    continue
                larger = [(*held, gpu) if step >= start else held for step, held in enumerate(gpus)]
                within = not limited or service.max_gpus is None or max(map(len, larger)) <= service.max_gpus
                if within and largest_swap(service, larger) <= service.max_swap:
                    return self.put_service(service, larger)
        return None


def largest_swap(service: Service, gpus: list[tuple[int, ...]]) -> int:
    """Return the most GPUs given plus taken away before any step."""
    before = list(gpus) if service.held is None else [service.held, *gpus]
    after = gpus[1:] if service.held is None else gpus
    return max((len(set(old) ^ set(new)) for old, new in zip(before, after, strict=False)), default=0)


def own_range(job: Job) -> range:
    """Return the sizes that the job asks for."""
    return range(job.gpus.min, job.gpus.max + 1)
