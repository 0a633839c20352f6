"""The GPUs that a cell names: how many, of which type, at which indices; the result of parsing GRES and TRES."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from loadfactor.sources.slurm.cells import CACHED_CELLS, MAX_COUNT, UnreadableCell

_COUNT = re.compile(r"(\d{1,20})(?:\.0+)?([KkMm]?)")
_UNITS = {"": 1, "k": 1024, "m": 1024 * 1024}
_SLICE = re.compile(r"(?:^|[_\-.:])\d+g\.\d+gb", re.IGNORECASE)


class Gpus(Struct, frozen=True, gc=False):
    """`count` GPUs; `gpu_type` is None where the cell names none, `a100+v100` where they are of several types.

    `indices` are the numbers of the GPUs on their node, where the cell says them. `shares` counts parts of a GPU that
    are requested by their own names (`shard`, `mps`): they are no GPUs of their own.
    """

    count: int = 0
    gpu_type: str | None = None
    indices: tuple[int, ...] = ()
    shares: int = 0


NO_GPUS = Gpus()


def parse_count(text: str) -> int:
    """Return a count such as `4`, `4.00` or `2K`; raise `UnreadableCell` where it is none or beyond belief."""
    matched = _COUNT.fullmatch(text.strip())
    if matched is None:
        raise UnreadableCell(text, "is no count")
    count = int(matched[1]) * _UNITS[matched[2].lower()]
    if count > MAX_COUNT:
        raise UnreadableCell(text, f"is more than {MAX_COUNT}, which nobody has")
    return count


@lru_cache(CACHED_CELLS)
def is_slice(gpu_type: str | None) -> bool:
    """Return whether `gpu_type` names a slice of a GPU (MIG), such as `1g.10gb` or `a100_1g.5gb`."""
    return gpu_type is not None and _SLICE.search(gpu_type) is not None


def joined_types(types: Iterable[str]) -> str | None:
    """Return the one type, several joined by `+` in the order of the alphabet, or None."""
    return "+".join(sorted(set(types))) or None
