"""Reading and writing the two documents, in JSON or YAML, within declared limits."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import yaml

from loadfactor.errors import InputError
from loadfactor.model import limits
from loadfactor.model.plan import Plan
from loadfactor.model.problem import Problem

STANDARD_INPUT = "-"
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAGS = {
    f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "str", "int", "float", "bool", "null", "timestamp", "merge")
}


def read_problem(source: str | Path) -> Problem:
    """Return the problem in the file `source`, or on standard input for `-`; raise `InputError`."""
    return Problem.from_document(read_document(source))


def read_plan(source: str | Path) -> Plan:
    """Return the plan in the file `source`, or on standard input for `-`; raise `InputError`."""
    return Plan.from_document(read_document(source))


def read_document(source: str | Path) -> Any:
    """Return the plain mappings and lists in the file `source`, or on standard input for `-`."""
    if str(source) == STANDARD_INPUT:
        return parse_document(_read_within_limit(sys.stdin.buffer, "standard input"), "standard input")
    path = Path(source)
    try:
        with path.open("rb") as stream:
            content = _read_within_limit(stream, str(path))
    except OSError as error:
        raise InputError.of(str(path), f"cannot be read ({error.strerror})", "check the name and your rights") from None
    except ValueError:  # a NUL in the name
        raise InputError.of(repr(str(source)), "is no name of a file", "check the name") from None
    return parse_document(content, str(path))


def parse_document(text: bytes | str, name: str = "document") -> Any:
    """Return the plain mappings and lists in `text`, which is JSON if it starts like JSON and YAML otherwise."""
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError.of(name, f"byte {error.start} is not UTF-8", "save the file as UTF-8 text") from None
    if decoded.lstrip()[:1] in ("{", "["):
        return _parse_json(decoded, name)
    return _parse_yaml(decoded, name)


def write_document(document: dict[str, Any], target: str | Path) -> None:
    """Write `document` to `target`: YAML for .yaml and .yml, else JSON. The file is whole or not there at all."""
    path = Path(target)
    is_yaml = path.suffix in {".yaml", ".yml"}
    text = yaml.safe_dump(document, sort_keys=False, width=110) if is_yaml else to_json(document)
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise InputError.of(str(path), f"cannot be written ({error.strerror})", "choose another place") from None


def to_json(document: dict[str, Any]) -> str:
    """Return `document` as JSON with one line for each job, service and node, and a newline at the end."""
    return "{" + ",".join(f"\n {json.dumps(key)}: {_json_value(value)}" for key, value in document.items()) + "\n}\n"


def _json_value(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n  " + ",\n  ".join(json.dumps(item) for item in value) + "\n ]"
    return json.dumps(value)


def _read_within_limit(stream: BinaryIO, name: str) -> bytes:
    content = stream.read(limits.MAX_DOCUMENT_BYTES + 1)
    if len(content) > limits.MAX_DOCUMENT_BYTES:
        fact = f"is larger than the {limits.MAX_DOCUMENT_BYTES // 2**20} MiB that are accepted"
        raise InputError.of(name, fact, "split the problem")
    return content


def _parse_json(text: str, name: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        # YAML's flow style looks like JSON at its first character
        if error.msg.startswith("Expecting property name"):
            return _parse_yaml(text, name)
        raise InputError.of(name, f"{where}: {error.msg}", "correct the JSON") from None
    except (_DocumentError, ValueError) as error:
        raise InputError.of(name, _first_line(error), "correct the JSON") from None
    except RecursionError:
        raise InputError.of(name, "is nested too deeply", "flatten the document") from None


def _parse_yaml(text: str, name: str) -> Any:
    if sum(map(text.count, ",:\n")) > limits.MAX_DOCUMENT_NODES:  # composing them would take gigabytes first
        fact = f"holds more than the {limits.MAX_DOCUMENT_NODES} values that are accepted"
        raise InputError.of(name, fact, "split the problem")
    try:
        loader = _Loader(text)
        try:
            root = loader.get_single_node()
            if root is None:
                raise _DocumentError("is empty")
            _refuse_bombs(root)
            return loader.construct_document(root)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise InputError.of(name, f"{where}{error.problem}", "correct the YAML") from None
    except (yaml.YAMLError, _DocumentError, ValueError) as error:
        raise InputError.of(name, _first_line(error), "correct the YAML") from None
    except (IndexError, KeyError, AttributeError, TypeError, OverflowError):  # PyYAML on a tag such as `!!int ""`
        raise InputError.of(name, "holds a value that does not fit its tag", "remove the tag") from None
    except RecursionError:
        raise InputError.of(name, "is nested too deeply", "flatten the document") from None


class _DocumentError(Exception):
    """What a parser's hook found wrong; turned into an `InputError` by its caller."""


def _first_line(error: Exception) -> str:
    line = str(error).splitlines()[0]
    return "holds a number of thousands of digits" if line.startswith("Exceeds the limit") else line


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    for key in mapping:
        if not (key.isascii() or _is_unicode(key)):
            raise _DocumentError(f"the field {key!r} is no Unicode text")
    if len(mapping) != len(pairs):
        names = [key for key, _ in pairs]
        repeated = next(key for key in names if names.count(key) > 1)
        raise _DocumentError(f"the field {repeated!r} appears twice in one mapping")
    return mapping


def _is_unicode(text: str) -> bool:
    """Return whether `text` has no half of a surrogate pair, which no file or terminal can show."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _refuse_constant(constant: str) -> Any:
    raise _DocumentError(f"{constant} is no number of JSON")


def _refuse_bombs(root: yaml.Node) -> None:
    """Refuse aliases that unfold to more than the limit, deep nesting, repeated keys and types that JSON lacks."""
    sizes: dict[int, int] = {}

    def measure(node: yaml.Node, depth: int) -> int:
        if depth > limits.MAX_DOCUMENT_DEPTH:
            raise _DocumentError(f"is nested deeper than {limits.MAX_DOCUMENT_DEPTH} levels")
        if node.tag not in _TAGS:
            raise _DocumentError(f"line {node.start_mark.line + 1}: the tag {node.tag!r} is not accepted")
        if id(node) not in sizes:
            sizes[id(node)] = 1 + sum(measure(child, depth + 1) for child in _children(node))
        if sizes[id(node)] > limits.MAX_DOCUMENT_NODES:
            raise _DocumentError(f"unfolds to more than {limits.MAX_DOCUMENT_NODES} values")
        return sizes[id(node)]

    measure(root, 0)


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        yield from node.value
    elif isinstance(node, yaml.MappingNode):
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(set(keys)) != len(keys):
            repeated = next(key for key in keys if keys.count(key) > 1)
            raise _DocumentError(
                f"line {node.start_mark.line + 1}: the field {repeated!r} appears twice in one mapping"
            )
        for key, value in node.value:
            yield key
            yield value
