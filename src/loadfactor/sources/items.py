"""Items of a JSON document from outside: typed access that names the place of whatever is not as it should be.

A reader turns each item of a list into facts. Where an item cannot be read, its accessor raises `InputError` with the
place (`squeue.json:jobs[3].time.start`), and the reader leaves that item out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import msgspec

from loadfactor.errors import InputError
from loadfactor.sources.sniff import refuse

_LONGEST_SHOWN = 60
_BYTE_ORDER_MARK = "\ufeff"
_LARGEST_MOMENT = 253_402_300_800.0  # the year 10000: later is no moment but a mistake in the unit


def decode_json(text: str, name: str, expected: str) -> Item:
    """Return the JSON object in `text`; raise `InputError`, saying what it looks like, where it is none."""
    try:
        document = msgspec.json.decode(text.removeprefix(_BYTE_ORDER_MARK))
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        refuse(text, name, expected)
    if not isinstance(document, dict):
        refuse(text, name, expected)
    return Item(document, f"{name}:")


@dataclass(frozen=True, slots=True)
class Item:
    """A JSON object and its place in the document; `path` ends in a colon for the whole document."""

    fields: dict[str, Any]
    path: str

    def place(self, key: str) -> str:
        """Return the place of the field `key`."""
        return self.path + key if self.path.endswith(":") else f"{self.path}.{key}"

    def has(self, key: str) -> bool:
        """Return whether the field is there and not null."""
        return self.fields.get(key) is not None

    def first(self, *keys: str) -> str:
        """Return the first of `keys` that is there, or the first of them where none is."""
        return next((key for key in keys if self.has(key)), keys[0])

    def refuse(self, key: str, wanted: str) -> NoReturn:
        """Raise `InputError`: the field is not what is `wanted`."""
        shown = repr(self.fields.get(key))
        fact = f"is {shown if len(shown) <= _LONGEST_SHOWN else shown[:_LONGEST_SHOWN] + '…'}, and {wanted} is expected"
        raise InputError.of(self.place(key), fact, "correct it, or write the document again")

    def text(self, key: str) -> str | None:
        """Return a text, None where it is missing or empty; a number becomes its digits."""
        value = self.fields.get(key)
        if value is None or value == "":
            return None
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            self.refuse(key, "a text")
        return value

    def number(self, key: str) -> float | None:
        """Return a finite number, None where it is missing; digits in a text count."""
        value = self.fields.get(key)
        if value is None or value == "":
            return None
        number = _as_float(value)
        if number is None or not math.isfinite(number):
            self.refuse(key, "a number")
        return number

    def item(self, key: str) -> Item:
        """Return the object in the field, an empty one where it is missing."""
        value = self.fields.get(key)
        if value is None:
            return Item({}, self.place(key))
        if not isinstance(value, dict):
            self.refuse(key, "an object")
        return Item(value, self.place(key))

    def list(self, key: str) -> list[Any]:
        """Return the list in the field, an empty one where it is missing."""
        value = self.fields.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self.refuse(key, "a list")
        return value

    def items(self, key: str) -> Iterator[Item]:
        """Yield the objects of a list; raise `InputError` at the first entry that is none."""
        for position, value in enumerate(self.list(key)):
            place = f"{self.place(key)}[{position}]"
            if not isinstance(value, dict):
                raise InputError.of(place, "is no object", "write the document again")
            yield Item(value, place)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts; a single text is a list of one, and a missing field is empty."""
        value = self.fields.get(key)
        if isinstance(value, str):
            return (value,) if value else ()
        found = self.list(key)
        if not all(isinstance(text, str) for text in found):
            self.refuse(key, "a list of texts")
        return tuple(found)


def moment_of(seconds: float | None, item: Item, key: str) -> float | None:
    """Return seconds since 1970 as they are, None for 0 or less; refuse the field where no calendar has them."""
    if seconds is None or seconds <= 0:
        return None
    if seconds > _LARGEST_MOMENT:
        item.refuse(key, "a moment in seconds since 1970")
    return seconds


def _as_float(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
