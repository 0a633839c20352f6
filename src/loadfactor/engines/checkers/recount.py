"""A second ledger, second by second: every GPU-second of a run, painted from its story and the facts of its world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from loadfactor.engines.checkers.story import Entry, Facts, Story

IDLE, JOB_STARTING, JOB_WORKING, PADDING, REPLICA_STARTING, REPLICA_READY, REPLICA_STOPPING, LOST = range(8)
Grid = npt.NDArray[np.int8]


@dataclass(slots=True)
class JobTally:
    """What a job must have done: starts that were carried out, losses, GPU-seconds held, and the second of its end."""

    starts: int = 0
    losses: int = 0
    held_gpu_seconds: int = 0
    ended_at: int | None = None


@dataclass
class Recount:
    """The painted grid (N, seconds) of uses, jobs' tallies, unmet GPU-seconds by service, and what does not fit."""

    grid: Grid
    jobs: dict[str, JobTally]
    unmet: dict[str, int] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)

    def seconds(self) -> list[int]:
        """Return the GPU-seconds of every use, in the order of the constants above."""
        seconds: list[int] = np.bincount(self.grid.ravel(), minlength=8).tolist()
        return seconds


def recount(story: Story, facts: Facts, end: int) -> Recount:
    """Return what must have happened in the seconds [`facts.begin`, `end`)."""
    painter = _Painter(story, facts, end)
    painter.paint_outages()
    for entry in painter.wanted("StartJob"):
        painter.paint_job(entry)
    for entry in painter.wanted("StartReplica"):
        painter.paint_replica(entry)
    painter.count_unmet()
    return painter.count


class _Painter:
    def __init__(self, story: Story, facts: Facts, end: int) -> None:
        self.facts, self.end = facts, end
        self.entries = list(story.entries())
        grid = np.zeros((sum(facts.node_gpus), max(0, end - facts.begin)), dtype=np.int8)
        self.count = Recount(grid, {job: JobTally() for job in facts.asked})
        self.ready = {service: np.zeros(grid.shape[1], dtype=np.int64) for service in facts.demand}
        told = [entry.fields for entry in self.entries if entry.told]
        self.refused = {(each["job_id"], each["attempt"]) for each in told if each["event"] == "StartRefused"}
        self.cancels = {
            (each.fields["job_id"], each.fields["attempt"]): each.second for each in self.wanted("CancelJob")
        }
        self.stops = {
            (each.fields["service_id"], each.fields["gpu"], each.fields["attempt"]): each.second
            for each in self.wanted("StopReplica")
        }

    def wanted(self, kind: str) -> Iterator[Entry]:
        return (entry for entry in self.entries if not entry.told and entry.kind == kind)

    def paint_outages(self) -> None:
        for outage in self.facts.outages:
            if outage.at < self.end:
                self.count.grid[list(outage.gpus), self._cut(outage.at) : self._cut(outage.back_at)] = LOST

    def paint_job(self, entry: Entry) -> None:
        job, attempt = entry.fields["job_id"], entry.fields["attempt"]
        if (job, attempt) in self.refused:
            return
        first, size, begin = entry.fields["first_gpu"], entry.fields["size"], entry.second
        tally = self.count.jobs[job]
        tally.starts += 1
        if tally.ended_at is not None:
            self.count.complaints.append(f"job {job!r} begins at second {begin} and was over at {tally.ended_at}")
        runs = begin + self.facts.job_start_seconds
        used = self.facts.used(job, size)
        work = self.facts.work.get(job)
        natural = runs + (self.facts.run_seconds[job] if work is None else (work + used - 1) // used)
        lost = self._lost_at(range(first, first + size), begin)
        cancel = self.cancels.get((job, attempt), natural)
        end = min(natural, cancel, lost)
        if lost == end <= self.end:
            tally.losses += 1
        elif end <= self.end:
            tally.ended_at = end
        tally.held_gpu_seconds += size * (self._cut(end) - self._cut(begin))
        asked = first + used
        self._paint(range(first, first + size), begin, min(runs, end), JOB_STARTING, job)
        self._paint(range(first, asked), min(runs, end), end, JOB_WORKING, job)
        self._paint(range(asked, first + size), min(runs, end), end, PADDING, job)

    def paint_replica(self, entry: Entry) -> None:
        service, gpu, begin = entry.fields["service_id"], entry.fields["gpu"], entry.second
        if any(each.at <= begin < each.back_at and gpu in each.gpus for each in self.facts.outages):
            return
        lost = self._lost_at(range(gpu, gpu + 1), begin)
        stop = min(lost, self.stops.get((service, gpu, entry.fields["attempt"]), self.end))
        ready = min(stop, begin + self.facts.replica_start_seconds[service])
        gone = min(lost, stop + self.facts.replica_stop_seconds)
        gpus = range(gpu, gpu + 1)
        self._paint(gpus, begin, ready, REPLICA_STARTING, service)
        self._paint(gpus, ready, stop, REPLICA_READY, service)
        self._paint(gpus, stop, gone, REPLICA_STOPPING, service)
        self.ready[service][self._cut(ready) : self._cut(stop)] += 1

    def count_unmet(self) -> None:
        for service, curve in self.facts.demand.items():
            steps = -(-len(self.ready[service]) // self.facts.step_seconds)
            demand = np.repeat(np.resize(np.array(curve), steps), self.facts.step_seconds)
            missing = demand[: len(self.ready[service])] - self.ready[service]
            self.count.unmet[service] = int(missing.clip(min=0).sum())

    def _lost_at(self, gpus: range, begin: int) -> int:
        """Return the second at which the first of the GPUs fails, from `begin` on; long after the end if none does."""
        fails = [each.at for each in self.facts.outages if each.at >= begin and any(gpu in gpus for gpu in each.gpus)]
        return min(fails, default=1 << 60)

    def _cut(self, second: int) -> int:
        return min(max(second, self.facts.begin), self.end) - self.facts.begin

    def _paint(self, gpus: range, begin: int, end: int, use: int, holder: str) -> None:
        cells = self.count.grid[gpus.start : gpus.stop, self._cut(begin) : self._cut(end)]
        if cells.any():
            fact = f"{holder!r} holds GPUs {gpus.start} to {gpus.stop - 1} in the seconds {begin} to {end}"
            self.count.complaints.append(f"{fact}, and others held some of them")
        cells[:] = use
