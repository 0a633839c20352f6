"""Files and functions stay short, every file says what lives in it, and names are whole words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from tests.style.exemptions import ABBREVIATED, LONG_FILES, LONG_FUNCTIONS
from tests.style.source import functions, lines_of, name_of, parsed, python_files

LONGEST_FILE = 400
LONGEST_FUNCTION = 40
LONGEST_MEDIAN = 10
ABBREVIATED_WORDS = """
alloc arr avg btn buf cfg cnt conf ctx cur curr dct desc dur elem exc func hdr idx img init kw lst mgr msg num obj opt
opts param params pos prev prio prob proc ptr qty ref req res resp ret sched seq srv str svc tbl tmp util utils val vals
var vars
"""
NAMES_OF_PYTEST = frozenset({"tmp_path", "tmp_path_factory"})
ABBREVIATIONS = frozenset(ABBREVIATED_WORDS.split())


def test_the_sources_are_found() -> None:
    assert len(python_files()) > 40


def test_files_are_short() -> None:
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in python_files()}
    broken = _broken(lengths, LONGEST_FILE - 1, LONG_FILES)
    assert not broken, "\n".join(broken)


def test_functions_are_short() -> None:
    lengths = {
        f"{name_of(path)}::{name}": lines_of(function) for path in python_files() for name, function in functions(path)
    }
    broken = _broken(lengths, LONGEST_FUNCTION, LONG_FUNCTIONS)
    assert not broken, "\n".join(broken)


def test_the_median_function_is_shorter_still() -> None:
    source = [path for path in python_files() if name_of(path).startswith("src/")]
    assert median(lines_of(function) for path in source for _, function in functions(path)) <= LONGEST_MEDIAN


@pytest.mark.parametrize("path", python_files(), ids=name_of)
def test_the_first_line_says_what_lives_here(path: Path) -> None:
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    assert first.startswith('"""'), "begin the file with a docstring"
    assert len(first.strip('"').split()) > 1


def test_names_are_whole_words() -> None:
    used = {
        f"{name_of(path)}::{name}": word
        for path in python_files()
        for name in set(_names(path)) - NAMES_OF_PYTEST
        for word in re.split(r"_+", name.lower())
        if word in ABBREVIATIONS
    }
    broken = [f"{place}: write {word!r} out" for place, word in used.items() if place not in ABBREVIATED]
    assert not broken, "\n".join(broken)
    assert [place for place in ABBREVIATED if place not in used] == [], "no longer needed: remove the exemption"


def test_a_long_file_and_a_stale_exemption_are_both_found() -> None:
    assert _broken({"long.py": 500, "short.py": 10}, 399, {}) == ["long.py: 500 lines, at most 399"]
    assert _broken({"long.py": 500}, 399, {"long.py": 500}) == []
    assert _broken({"long.py": 501}, 399, {"long.py": 500}) == ["long.py: 501 lines, at most 500"]
    assert _broken({"long.py": 450}, 399, {"long.py": 500}) == ["long.py: 450 lines, lower its exemption of 500"]
    assert _broken({}, 399, {"gone.py": 500}) == ["gone.py: not needed any more, remove its exemption"]


def _broken(lengths: dict[str, int], longest: int, exemptions: dict[str, int]) -> list[str]:
    broken = []
    for name, length in lengths.items():
        allowed = max(longest, exemptions.get(name, 0))
        if length > allowed:
            broken.append(f"{name}: {length} lines, at most {allowed}")
        elif longest < length < exemptions.get(name, 0):
            broken.append(f"{name}: {length} lines, lower its exemption of {exemptions[name]}")
    unneeded = [name for name in exemptions if lengths.get(name, 0) <= longest]
    return broken + [f"{name}: not needed any more, remove its exemption" for name in unneeded]


def _names(path: Path) -> Iterator[str]:
    """Yield every name that the file gives to something."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield "" if node.name.startswith("__") else node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
