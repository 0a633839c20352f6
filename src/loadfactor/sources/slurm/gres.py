"""Slurm's generic resources: `gpu:h100:5(IDX:0-2,4-5)`, `gres:gpu:2`, `gpu:a100_1g.5gb:2` (AllocGRES, GRES_IDX)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from loadfactor.sources.slurm.cells import CACHED_CELLS, MAX_COUNT, UnreadableCell, says_nothing
from loadfactor.sources.slurm.gpus import NO_GPUS, Gpus, joined_types, parse_count

_GPU_PLUGIN = "7696487"
"""`gpu` as old versions print it: the bytes of the name as one number, little end first."""
_ENTRY = re.compile(r"[^,(]*(?:\([^)]*\)[^,(]*)*")
_COUNTED = re.compile(r"\d+(?:\.0+)?[KkMm]?")
_INDICES = re.compile(r"\((?:IDX|INDEX):([^)]*)\)", re.IGNORECASE)
_NO_INDICES = frozenset({"", "n/a"})
_FLAGS = frozenset({"no_consume"})


@lru_cache(CACHED_CELLS)
def parse_gres(text: str) -> Gpus:
    """Return the GPUs in a GRES cell; raise `UnreadableCell` where a count or an index is none.

    Every style is read: `gpu`, `gpu:2`, `gpu:h100:2`, `gres:gpu:2`, `gres/gpu:2`, `gres/gpu=2`, with sockets `(S:0-1)`
    or indices `(IDX:0-2,4)` behind it. What a cell says is for one node or for the whole job, as its column has it.
    """
    if says_nothing(text):
        return NO_GPUS
    if text.count("(") != text.count(")"):
        raise UnreadableCell(text, "is cut within its brackets")
    count, shares = 0, 0
    types: list[str] = []
    indices: list[int] = []
    for entry in _entries(text):
        name, gpu_type, amount = _split(entry)
        if name in ("shard", "mps"):
            shares += amount
        if name not in ("gpu", _GPU_PLUGIN):
            continue
        count += amount
        types += [gpu_type] if gpu_type and amount else []
        indices += _indices(entry)
    return Gpus(count, joined_types(types), tuple(sorted(set(indices))), shares)


@lru_cache(CACHED_CELLS)
def parse_indices(text: str) -> tuple[int, ...]:
    """Return the numbers in `0-2,4-5`, in their order; none in an empty cell or `N/A`."""
    if text.strip().lower() in _NO_INDICES:
        return ()
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise UnreadableCell(text, "is no list of GPU indices such as 0-2,4")
        low, high = int(first), int(last if dash else first)
        if not low <= high <= low + 1024 <= MAX_COUNT:
            raise UnreadableCell(text, "is no list of GPU indices of one node")
        found.update(range(low, high + 1))
    return tuple(sorted(found))


def _entries(text: str) -> Iterator[str]:
    """Yield what the commas outside brackets separate."""
    yield from (entry.strip() for entry in _ENTRY.findall(text) if entry.strip())


def _split(entry: str) -> tuple[str, str | None, int]:
    """Return name, type and count of one entry, its brackets cut off."""
    plain = entry.partition("(")[0].strip().removeprefix("gres:").removeprefix("gres/")
    words = [word for word in re.split(r"[:=]", plain) if word.lower() not in _FLAGS]
    name, rest = words[0].strip(), words[1:]
    if not rest:
        return name, None, 1
    if name not in ("gpu", _GPU_PLUGIN, "shard", "mps"):
        return name, None, 0
    if _COUNTED.fullmatch(rest[-1].strip()):
        return name, _type_of(name, rest[:-1]), parse_count(rest[-1])
    if "=" in plain:
        raise UnreadableCell(entry, "names a resource without a count")
    return name, _type_of(name, rest), 1


def _type_of(name: str, words: list[str]) -> str | None:
    text = ":".join(words).strip()
    return None if name == _GPU_PLUGIN or text in ("", "(null)") else text  # old versions hash the type as well


def _indices(entry: str) -> tuple[int, ...]:
    matched = _INDICES.search(entry)
    return parse_indices(matched[1]) if matched else ()
