"""The memory of a GPU by the name of its type: `H100-80GB`, `NVIDIA-A100-SXM4-40GB`, `a100_80gb`, `1g.10gb`, `T4`."""

from __future__ import annotations

import re
from functools import lru_cache

from loadfactor.sources.clusters import MEMORY_GIB

_STATED = re.compile(r"(?<![a-z\d])(?<!\d\.)(\d{1,4}(?:\.\d{1,2})?)\s?g(?:i?b)?(?![a-z0-9.])", re.IGNORECASE)
_BY_LOWER_NAME = {name.lower(): memory for name, memory in MEMORY_GIB.items()}


@lru_cache(4096)
def memory_gib_of(gpu_type: str | None) -> float | None:
    """Return the GiB that the name states or that its maker states for it; None where the name leaves it open (`h100`).

    A slice's name (MIG, `1g.10gb`) states the memory of the slice. Of several types joined by `+` it is the least, if
    each is known.
    """
    if gpu_type is None:
        return None
    if "+" in gpu_type:
        each = [memory_gib_of(part) for part in gpu_type.split("+")]
        return None if None in each else min(memory for memory in each if memory is not None)
    known = _BY_LOWER_NAME.get(gpu_type.lower())
    if known is not None:
        return known
    stated = [float(number) for number in _STATED.findall(gpu_type.replace("_", " ").replace("-", " "))]
    return stated[-1] if stated and stated[-1] > 0 else None
