"""What all of Slurm's JSON shares, from 21.08's plain numbers to data_parser v0.0.4x: numbers, cells, resources."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from loadfactor.errors import Fault, InputError
from loadfactor.sources.facts import JobState
from loadfactor.sources.items import Item, decode_json, moment_of
from loadfactor.sources.slurm.cells import UnreadableCell
from loadfactor.sources.slurm.durations import NOT_SET
from loadfactor.sources.slurm.states import parse_state
from loadfactor.sources.sniff import refuse

Parsed = TypeVar("Parsed")

WITHOUT_LIMIT = NOT_SET + 1
_MARKS_NOT_SET = frozenset({float(NOT_SET), float(2**64 - 2), -2.0})
_MARKS_INFINITE = frozenset({float(WITHOUT_LIMIT)})
_MOST_QUOTED = 3
_WANTED = ("gres", "mem")
_BASE_STATES = frozenset(JobState) - {JobState.REQUEUED, JobState.UNKNOWN}


@dataclass(frozen=True, slots=True)
class Answered:
    """The list at `key` of a document, notes on what Slurm reports as wrong, and when the controller wrote it."""

    key: str
    entries: list[Any]
    notes: tuple[str, ...]
    written_at: float | None


def list_of(text: str, name: str, keys: Sequence[str], expected: str) -> Answered:
    """Return the list at the first of `keys` that a document has.

    Raises `InputError` where the text is no such document, or one in which Slurm answers with errors alone.
    """
    document = decode_json(text, name, expected)
    errors = _messages(document, "errors")
    key = document.first(*keys)
    if not document.has(key) and errors:
        raise InputError.of(name, f"holds no {key}, but Slurm's error: {errors[0]}", "ask Slurm again")
    if not isinstance(document.fields.get(key), list):
        refuse(text, name, expected)
    notes = [f"{name}: Slurm reports an error: {error}" for error in errors]
    return Answered(key, document.list(key), tuple(notes[:_MOST_QUOTED]), _written_at(document))


def _written_at(document: Item) -> float | None:
    try:
        return api_moment(document, "last_update")
    except InputError:
        return None


def api_number(item: Item, key: str) -> float | None:
    """Return a number: plain, or `{set, infinite, number}`; None where it is not set, infinite where it is endless."""
    value = item.fields.get(key)
    if not isinstance(value, dict):
        return _unmarked(item.number(key))
    wrapped = item.item(key)
    if wrapped.fields.get("infinite") is True:
        return math.inf
    if wrapped.fields.get("set") is not True:
        return None
    return _unmarked(wrapped.number("number"))


def api_count(item: Item, key: str) -> int | None:
    """Return a whole number of 0 or more, None where it is not set or endless."""
    number = api_number(item, key)
    if number is None or math.isinf(number):
        return None
    if number < 0 or number != int(number):
        item.refuse(key, "a whole number of 0 or more")
    return int(number)


def api_moment(item: Item, key: str) -> float | None:
    """Return seconds since 1970; None where they are not set, 0 or one of Slurm's marks."""
    number = api_number(item, key)
    return None if number is None or math.isinf(number) else moment_of(number, item, key)


def api_cell(item: Item, key: str, parse: Callable[[str], Parsed], text: str | None = None) -> Parsed:
    """Return what `parse` makes of a text (that of the field `key` unless given), its faults placed at `key`."""
    try:
        return parse((item.text(key) or "") if text is None else text)
    except UnreadableCell as error:
        raise InputError.of(item.place(key), error.fact, error.remedy) from None


def resources_text(item: Item, key: str) -> str:
    """Return resources as `gres/gpu:h100=4,mem=512`: GPUs and memory of a list of records, or a text as it is."""
    value = item.fields.get(key)
    if isinstance(value, str):
        return value
    return ",".join(_resource(resource) for resource in item.items(key) if resource.fields.get("type") in _WANTED)


def base_state(words: Sequence[str]) -> JobState:
    """Return the state that a list of state and flags (`RUNNING`, `COMPLETING`) stands for: the base, if one is there.

    A job that was requeued waits as PENDING beside the flag REQUEUED, and one that ends is COMPLETED beside COMPLETING.
    """
    base = [JobState(word) for word in words if word in _BASE_STATES]
    return base[0] if base else parse_state(words[0] if words else "")


def label(item: Item, key: str) -> str | None:
    """Return a text that only describes, None where it is missing or no text: no row is left out for its sake."""
    value = item.fields.get(key)
    return value if isinstance(value, str) and value.strip() not in ("", "None") else None


def first_fault(error: InputError) -> Fault:
    """Return the first fault of an error."""
    return error.faults[0]


def _resource(resource: Item) -> str:
    kind, name = resource.text("type") or "", resource.text("name")
    count = resource.number("count")
    if kind == "gres" and (count is None or count < 0 or count != int(count)):
        resource.refuse("count", "a whole number of 0 or more")
    shown = "" if count is None else str(int(count))
    return f"{kind}{'/' + name if name else ''}={shown}"


def _unmarked(number: float | None) -> float | None:
    if number in _MARKS_NOT_SET:
        return None
    return math.inf if number in _MARKS_INFINITE else number


def _messages(document: Item, key: str) -> list[str]:
    found = document.fields.get(key)
    return [_message(entry) for entry in found] if isinstance(found, list) else []


def _message(entry: Any) -> str:
    if not isinstance(entry, dict):
        return str(entry)
    parts: Iterable[Any] = (entry.get("error"), entry.get("description"))
    return ": ".join(str(part) for part in parts if part and part != "No error")
