"""A control state to try things on, and a bench that checks every invariant after everything that is done."""

from __future__ import annotations

from collections.abc import Iterable

from loadfactor.control import ClusterState, Decision, JobRequest, JobStart, Machine, Referee, ServiceRequest, Swap
from loadfactor.control.changes import Change
from loadfactor.control.effects import Effect
from loadfactor.control.events import Event, JobStarted, JobSubmitted
from loadfactor.control.records import JobRecord
from loadfactor.model import Cluster

SERVICES = (
    ServiceRequest("chat", priority=8.0, max_swap=3, start_seconds=90),
    ServiceRequest("search", priority=2.0, max_swap=2, max_gpus=2),
)
STEP_SECONDS = 600


def cluster(nodes: Iterable[int] = (4, 4, 2), block_sizes: str = "power_of_two") -> Cluster:
    """Return a cluster of nodes with so many GPUs."""
    named = [{"name": f"node-{index}", "gpus": gpus} for index, gpus in enumerate(nodes)]
    return Cluster.model_validate({"block_sizes": block_sizes, "nodes": named})


class Bench:
    """A machine on a small cluster: GPUs 0 to 3, 4 to 7, and 8 to 9, and the services of `SERVICES`."""

    def __init__(self, state: ClusterState | None = None) -> None:
        self.state = state or ClusterState(cluster(), SERVICES, STEP_SECONDS)
        self.machine, self.referee = Machine(self.state), Referee(self.state)

    def tell(self, event: Event) -> tuple[list[Change], list[Effect]]:
        """Let something happen; return what changed and what is wanted."""
        answer = self.machine.handle(event)
        self.state.check()
        return answer

    def apply(self, decision: Decision) -> list[Effect]:
        """Carry out a decision that must be legal; return what is wanted."""
        assert self.referee.faults(decision) == []
        _, effects = self.machine.apply(decision)
        self.state.check()
        return effects

    def submit(self, name: str = "job", gpus: int = 2, at: int = 10) -> JobRecord:
        """Submit a job; return its record."""
        self.tell(JobSubmitted(at, JobRequest(name, gpus)))
        return self.job(name)

    def start(self, name: str = "job", first_gpu: int = 0) -> list[Effect]:
        """Give a job its block."""
        return self.apply(Decision(starts=[JobStart(self.job(name).row, first_gpu)]))

    def running(self, name: str = "job", gpus: int = 2, first_gpu: int = 0) -> JobRecord:
        """Submit a job and let it run."""
        job = self.submit(name, gpus)
        self.start(name, first_gpu)
        self.tell(JobStarted(20, name, job.attempt))
        return job

    def give(self, *gpus: int, service: int = 0) -> list[Effect]:
        """Give GPUs to a service."""
        return self.apply(Decision(given=[Swap(service, gpu) for gpu in gpus]))

    def take(self, *gpus: int, service: int = 0) -> list[Effect]:
        """Take GPUs from a service."""
        return self.apply(Decision(taken=[Swap(service, gpu) for gpu in gpus]))

    def job(self, name: str = "job") -> JobRecord:
        """Return the record of a job."""
        return self.state.jobs[self.state.row_of_job[name]]

    def document(self) -> object:
        """Return all facts, to compare."""
        return self.state.to_document()
