"""What a waiting job is worth now: its priority, and what ageing, fair shares and a starvation bound make of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from loadfactor.control.changes import Change, JobWaits
from loadfactor.control.planners.queue import Column
from loadfactor.control.state import FREE, ClusterState
from loadfactor.units import SECONDS_PER_HOUR

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
STARVING = 1e6
"""What the priority of a job past its bound is multiplied by: it is planned before every other."""
LEAST_FACTOR = 1e-3
EARLY = 0.5
"""Share of the starvation bound after which a job goes before all others: its block must still become free."""


@dataclass(frozen=True)
class WorthSettings:
    """What counts beside priority; everything is off by default.

    `ageing_per_hour` is added to a job's priority for every hour that it has waited. So that no job
    waits more than `starvation_hours` past its fair start, it is planned before all others once half of that is over (a
    bound that is aimed at: nobody is interrupted for it); its fair start is when the work that was
    there before it would be done if all GPUs that services leave worked on it without a gap. `shares` are the accounts'
    weights, 1 for those that are not named; an account that used u times its share within about
    `share_half_life_hours` has the worth of its jobs multiplied by 2^-u, as in the classic fair-share factor of Slurm's
    multifactor plugin.
    """

    ageing_per_hour: float = 0.0
    starvation_hours: float | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    share_half_life_hours: float = 24.0

    @property
    def active(self) -> bool:
        """Whether anything counts beside priority."""
        return bool(self.ageing_per_hour or self.starvation_hours is not None or self.shares)


class Worth:
    """Computes the worth of rows of the queue."""

    def __init__(self, settings: WorthSettings) -> None:
        self.settings = settings
        self.fair_start: Column[np.float64] = Column(np.float64, np.inf)
        self._account: Column[np.int64] = Column(np.int64, 0)
        self._submitted: Column[np.float64] = Column(np.float64, 0.0)
        self._accounts: dict[str | None, int] = {}
        self._used: Floats = np.zeros(0, dtype=np.float64)
        self._used_at = 0

    def notice(self, change: Change, state: ClusterState, backlog_gpu_seconds: Callable[[ClusterState], float]) -> None:
        """Note when a job came, whose it is, and when it would fairly start behind the work that is there."""
        if not isinstance(change, JobWaits) or not self.settings.active:
            return
        job = change.job
        name = job.request.account
        self._account[job.row] = self._accounts.setdefault(name, len(self._accounts))
        self._submitted[job.row] = job.submitted_at
        if job.attempt == 0 and self.settings.starvation_hours is not None:
            held = sum(int(np.count_nonzero(state.held_by(service))) for service in state.services)
            gpus = max(job.size, int(np.count_nonzero(~state.lost)) - held)
            self.fair_start[job.row] = job.submitted_at + backlog_gpu_seconds(state) / gpus

    def of(self, rows: Ints, priority: Floats, state: ClusterState) -> Floats:
        """Return the worth of `rows`, of which `priority` are the priorities."""
        settings, now = self.settings, state.now
        if not settings.active:
            return priority
        worth = priority + settings.ageing_per_hour * (now - self._submitted.of(rows)) / SECONDS_PER_HOUR
        if settings.shares:
            worth = worth * self._factors(state)[self._account.of(rows)]
        if settings.starvation_hours is not None:
            patience = EARLY * settings.starvation_hours * SECONDS_PER_HOUR
            starving = now > self.fair_start.of(rows) + patience
            worth = np.where(starving, STARVING / np.maximum(1.0, self.fair_start.of(rows) / SECONDS_PER_HOUR), worth)
        return worth

    def _factors(self, state: ClusterState) -> Floats:
        """Return the fair-share factor of every account, after booking what jobs held since the last time."""
        count, seconds = len(self._accounts), state.now - self._used_at
        used = np.zeros(count, dtype=np.float64)
        used[: len(self._used)] = self._used * 0.5 ** (seconds / SECONDS_PER_HOUR / self.settings.share_half_life_hours)
        holding = state.owner[state.owner > FREE]
        used += np.bincount(self._account.of(holding), minlength=count) * float(seconds)
        self._used, self._used_at = used, state.now
        weights = np.array([self.settings.shares.get(name or "", 1.0) for name in self._accounts])
        share_used = used / max(used.sum(), 1.0)
        factors: Floats = np.maximum(LEAST_FACTOR, 2.0 ** -(share_used * weights.sum() / np.maximum(weights, 1e-9)))
        return factors
