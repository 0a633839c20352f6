"""The throw-away simulation behind the what-if of interruptions: jobs under a demand curve, in counts.

Seconds count from the world's beginning. `room[k]` is what is left of the GPUs at the beginning of step k when the
demand is met and all that run now hold theirs for as long as was foreseen; within a step it only grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from math import exp

import numpy as np
import numpy.typing as npt

from loadfactor.policies.compiled import kernel
from loadfactor.units import SECONDS_PER_DAY, SECONDS_PER_HOUR

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
END, CUT, STEP, ARRIVAL = range(4)
NEVER = -1
DAYS_BEHIND = 60
"""The simulation ends so long behind the last arrival, or when all jobs are over."""


@dataclass(frozen=True)
class TroughJobs:
    """The jobs, (J,) each: by arrival, in seconds and GPUs; `known_seconds` is no shorter than `run_seconds`."""

    at: Ints
    run_seconds: Ints
    known_seconds: Ints
    gpus: Ints
    priority: Floats
    consents: npt.NDArray[np.bool_]


class Trough:
    """Lets the jobs run under `capacity` (K,), the GPUs left for them step by step, which begins again at its end."""

    def __init__(
        self,
        jobs: TroughJobs,
        capacity: Ints,
        step_seconds: int,
        start_seconds: int,
        restart_seconds: int,
        decay: float,
    ) -> None:
        self.jobs, self._step, self._start, self._restart = jobs, step_seconds, start_seconds, restart_seconds
        self.last = int(jobs.at[-1])
        self._rate = -np.log(decay) / SECONDS_PER_HOUR
        self._end = self.last + DAYS_BEHIND * SECONDS_PER_DAY
        steps = (self._end + int(jobs.known_seconds.max())) // step_seconds + 2
        self._capacity = np.resize(capacity, steps)
        self._room = self._capacity.copy()
        self._order = np.argsort(-jobs.priority, kind="stable")
        self._rank = np.argsort(self._order)
        self._waiting, self._count = np.zeros(len(jobs.at) + 1, dtype=np.int64), 0
        self._found, self._until = np.zeros(len(jobs.at), dtype=np.int64), np.zeros(len(jobs.at), dtype=np.int64)
        self._begun, self._held_until = np.zeros_like(self._until), np.zeros_like(self._until)
        self._piece, self._done, self._extra = np.zeros((3, len(jobs.at)), dtype=np.int64)
        self._events: list[tuple[int, int, int, int]] = []
        self._now = self._used = self._free = self._blocked = 0
        self.over = self.interruptions = 0
        self.value = self.idle = self.blocked = self.working = self.lost = 0.0
        self.first_start = np.full(len(jobs.at), NEVER)

    def run(self) -> None:
        """Run until all jobs are over, or for DAYS_BEHIND days behind the last arrival."""
        for job in range(len(self.jobs.at)):
            heappush(self._events, (int(self.jobs.at[job]), ARRIVAL, int(self._rank[job]), 0))
        heappush(self._events, (0, STEP, 0, 0))
        while self.over < len(self.jobs.at) and self._events[0][0] < self._end:
            self._pass_time(self._events[0][0])
            while self._events and self._events[0][0] == self._now:
                _, kind, rank, piece = heappop(self._events)
                self._happen(kind, rank, piece)
            self._start_all()

    def _pass_time(self, until: int) -> None:
        seconds = max(0, min(until, self.last) - self._now)
        self.idle += seconds * self._free
        self.blocked += seconds * self._blocked
        self._now = until

    def _happen(self, kind: int, rank: int, piece: int) -> None:
        job = int(self._order[rank])
        if kind == STEP:
            heappush(self._events, (self._now + self._step, STEP, 0, 0))
        elif kind == ARRIVAL:
            self._count = insert(self._waiting, self._count, rank)
        elif piece == self._piece[job]:
            if kind == END:
                self._stop(job)
                self.over += 1
            else:
                self._cut(job)

    def _stop(self, job: int) -> int:
        """Take the job's GPUs back, book its work since it began, and return those seconds."""
        gpus, began = int(self.jobs.gpus[job]), int(self._begun[job])
        reserve(self._room, -gpus, self._now, int(self._held_until[job]), self._step)
        self._used -= gpus
        self._piece[job] += 1
        lost = self._start + int(self._extra[job])
        work = self._now - began - lost
        delay = began + int(self._extra[job]) - int(self.jobs.at[job]) - int(self._done[job])
        self.value += float(self.jobs.priority[job]) * gpus * work / SECONDS_PER_HOUR * exp(-self._rate * delay)
        self.working += gpus * max(0, min(self._now, self.last) - min(began + lost, self.last))
        self.lost += gpus * lost if self._extra[job] else 0
        return work

    def _cut(self, job: int) -> None:
        """Let a job whose GPUs were only promised until now go on if it can, and interrupt it if not."""
        gpus, most = int(self.jobs.gpus[job]), int(self._begun[job] + self._total(job))
        until = fit(self._room, gpus, self._now, most, self._step, -(-self._now // self._step))
        if until > self._now:
            reserve(self._room, gpus, self._now, until, self._step)
            self._hold(job, until, until < most)
            return
        self._done[job] += self._stop(job)
        self._extra[job] = self._restart
        self.interruptions += 1
        self._count = insert(self._waiting, self._count, int(self._rank[job]))

    def _hold(self, job: int, until: int, cut: bool) -> None:
        self._held_until[job] = until
        if cut:
            heappush(self._events, (until, CUT, int(self._rank[job]), int(self._piece[job])))

    def _total(self, job: int) -> int:
        return self._start + int(self._extra[job] + self.jobs.known_seconds[job] - self._done[job])

    def _start_all(self) -> None:
        free = int(self._capacity[self._now // self._step]) - self._used
        self._count, found, self._free, self._blocked = start_all(
            self._waiting, self._count, self._order, self._now, free, self._room, self._step, self.jobs.gpus,
            self.jobs.known_seconds - self._done + self._extra + self._start if self._count else self._done,
            self._extra, self._start + self._restart, self.jobs.consents, self._found, self._until,
        )  # fmt: skip
        for job, until in zip(self._found[:found].tolist(), self._until[:found].tolist(), strict=True):
            self._begin(job, until)

    def _begin(self, job: int, until: int) -> None:
        self._begun[job] = self._now
        self._used += int(self.jobs.gpus[job])
        if self.first_start[job] == NEVER:
            self.first_start[job] = self._now
        self._hold(job, until, until < self._now + self._total(job))
        work = int(self.jobs.run_seconds[job] - self._done[job])
        end = self._now + self._start + int(self._extra[job]) + work
        heappush(self._events, (end, END, int(self._rank[job]), int(self._piece[job])))


@kernel
def insert(ranks: Ints, count: int, rank: int) -> int:
    """Insert `rank` into the first `count` of the sorted `ranks`, and return how many there are then."""
    place = count
    while place > 0 and ranks[place - 1] > rank:
        ranks[place] = ranks[place - 1]
        place -= 1
    ranks[place] = rank
    return count + 1


@kernel
def start_all(
    waiting: Ints,
    count: int,
    order: Ints,
    now: int,
    free: int,
    room: Ints,
    step_seconds: int,
    gpus: Ints,
    known: Ints,
    extra: Ints,
    overhead: int,
    consents: npt.NDArray[np.bool_],
    found: Ints,
    until: Ints,
) -> tuple[int, int, int, int]:
    """Start, in order, all that may start; return how many still wait, how many started, and GPUs free and blocked.

    `found` and `until` receive who starts and for how long its GPUs are promised; blocked are GPUs that are free and
    on which jobs that wait would fit, were it not for the length of their runs.
    """
    kept = started = 0
    for place in range(count):
        job = order[waiting[place]]
        if gpus[job] <= free:
            end = fit(room, gpus[job], now, now + known[job], step_seconds, now // step_seconds + 1)
            useful = end - now - extra[job] - overhead
            if end == now + known[job] or (consents[job] and useful > 0):
                reserve(room, gpus[job], now, end, step_seconds)
                free -= gpus[job]
                found[started], until[started] = job, end
                started += 1
                continue
        waiting[kept] = waiting[place]
        kept += 1
    blocked = 0
    for place in range(kept):
        if blocked + gpus[order[waiting[place]]] <= free:
            blocked += gpus[order[waiting[place]]]
    return kept, started, free, blocked


@kernel
def fit(room: Ints, gpus: int, now: int, end: int, step_seconds: int, first: int) -> int:
    """Return until when, at most until `end`, there is room for `gpus`, as seen at the steps from `first` on."""
    for step in range(first, -(-end // step_seconds)):
        if room[step] < gpus:
            return max(now, step * step_seconds)
    return end


@kernel
def reserve(room: Ints, gpus: int, now: int, end: int, step_seconds: int) -> None:
    """Take `gpus` from the room at the beginning of all steps in [now, end)."""
    for step in range(-(-now // step_seconds), -(-end // step_seconds)):
        room[step] -= gpus
