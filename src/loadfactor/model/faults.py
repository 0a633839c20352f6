"""Pydantic's findings in our own words: the path of the field, the fact, the remedy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from loadfactor.errors import Fault

CONTRADICTIONS = "contradictions"

_WORDS: Mapping[str, tuple[str, str]] = {
    "missing": ("is missing", "add it"),
    "extra_forbidden": ("is not a field of this document", "remove it or correct its name"),
    "int_type": ("must be a whole number, not {input}", "write a plain integer"),
    "int_from_float": ("must be a whole number, not {input}", "write a plain integer"),
    "int_parsing": ("must be a whole number, not {input}", "write a plain integer"),
    "int_parsing_size": ("is too large a number", "write a smaller one"),
    "float_type": ("must be a number, not {input}", "write a plain number"),
    "float_parsing": ("must be a number, not {input}", "write a plain number"),
    "finite_number": ("must be a finite number, not {input}", "write a plain number"),
    "bool_type": ("must be true or false, not {input}", "write true or false"),
    "string_unicode": ("is no Unicode text", "save the file as UTF-8 text"),
    "invalid_key": ("is not a field of this document", "remove it or put its name in quotes"),
    "string_type": ("must be text, not {input}", "put it in quotes"),
    "string_too_short": ("is empty", "give it at least {min_length} character"),
    "string_too_long": ("has more than {max_length} characters", "shorten it"),
    "string_pattern_mismatch": ("holds a control character", "use printable characters only"),
    "greater_than": ("is {input}, and must be more than {gt}", "raise it"),
    "greater_than_equal": ("is {input}, and must be at least {ge}", "raise it"),
    "less_than": ("is {input}, and must be less than {lt}", "lower it"),
    "less_than_equal": ("is {input}, and must be at most {le}", "lower it"),
    "too_short": ("has {actual_length} entries and needs at least {min_length}", "add some"),
    "too_long": ("has more than the {max_length} entries that are accepted", "split the problem"),
    "literal_error": ("is {input}, and must be {expected}", "choose one of these"),
    "tuple_type": ("must be a list, not {input}", "write it as [..., ...]"),
    "list_type": ("must be a list, not {input}", "write it as [..., ...]"),
    "model_type": ("must be a mapping of fields, not {input}", "write it as {{field: value, ...}}"),
    "dict_type": ("must be a mapping of fields, not {input}", "write it as {{field: value, ...}}"),
    "timezone_aware": ("names no time zone", "add Z for UTC or an offset such as +01:00"),
    "datetime_from_date_parsing": ("is {input}, which is no date and time", "write 2026-12-01T00:00:00Z"),
    "datetime_parsing": ("is {input}, which is no date and time", "write 2026-12-01T00:00:00Z"),
    "datetime_type": ("is {input}, which is no date and time", "write 2026-12-01T00:00:00Z"),
}
_LONGEST_INPUT = 40


def contradiction(fact: str, remedy: str) -> PydanticCustomError:
    """Return the error that a validator raises for one fault in its own field."""
    return PydanticCustomError("fault", "{fact}; {remedy}", {"fact": fact, "remedy": remedy})


def contradictions(faults: Iterable[Fault]) -> PydanticCustomError:
    """Return the error that a validator raises for many faults, whose paths start at its own value."""
    listed = tuple(faults)
    return PydanticCustomError(CONTRADICTIONS, "{count} contradictions", {"count": len(listed), "faults": listed})


def faults_of(error: ValidationError, prefix: str = "") -> list[Fault]:
    """Return every fault in `error`, with paths such as `jobs[3].gpus` behind `prefix`."""
    found = [details for details in error.errors(include_url=False) if not _is_echo(details)]
    return [fault for details in found for fault in _faults_in(details, prefix)]


def join_path(prefix: str, location: Iterable[int | str]) -> str:
    """Return `prefix` with the parts of `location` behind it: `jobs`, 3, `gpus` gives `jobs[3].gpus`."""
    path = prefix
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            name = part if part.isprintable() else repr(part)  # a terminal must not obey the name of a field
            name = name if len(name) <= _LONGEST_INPUT else name[:_LONGEST_INPUT] + "…"
            path += f".{name}" if path else name
    return path


def _is_echo(details: ErrorDetails) -> bool:
    """Return whether a list is called too short only because an entry with a fault of its own was not counted."""
    given = details["input"]
    return details["type"] == "too_short" and isinstance(given, Sized) and len(given) >= details["ctx"]["min_length"]


def _faults_in(details: ErrorDetails, prefix: str) -> Iterator[Fault]:
    path = join_path(prefix, details["loc"])
    context = details.get("ctx", {})
    if details["type"] == CONTRADICTIONS:
        for fault in context["faults"]:
            glue = "." if path and fault.path and not fault.path.startswith("[") else ""
            yield Fault(f"{path}{glue}{fault.path}", fault.fact, fault.remedy)
        return
    if details["type"] == "fault":
        yield Fault(path, context["fact"], context["remedy"])
        return
    fact, remedy = _WORDS.get(details["type"], (details["msg"], "see `loadfactor schema problem` or `schema plan`"))
    words = {name: _whole(value) for name, value in context.items()} | {"input": _shown(details["input"])}
    try:
        yield Fault(path, fact.format(**words), remedy.format(**words))
    except (KeyError, IndexError):  # a message of pydantic's own that holds braces
        yield Fault(path, details["msg"], "see `loadfactor schema problem` or `schema plan`")


def _whole(value: Any) -> Any:
    """Return a limit as people write it: 1 and not 1.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    text = "null" if value is None else repr(value)
    return text if len(text) <= _LONGEST_INPUT else text[:_LONGEST_INPUT] + "…"
