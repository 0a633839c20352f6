"""The ledger of GPU-seconds: what every GPU was used for, to the second; it must balance."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from loadfactor.errors import LoadfactorError


class Use(IntEnum):
    """What a GPU can be used for at a moment."""

    IDLE = 0
    JOB_STARTING = 1
    JOB_WORKING = 2
    PADDING = 3  # in a job's block, and not asked for
    REPLICA_STARTING = 4
    REPLICA_READY = 5
    REPLICA_STOPPING = 6
    LOST = 7


USES = tuple(Use)
ALLOWED = frozenset(
    {
        *((Use.IDLE, use) for use in Use),
        *((use, Use.IDLE) for use in Use),
        *((use, Use.LOST) for use in Use),
        (Use.JOB_STARTING, Use.JOB_WORKING),
        (Use.JOB_STARTING, Use.PADDING),
        (Use.REPLICA_STARTING, Use.REPLICA_READY),
        (Use.REPLICA_STARTING, Use.REPLICA_STOPPING),
        (Use.REPLICA_READY, Use.REPLICA_STOPPING),
        (Use.LOST, Use.LOST),
    }
)
"""From which use a GPU may go to which: nobody takes over from somebody else."""


class UnbalancedLedgerError(LoadfactorError):
    """The ledger does not balance, or a GPU went from one holder to the next without having been free."""


class Ledger:
    """Books the seconds of N GPUs by use, from second `begin` on."""

    def __init__(self, gpus: int, begin: int) -> None:
        self.begin = self.now = begin
        self._use = np.full(gpus, Use.IDLE, dtype=np.int64)
        self._since = np.full(gpus, begin, dtype=np.int64)
        self._booked = [0] * len(Use)

    def turn(self, first: int, last: int, use: Use, at: int) -> None:
        """Let GPUs [first, last) be used for `use` from second `at` on.

        Raises `UnbalancedLedgerError` where time runs backwards or a GPU is taken over from somebody.
        """
        if at < self.now:
            raise UnbalancedLedgerError(f"an entry for second {at} comes after one for second {self.now}")
        self.now = at
        if last == first + 1:  # most entries by far are a replica's, and slices of one take many times as long
            self._allow(self._use.item(first), first, last, use)
            self._booked[self._use.item(first)] += at - self._since.item(first)
            self._use[first], self._since[first] = use, at
            return
        block = slice(first, last)
        uses, seconds = self._use[block], at - self._since[block]
        for before in set(uses.tolist()):
            self._allow(before, first, last, use)
            self._booked[before] += int(seconds[uses == before].sum())
        self._use[block], self._since[block] = use, at

    def _allow(self, before: int, first: int, last: int, use: Use) -> None:
        if (before, use) not in ALLOWED:
            raise UnbalancedLedgerError(
                f"GPUs {first} to {last - 1} go from {Use(before).name} to {use.name} at second {self.now}"
            )

    def use(self, gpu: int) -> Use:
        """Return what a GPU is used for now."""
        return USES[self._use.item(gpu)]

    def seconds(self, until: int) -> dict[Use, int]:
        """Return the GPU-seconds of every use from the beginning until second `until`.

        Raises `UnbalancedLedgerError` where they are not all GPUs times all seconds.
        """
        booked = np.array(self._booked, dtype=np.int64)
        np.add.at(booked, self._use, until - self._since)
        if booked.sum() != len(self._use) * (until - self.begin) or (booked < 0).any():
            raise UnbalancedLedgerError(
                f"{booked.sum()} GPU-seconds are booked for {len(self._use)} GPUs in {until - self.begin} seconds"
            )
        return {use: int(booked[use]) for use in Use}


class DemandMeter:
    """Books met and unmet demand of one service, in GPU-seconds, from what it needs and how many replicas serve."""

    def __init__(self, begin: int) -> None:
        self._since = begin
        self.demand = self.serving = 0
        self.met = self.unmet = self.spare = 0
        self.longest_shortfall_seconds = 0
        self._short_since: int | None = None

    def turn(self, at: int, demand: int | None = None, serving: int | None = None) -> None:
        """Let demand or the number of serving replicas be another from second `at` on."""
        seconds = at - self._since
        self.met += seconds * min(self.demand, self.serving)
        self.unmet += seconds * max(0, self.demand - self.serving)
        self.spare += seconds * max(0, self.serving - self.demand)
        if seconds:
            self._watch(at)
        self._since = at
        self.demand = self.demand if demand is None else demand
        self.serving = self.serving if serving is None else serving

    def totals(self, at: int) -> tuple[int, int, int]:
        """Return the GPU-seconds met, unmet and spare until second `at`, which no change may lie behind."""
        seconds, missing = at - self._since, self.demand - self.serving
        met = self.met + seconds * min(self.demand, self.serving)
        return met, self.unmet + seconds * max(0, missing), self.spare + seconds * max(0, -missing)

    def longest_shortfall(self, at: int) -> int:
        """Return the longest time without a break in which demand was not met until second `at`, in seconds."""
        if self.demand <= self.serving:
            return self.longest_shortfall_seconds
        began = self._since if self._short_since is None else self._short_since
        return max(self.longest_shortfall_seconds, at - began)

    def forget_shortfalls(self, at: int) -> None:
        """Let the longest shortfall be that from second `at` on; one that lasts begins there."""
        self.turn(at)
        self.longest_shortfall_seconds = 0
        self._short_since = None

    def _watch(self, at: int) -> None:
        """Note whether demand was missed since the last turn: what lasts no second neither begins nor ends anything."""
        if self.demand <= self.serving:
            self._short_since = None
            return
        if self._short_since is None:
            self._short_since = self._since
        self.longest_shortfall_seconds = max(self.longest_shortfall_seconds, at - self._short_since)
