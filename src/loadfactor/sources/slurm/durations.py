"""Slurm's spans of time: `12-14:16:39`, `08:30`, plain minutes of a limit, `UNLIMITED`, `Partition_Limit`."""

from __future__ import annotations

import math
import re
from functools import lru_cache

from loadfactor.sources.slurm.cells import CACHED_CELLS, UnreadableCell, says_nothing
from loadfactor.units import SECONDS_PER_DAY, SECONDS_PER_HOUR, SECONDS_PER_MINUTE

_WITH_DAYS = re.compile(r"(\d{1,6})-(\d{1,5})(?::(\d{1,2}))?(?::(\d{1,2}(?:\.\d+)?))?")
_CLOCK = re.compile(r"(?:(\d{1,7}):)?(\d{1,7}):(\d{1,2}(?:\.\d+)?)")
_NUMBER = re.compile(r"\d{1,20}(?:\.\d+)?")
_UNLIMITED = frozenset({"unlimited", "infinite"})
_UNKNOWN_LIMIT = frozenset({"partition_limit", "invalid"})
NOT_SET = 4_294_967_294
"""The greatest number but one of 32 bits, which Slurm prints for "not set"; the greatest is "without limit"."""


@lru_cache(CACHED_CELLS)
def parse_elapsed(text: str) -> float | None:
    """Return the seconds in a run time `[days-[hours:]]minutes:seconds` or a plain number of seconds; None for nothing.

    Raises `UnreadableCell` for anything else.
    """
    plain = text.strip()
    if says_nothing(plain):
        return None
    if _NUMBER.fullmatch(plain):
        return float(plain) if float(plain) < NOT_SET else None
    return _clock(plain)


@lru_cache(CACHED_CELLS)
def parse_limit(text: str) -> float | None:
    """Return the seconds in a limit; infinite where it is off, None where only the partition's limit holds.

    A plain number is in minutes, as in TimelimitRaw. Raises `UnreadableCell` for anything else.
    """
    plain = text.strip()
    lower = plain.lower()
    if says_nothing(plain) or lower in _UNKNOWN_LIMIT:
        return None
    if lower in _UNLIMITED:
        return math.inf
    if not _NUMBER.fullmatch(plain):
        return _clock(plain)
    minutes = float(plain)
    if minutes > NOT_SET:
        return math.inf
    return None if minutes == NOT_SET else minutes * SECONDS_PER_MINUTE


def _clock(text: str) -> float:
    with_days = _WITH_DAYS.fullmatch(text)
    if with_days:
        days, hours, minutes, seconds = (float(part or 0) for part in with_days.groups())
    else:
        clock = _CLOCK.fullmatch(text)
        if clock is None:
            raise UnreadableCell(text, "is no span of time", "write it as days-hours:minutes:seconds")
        days = 0.0
        hours, minutes, seconds = (float(part or 0) for part in clock.groups())
    return days * SECONDS_PER_DAY + hours * SECONDS_PER_HOUR + minutes * SECONDS_PER_MINUTE + seconds
