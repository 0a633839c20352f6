"""The published figures of the seven scenarios, to stand beside ours; a share is of all cells or of fifo's value."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Band:
    """A published figure: a single share (`low` = `high`), or only the band within which it lies."""

    low: float
    high: float

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.low:.1%}"
        if self.high == 1.0:
            return f"at least {self.low:.0%}"
        return f"{self.low:.0%} to {self.high:.0%}"

    def holds(self, share: float, digits: int = 3) -> bool:
        """Return whether `share`, rounded as published, lies in the band."""
        return self.low <= round(share, digits) <= self.high


@dataclass(frozen=True, slots=True)
class Gain:
    """A published gain in value over fifo, as a band of shares."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:+.1%}" if self.low == self.high else f"{self.low:+.1%} to {self.high:+.1%}"


@dataclass(frozen=True, slots=True)
class Published:
    """What was published of one scenario; `fifo_cells` are exact counts of utilized cells, where they are known."""

    fifo_utilization: Band
    allocator_utilization: Band
    gain: Gain
    decision: str
    fifo_cells: int | None = None
    jobs_finished: int | None = None
    contended: bool = True

    def to_document(self) -> dict[str, Any]:
        """Return the figures as plain mappings."""
        return asdict(self)


ANY_GAIN = Gain(0.246, 1.051)
MEAN_CONTENDED_GAIN = 0.52
CONTENDED_DECISION = "1 to 2 ms"
ANOTHER = Published(Band(0.52, 0.85), Band(0.72, 0.88), ANY_GAIN, CONTENDED_DECISION)

PUBLISHED: dict[str, Published] = {
    "mixed": Published(Band(0.516, 0.516), Band(0.72, 1.0), ANY_GAIN, CONTENDED_DECISION, fifo_cells=99),
    "training-heavy": Published(
        Band(0.536, 0.536), Band(0.870, 0.870), Gain(1.05, 1.05), CONTENDED_DECISION, fifo_cells=103
    ),
    "inference-heavy": ANOTHER,
    "batch-backlog": ANOTHER,
    "quantization-burst": ANOTHER,
    "slack": Published(Band(0.0, 1.0), Band(0.0, 1.0), Gain(0.0, 0.0), "not published", contended=False),
    "scale": Published(
        Band(0.449, 0.449),
        Band(0.449, 0.449),
        Gain(0.159, 0.159),
        "15 ms",
        fifo_cells=690,
        jobs_finished=27,
        contended=False,
    ),
}
