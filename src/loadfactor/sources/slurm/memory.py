"""The memory that a job requests: `62.50G` for the job, `8000Mn` for each node, `4000Mc` for each CPU."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from loadfactor.sources.slurm.cells import CACHED_CELLS, UnreadableCell, says_nothing

Share = Literal["job", "node", "cpu"]

_AMOUNT = re.compile(r"(\d{1,20}(?:\.\d+)?)([KMGTPE?]?)([nc]?)", re.IGNORECASE)
_MEBIBYTES = {"k": 1 / 1024, "": 1.0, "m": 1.0, "g": 1024.0, "t": 1024.0**2, "p": 1024.0**3, "e": 1024.0**4}
_SHARES: dict[str, Share] = {"": "job", "n": "node", "c": "cpu"}
_PER_CPU_FLAG_MIB = 2**31
_MOST_MIB = 2.0**40
"""An exbibyte: more than that is one of Slurm's marks for "not set"."""


class Memory(Struct, frozen=True, gc=False):
    """`mebibytes` for the whole job, each of its nodes or each of its CPUs."""

    mebibytes: float
    share: Share = "job"

    def total_mib(self, nodes: int | None, cpus: int | None) -> float | None:
        """Return the mebibytes of a job on `nodes` nodes and `cpus` CPUs; None where the count needed is unknown."""
        times = {"job": 1, "node": nodes, "cpu": cpus}[self.share]
        return None if times is None else self.mebibytes * times


@lru_cache(CACHED_CELLS)
def parse_memory(text: str) -> Memory | None:
    """Return the memory in a ReqMem cell; None where Slurm's marks say that none was set (`16?`, `0n`).

    A version that keeps memory in 64 bits may print a job of an older one with the old mark for "each CPU", the 32nd
    bit, still in the number: `2147486648Mn` is 3000 MiB for each CPU. Raises `UnreadableCell` for anything else.
    """
    plain = text.strip()
    if says_nothing(plain):
        return None
    matched = _AMOUNT.fullmatch(plain)
    if matched is None:
        raise UnreadableCell(text, "is no amount of memory", "write it as 4000M, 62.50G, 8Gn or 4Gc")
    unit, share = matched[2].lower(), _SHARES[matched[3].lower()]
    if unit == "?":
        return None
    mebibytes = float(matched[1]) * _MEBIBYTES[unit]
    if unit in ("", "m") and _PER_CPU_FLAG_MIB <= mebibytes < 2 * _PER_CPU_FLAG_MIB:
        mebibytes, share = mebibytes - _PER_CPU_FLAG_MIB, "cpu"
    return Memory(mebibytes, share) if 0 < mebibytes < _MOST_MIB else None
