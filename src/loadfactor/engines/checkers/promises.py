"""What a loop may want, given what it has been told: R1 to R5 for the present moment, and no job twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar

from loadfactor.engines.checkers.story import Entry, Facts, Story

Fields = dict[str, Any]


@dataclass(slots=True)
class _Attempt:
    number: int
    gpus: range
    ending: bool = False


class Promises:
    """Reads a story from its beginning; `complaints` are what the loop should not have wanted."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.complaints: list[str] = []
        self.submitted: set[str] = set()
        self.closed: set[str] = set()
        self._cancelled: set[str] = set()
        self._jobs: dict[str, _Attempt] = {}
        self._replicas: dict[tuple[str, int], _Attempt] = {}
        self._attempts: Counter[str] = Counter()
        self._swaps: Counter[tuple[str, int]] = Counter()
        self._offsets = (0, *accumulate(facts.node_gpus))
        gpus = self._offsets[-1]
        self._holder: list[str] = [""] * gpus
        self._lost, self._drained = [False] * gpus, [False] * gpus
        self._news, self._drain_news = [0] * gpus, [0] * gpus
        self._number = 0
        self._now = facts.begin
        self._entry = Entry(0, True, "", {})

    def read_all(self, story: Story) -> list[str]:
        """Read a whole story; return the complaints."""
        for entry in story.entries():
            self.read(entry)
        return self.complaints

    def read(self, entry: Entry) -> None:
        """Read one line."""
        self._entry = entry
        readers: Mapping[str, Callable[[Promises, Fields], None]] = self._TOLD if entry.told else self._WANTED
        if entry.told:
            if entry.fields["at"] <= entry.second + self.facts.wild_seconds:
                self._now = max(self._now, entry.fields["at"])
        else:
            self._count(entry)
        if entry.kind in readers:
            readers[entry.kind](self, entry.fields)

    def _count(self, entry: Entry) -> None:
        """Commands count up; timers and alarms have no number."""
        if entry.kind in ("SetTimer", "RaiseAlarm"):
            self._expect("number" not in entry.fields, "it has a number, and is no command")
            return
        self._expect(entry.fields["number"] == self._number + 1, "the number does not count up")
        self._number = entry.fields["number"]

    def _expect(self, true: bool, complaint: str) -> None:
        if not true:
            self.complaints.append(f"second {self._entry.second}, {self._entry.kind} {self._entry.fields}: {complaint}")

    # What was told

    def _submit(self, fields: Fields) -> None:
        self.submitted.add(fields["job"]["id"])
        if fields["job"]["id"] in self._cancelled:
            self.closed.add(fields["job"]["id"])

    def _cancel(self, fields: Fields) -> None:
        job = fields["job_id"]
        self._cancelled.add(job)
        if job in self.submitted and job not in self._jobs:
            self.closed.add(job)

    def _let_go(self, fields: Fields) -> None:
        job, attempt = fields["job_id"], self._jobs.get(fields["job_id"])
        if attempt is None or attempt.number != fields["attempt"]:
            return
        self._free(attempt)
        del self._jobs[job]
        if fields["event"] == "JobEnded" or job in self._cancelled:
            self.closed.add(job)

    def _stopped(self, fields: Fields) -> None:
        key = fields["service_id"], fields["gpu"]
        attempt = self._replicas.get(key)
        if attempt is not None and attempt.number == fields["attempt"]:
            self._free(attempt)
            del self._replicas[key]

    def _presence(self, fields: Fields) -> None:
        for gpu in fields["gpus"]:
            if self._news[gpu] < fields["number"]:
                self._news[gpu] = fields["number"]
                self._lost[gpu] = fields["event"] == "GpusLost"

    def _drain(self, fields: Fields) -> None:
        gpus = fields.get("gpus")
        if gpus is None:
            gpus = range(self._offsets[fields["node"]], self._offsets[fields["node"] + 1])
        for gpu in gpus:
            if self._drain_news[gpu] < fields["number"]:
                self._drain_news[gpu] = fields["number"]
                self._drained[gpu] = fields["event"] in ("NodeDrained", "GpusDrained")

    # What was wanted

    def _start_job(self, fields: Fields) -> None:
        job = fields["job_id"]
        self._expect(job in self.submitted, "nobody submitted it")
        self._expect(job not in self.closed and job not in self._cancelled, "it is over or taken back")
        self._expect(job not in self._jobs, "it holds a block already")
        self._attempts[job] += 1
        self._expect(fields["attempt"] == self._attempts[job], f"attempt {self._attempts[job]} is the next")
        first, size = fields["first_gpu"], fields["size"]
        self._expect(size >= self.facts.asked.get(job, size), "it asks for more GPUs")
        self._expect(not self._is_too_much(job, size), "it can use fewer GPUs, and a smaller block exists")
        self._expect(self._is_block(first, size), "that is no block of the cluster")
        self._expect(all(self._suits(job, gpu) for gpu in range(first, first + size)), "a GPU does not meet its needs")
        self._jobs[job] = _Attempt(fields["attempt"], range(first, first + size))
        self._hold(self._jobs[job].gpus, f"job {job}")

    def _cancel_job(self, fields: Fields) -> None:
        attempt = self._jobs.get(fields["job_id"])
        self._expect(fields["job_id"] in self._cancelled, "its user did not take it back")
        known = attempt is not None and attempt.number == fields["attempt"] and not attempt.ending
        self._expect(known, "no such attempt is there to be ended")
        if attempt is not None:
            attempt.ending = True

    def _start_replica(self, fields: Fields) -> None:
        service, gpu = fields["service_id"], fields["gpu"]
        self._swap(service)
        self._replicas[service, gpu] = _Attempt(fields["attempt"], range(gpu, gpu + 1))
        self._expect(self._suits(service, gpu), "the GPU does not meet its needs")
        self._hold(range(gpu, gpu + 1), f"service {service}")
        held = sum(name == service and not attempt.ending for (name, _), attempt in self._replicas.items())
        self._expect(held <= self.facts.max_gpus.get(service, held), "the service has its max_gpus already")

    def _stop_replica(self, fields: Fields) -> None:
        service = fields["service_id"]
        self._swap(service)
        attempt = self._replicas.get((service, fields["gpu"]))
        known = attempt is not None and attempt.number == fields["attempt"] and not attempt.ending
        self._expect(known, "no such replica is there to be stopped")
        if attempt is not None:
            attempt.ending = True

    def _swap(self, service: str) -> None:
        step = service, self._now // self.facts.step_seconds
        self._swaps[step] += 1
        self._expect(self._swaps[step] <= self.facts.max_swap[service], "more swaps than its max_swap in this step")

    def _hold(self, gpus: range, holder: str) -> None:
        for gpu in gpus:
            self._expect(not self._holder[gpu], f"GPU {gpu} is held by {self._holder[gpu]}")
            self._expect(not self._lost[gpu] and not self._drained[gpu], f"GPU {gpu} is lost or drained")
            self._holder[gpu] = holder

    def _free(self, attempt: _Attempt) -> None:
        for gpu in attempt.gpus:
            self._holder[gpu] = ""

    def _is_block(self, first: int, size: int) -> bool:
        """Return whether [first, first + size) is one (R3), by looking at every node in turn."""
        power = size in {1 << exponent for exponent in range(40)}
        for node, begin in enumerate(self._offsets[:-1]):
            end = self._offsets[node + 1]
            if begin <= first < end and size <= end - begin:
                return power and first + size <= end
            if begin == first:
                return first + size in self._offsets and (power or self.facts.whole_nodes)
        return False

    def _is_too_much(self, job: str, size: int) -> bool:
        """Return whether a block is larger than what the job can use, though a smaller one would hold it."""
        least = self.facts.asked.get(job, size)
        most = self.facts.most.get(job, least)
        return size > most and any(self._exists(job, other) for other in range(least, size))

    def _exists(self, job: str, size: int) -> bool:
        firsts = range(self._offsets[-1] - size + 1)
        return any(
            self._is_block(first, size) and all(self._suits(job, gpu) for gpu in range(first, first + size))
            for first in firsts
        )

    def _suits(self, name: str, gpu: int) -> bool:
        """Return whether a GPU has a type and a memory that a job or a service accepts."""
        node = next((index for index, end in enumerate(self._offsets[1:]) if gpu < end), None)
        if node is None:
            return False
        types, memory = self.facts.types.get(name), self.facts.memory_gib.get(name)
        if types is not None and self.facts.node_types[node] not in types:
            return False
        has = self.facts.node_memory_gib[node] if memory is not None else None
        return memory is None or (has is not None and has >= memory)

    _TOLD: ClassVar = {
        "JobSubmitted": _submit,
        "JobCancelled": _cancel,
        "JobEnded": _let_go,
        "JobLost": _let_go,
        "StartRefused": _let_go,
        "ReplicaStopped": _stopped,
        "GpusLost": _presence,
        "GpusBack": _presence,
        "GpusDrained": _drain,
        "GpusResumed": _drain,
        "NodeDrained": _drain,
        "NodeResumed": _drain,
    }
    _WANTED: ClassVar = {
        "StartJob": _start_job,
        "CancelJob": _cancel_job,
        "StartReplica": _start_replica,
        "StopReplica": _stop_replica,
    }
