"""Kubernetes' values: quantities such as `3k` or `500m`, and moments in RFC 3339."""

from __future__ import annotations

import math
import re
from datetime import datetime

from loadfactor.sources.items import Item

_QUANTITY = re.compile(r"([+-]?\d{1,30}(?:\.\d{0,30})?)(?:[eE]([+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i)?)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_MOST_GPUS = 1_000_000


def quantity(item: Item, key: str) -> float | None:
    """Return a quantity, None where it is missing; refuse the field where it is none.

    Kubernetes shortens what users write: 3000 becomes `3k`.
    """
    value = item.text(key)
    if value is None:
        return None
    matched = _QUANTITY.fullmatch(value.strip())
    if matched is None:
        item.refuse(key, "a quantity such as 1, 500m or 3k")
    suffix = matched[3] or ""
    if suffix.endswith("i"):
        return float(matched[1]) * 1024.0 ** ("KMGTPE".index(suffix[0]) + 1)
    return float(matched[1]) * 10.0 ** (int(matched[2]) if matched[2] else _DECIMAL.get(suffix, 0))


def whole(item: Item, key: str) -> int:
    """Return a quantity as a count of 0 or more, 0 where it is missing."""
    number = quantity(item, key)
    if number is None:
        return 0
    if not 0 <= number <= _MOST_GPUS or number != math.floor(number):
        item.refuse(key, f"a whole number from 0 to {_MOST_GPUS}")
    return int(number)


def moment(item: Item, key: str) -> float | None:
    """Return seconds since 1970, None where the field is missing."""
    value = item.text(key)
    if value is None:
        return None
    try:
        read = datetime.fromisoformat(value)
        if read.tzinfo is None:
            raise ValueError(value)
        return read.timestamp()
    except (ValueError, OverflowError):
        item.refuse(key, "a moment such as 2024-05-14T08:30:00Z")
