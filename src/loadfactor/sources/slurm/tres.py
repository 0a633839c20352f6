"""Slurm's trackable resources: `cpu=12,gres/gpu=4,gres/gpu:a100=4,mem=31000M` (ReqTRES, AllocTRES)."""

from __future__ import annotations

from functools import lru_cache

from loadfactor.sources.slurm.cells import CACHED_CELLS, UnreadableCell, says_nothing
from loadfactor.sources.slurm.gpus import NO_GPUS, Gpus, joined_types, parse_count

_GPU = "gres/gpu"
_SHARES = ("gres/shard", "gres/mps")


@lru_cache(CACHED_CELLS)
def parse_tres(text: str) -> Gpus:
    """Return the GPUs in a TRES cell; raise `UnreadableCell` where a count of GPUs is none.

    Slurm tracks the total `gres/gpu=4` beside the typed `gres/gpu:a100=4`, or only one of them, as the site has set
    `AccountingStorageTRES`: the total is believed where there is one, else the typed are added. The type is told only
    where the typed ones make up the whole.
    """
    if says_nothing(text):
        return NO_GPUS
    total: int | None = None
    typed: dict[str, int] = {}
    shares = 0
    for entry in text.split(","):
        name, equals, amount = entry.strip().partition("=")
        resource, _, gpu_type = name.partition(":")
        if resource in _SHARES:
            shares += parse_count(amount)
        if resource != _GPU:
            continue
        if not equals:
            raise UnreadableCell(text, f"names {name} without a count")
        count = parse_count(amount)
        if gpu_type:
            typed[gpu_type] = typed.get(gpu_type, 0) + count
        else:
            total = count
    return _added(total, {name: count for name, count in typed.items() if count}, shares)


@lru_cache(CACHED_CELLS)
def amount_in_tres(text: str, resource: str) -> str | None:
    """Return the amount of `resource` in a TRES cell as it is written (`mem` in `cpu=1,mem=62.50G`: `62.50G`)."""
    for entry in text.split(","):
        name, equals, amount = entry.strip().partition("=")
        if equals and name == resource:
            return amount
    return None


def _added(total: int | None, typed: dict[str, int], shares: int) -> Gpus:
    whole = sum(typed.values())
    count = whole if total is None else total
    return Gpus(count, joined_types(typed) if whole == count else None, (), shares)
