"""The incremental form of `fast`: the last plan and one event in, the next plan out, without starting over.

What the event touches is placed anew at the best free place, and its neighbourhood is taken apart and put back for what
may now be worth more elsewhere. Then a few of those that wait, anywhere, are given the blocks of jobs that are worth
less, so that a plan recovers from what many events in a row have cost it. Everything else stays where it is.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TypeVar

from loadfactor.errors import InputError
from loadfactor.model import GpuRange, Job, Plan, Problem, Service, Unavailable, admissible_sizes
from loadfactor.model.consistency import Parts, faults_between
from loadfactor.policies.fast.events import DemandChanged, Event, GpuFailed, JobArrived, JobEnded, PriorityChanged
from loadfactor.policies.fast.ledger import Ledger
from loadfactor.policies.fast.loading import load_compiled_events
from loadfactor.policies.fast.standing import Standing

Item = TypeVar("Item", Job, Service)
ROUNDS = 2
"""Neighbourhoods of what an event touched that are taken apart after it."""
TRIES = 8
"""Jobs that wait, wherever they are, for which others may make way after an event: what earlier events cost is won back
a little at each."""


class Replanner:
    """Holds a problem and its plan, and answers events.

    `plan` must be legal for `problem`. After `apply`, `plan` is a legal plan for `problem`, which is put together (and
    validated) from its parts when it is asked for.
    """

    def __init__(self, problem: Problem, plan: Plan, seed: int = 0) -> None:
        load_compiled_events()
        self.plan = plan
        self._base = problem
        self._jobs: dict[str, Job] = {job.id: job for job in problem.jobs}
        self._running = [job.id for job in problem.jobs if job.running]  # none is ever added
        self._services: dict[str, Service] = {service.id: service for service in problem.services}
        self._unavailable = list(problem.cluster.unavailable)
        self._standing = Standing(problem, plan, seed)
        self._ledger = Ledger(problem, plan, self._standing)

    @property
    def problem(self) -> Problem:
        """The problem as the events so far have left it."""
        cluster = self._base.cluster.model_copy(update={"unavailable": tuple(self._unavailable)})
        return self._base.replace(
            cluster=cluster, jobs=tuple(self._jobs.values()), services=tuple(self._services.values())
        )

    def apply(self, event: Event, rounds: int = ROUNDS, tries: int = TRIES) -> Plan:
        """Return the plan after `event`.

        `rounds` neighbourhoods of what it touched are searched for something better, and `tries` jobs that wait are
        looked after (see `recover`). Raises `InputError` where the event names a job, service or GPU that does not
        exist, or one that exists already; the state is then unchanged.
        """
        began = time.perf_counter()
        focus = self._answer(event)
        self._standing.improve(focus, rounds)
        return self._recovered(tries, began)

    def recover(self, tries: int) -> Plan:
        """Return a plan that is worth at least as much, without an event: for the quiet times between them.

        For up to `tries` jobs that wait or are left out, those that lose most by it first, and for demand that is
        unmet, jobs that are worth less make way and are placed elsewhere. One try at 10,240 GPUs takes about a tenth
        of a millisecond; what it finds depends on the events so far and on nothing else.
        """
        return self._recovered(tries, time.perf_counter())

    def _recovered(self, tries: int, began: float) -> Plan:
        self._standing.recover(tries)
        self.plan = self._ledger.compose(self._services, time.perf_counter() - began)
        return self.plan

    def _answer(self, event: Event) -> list[int]:
        """Change problem and plan as the event demands; return the rows of the jobs whose surroundings changed."""
        match event:
            case JobArrived(job):
                return self._arrive(job)
            case JobEnded(job_id):
                return self._end(self._known(self._jobs, "job", job_id))
            case DemandChanged(service_id, demand):
                service = self._known(self._services, "service", service_id)
                return self._change_service(service, _changed(service, demand=demand))
            case PriorityChanged(name, priority):
                return self._reprioritise(name, priority)
            case GpuFailed(gpu, until_step):
                return self._lose(gpu, until_step)

    def _arrive(self, job: Job) -> list[int]:
        if job.id in self._jobs or job.id in self._services:
            raise InputError.of("event", f"{job.id!r} exists already", "give the job an id of its own")
        if job.running is not None:
            raise InputError.of("event", f"{job.id!r} is running already", "start a new Replanner with that problem")
        faults = faults_between(Parts.of(self._base.horizon, self._base.cluster, [job], []))
        if faults:
            raise InputError(replace(fault, path=fault.path.replace("jobs[0]", "event.job", 1)) for fault in faults)
        self._jobs[job.id] = job
        return self._standing.add(job)

    def _end(self, job: Job) -> list[int]:
        del self._jobs[job.id]
        if job.running is not None:
            self._ledger.follow_running(self._jobs)
        else:
            self._ledger.forget(self._standing.row[job.id])
        return self._standing.remove(job)

    def _change_service(self, old: Service, new: Service) -> list[int]:
        if len(new.demand) != self._base.horizon.steps:
            fact = f"{len(new.demand)} entries for {self._base.horizon.steps} steps"
            raise InputError.of("event.demand", fact, "give one number for every step")
        self._services[old.id] = new
        return self._standing.serve_again(list(self._services.values()), [old.id])

    def _reprioritise(self, name: str, priority: float) -> list[int]:
        if name in self._services:
            service = self._services[name]
            return self._change_service(service, _changed(service, priority=priority))
        job = self._known(self._jobs, "job or service", name)
        self._jobs[name] = _changed(job, priority=priority)
        if job.running is not None:
            self._ledger.follow_running(self._jobs)
        return self._standing.reprice(self._jobs[name])

    def _lose(self, gpu: int, until_step: int) -> list[int]:
        if not 0 <= gpu < self._base.cluster.gpu_count:
            fact = f"GPU {gpu} does not exist in a cluster of {self._base.cluster.gpu_count}"
            raise InputError.of("event.gpu", fact, f"GPU numbers run from 0 to {self._base.cluster.gpu_count - 1}")
        if until_step < 1:
            remedy = "name the first step at which the GPU serves again"
            raise InputError.of("event.until_step", f"{until_step} is not after step 0", remedy)
        entry = Unavailable(gpus=(gpu,), from_step=0, until_step=until_step)
        running = (self._jobs[name] for name in self._running if name in self._jobs)
        lost = [job for job in running if job.running and gpu in job.running.gpus]
        holders = [service for service in self._services.values() if service.held and gpu in service.held]
        for service in holders:
            rest = tuple(other for other in service.held or () if other != gpu)
            self._services[service.id] = _changed(service, held=rest)
        self._unavailable.append(entry)
        focus: list[int] = []
        for job in lost:
            del self._jobs[job.id]
            focus += self._standing.remove(job)
        focus += self._standing.close(gpu, until_step, list(self._services.values()), [s.id for s in holders])
        for job in lost:
            waiting = _changed(job, running=None, gpus=self._range_to_wait_in(job))
            self._jobs[job.id] = waiting
            focus += self._standing.add(waiting)
        if lost:
            self._ledger.follow_running(self._jobs)
        return focus

    def _range_to_wait_in(self, job: Job) -> GpuRange:
        """Return the job's range, widened where it has only the size of an inherited block, from which R3 exempts.

        To the next larger block size that the cluster has, or where there is none to the largest.
        """
        cluster, gpus = self._base.cluster, job.gpus
        if admissible_sizes(cluster, gpus):
            return gpus
        larger = admissible_sizes(cluster, GpuRange(min=gpus.min, max=max(gpus.min, cluster.gpu_count)))
        if larger:
            return GpuRange(min=gpus.min, max=larger[0])
        return GpuRange(min=admissible_sizes(cluster, GpuRange(min=1, max=gpus.min))[-1], max=gpus.max)

    @staticmethod
    def _known(items: dict[str, Item], kind: str, name: str) -> Item:
        try:
            return items[name]
        except KeyError:
            raise InputError.of("event", f"no {kind} is called {name!r}", "correct the id") from None


def _changed(noun: Item, **changes: object) -> Item:
    """Return `noun` with what an event changes; what the model refuses is told as the event's."""
    fields = {name: getattr(noun, name) for name in type(noun).model_fields}
    try:
        return type(noun)(**{**fields, **changes})
    except InputError as error:
        raise InputError(replace(fault, path=f"event.{fault.path}") for fault in error.faults) from None
