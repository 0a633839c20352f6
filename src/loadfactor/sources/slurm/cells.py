"""What the parsers of Slurm's cells share: how they say that they cannot read one, and what stands for nothing."""

from __future__ import annotations

from functools import lru_cache

CACHED_CELLS = 65_536
"""How many cells of one kind are remembered: most cells of a log repeat."""
MAX_COUNT = 1_000_000
"""No row has more GPUs, nodes or tasks than this: a greater number is one of Slurm's marks for "not set"."""

NOTHING = frozenset({"", "unknown", "none", "none assigned", "(null)", "null", "n/a", "not set", "invalid"})
"""The cells, in lower case, by which Slurm says that it knows nothing."""

_LONGEST_SHOWN = 60


class UnreadableCell(ValueError):  # noqa: N818 - the thing that was found, like `Fault`
    """A cell that holds nothing readable: `fact` completes "the cell ...", `remedy` says what to do."""

    def __init__(self, text: str, fact: str, remedy: str = "correct the cell") -> None:
        shown = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "..."
        self.fact = f"{shown!r} {fact}"
        self.remedy = remedy
        super().__init__(f"{self.fact}; {remedy}")


@lru_cache(CACHED_CELLS)
def says_nothing(text: str) -> bool:
    """Return whether `text` is one of the ways in which Slurm leaves a cell empty."""
    return text.strip().lower() in NOTHING
