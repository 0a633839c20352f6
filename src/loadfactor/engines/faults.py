"""What can go wrong in the virtual world, drawn with a seed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from loadfactor.model import Cluster
from loadfactor.units import SECONDS_PER_DAY, SECONDS_PER_HOUR

WILD_DAYS = (365, 3650)
"""How many days ahead a wild stamp is, at least and less than."""


@dataclass(frozen=True)
class FaultRates:
    """How often things go wrong; all zero by default.

    `node_losses_per_hour` is for the whole cluster; a lost node is back after up to `repair_seconds`. Messages are late
    by up to `delay_seconds` with probability `late`, and come twice with probability `doubled`. A start is refused with
    probability `refused`. `clock_jump_seconds` is the most by which the clock that stamps events is wrong for a while.
    A measurement of demand is dated years ahead with probability `wild_stamp`.
    """

    node_losses_per_hour: float = 0.0
    repair_seconds: int = SECONDS_PER_HOUR
    late: float = 0.0
    delay_seconds: int = 0
    doubled: float = 0.0
    refused: float = 0.0
    clock_jump_seconds: int = 0
    wild_stamp: float = 0.0


@dataclass(frozen=True, slots=True)
class NodeLoss:
    """A node, or one of its GPUs, fails at a second and is back at another."""

    at: int
    gpus: tuple[int, ...]
    back_at: int


class Faults:
    """Draws what goes wrong; the same seed and the same questions give the same faults."""

    def __init__(self, rates: FaultRates, seed: int) -> None:
        self.rates, self.seed = rates, seed
        self._losses = Random(f"losses {seed}")  # noqa: S311 - faults of a virtual world
        self._messages = Random(f"messages {seed}")  # noqa: S311
        self._starts = Random(f"starts {seed}")  # noqa: S311
        self._clock = Random()  # noqa: S311
        self._stamps = Random(f"stamps {seed}")  # noqa: S311

    def losses(self, cluster: Cluster, begin: int, end: int) -> list[NodeLoss]:
        """Return the failures in [begin, end), by time: a whole node in half of them, one GPU otherwise."""
        rate = self.rates.node_losses_per_hour / SECONDS_PER_HOUR
        losses: list[NodeLoss] = []
        at = float(begin)
        while rate > 0 and (at := at + self._losses.expovariate(rate)) < end:
            node = self._losses.randrange(len(cluster.nodes))
            first, last = cluster.node_offsets[node], cluster.node_offsets[node + 1]
            if self._losses.random() < 0.5:
                first = self._losses.randrange(first, last)
                last = first + 1
            back_at = int(at) + 1 + self._losses.randrange(max(1, self.rates.repair_seconds))
            losses.append(NodeLoss(int(at), tuple(range(first, last)), back_at))
        return losses

    def deliveries(self, at: int) -> list[int]:
        """Return the seconds at which a message sent at `at` arrives: once or twice, at once or late."""
        rates, times = self.rates, [at]
        if rates.doubled and self._messages.random() < rates.doubled:
            times.append(at)
        if not rates.late:
            return times
        return [time + self._delay() for time in times]

    def _delay(self) -> int:
        late = self._messages.random() < self.rates.late
        return self._messages.randrange(1, self.rates.delay_seconds + 1) if late else 0

    def refuses(self) -> bool:
        """Return whether the next start is refused."""
        return self.rates.refused > 0 and self._starts.random() < self.rates.refused

    def stamp(self, at: int) -> int:
        """Return the time that the engine's clock shows at second `at`: in one hour in eight it is wrong."""
        most = self.rates.clock_jump_seconds
        if not most:
            return at
        self._clock.seed(f"clock {self.seed} {at // SECONDS_PER_HOUR}")
        wrong = self._clock.random() < 0.125
        return max(0, at + self._clock.randint(-most, most)) if wrong else at

    def stamp_of_measurement(self, at: int) -> int:
        """Return the time that a measurement made at second `at` bears."""
        if self.rates.wild_stamp and self._stamps.random() < self.rates.wild_stamp:
            return at + SECONDS_PER_DAY * self._stamps.randrange(*WILD_DAYS)
        return self.stamp(at)
