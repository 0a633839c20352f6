"""Nothing in the project knows the machine it was written on, and nothing is left to do in a comment."""

from __future__ import annotations

import re
from pathlib import Path

from tests.style.source import ROOT, name_of, text_files

# A home or a mount of one machine; `/path/to/...` and addresses stay allowed.
FOREIGN_PATH = re.compile(r"(?<![\w./~-])/(?:root|home|Users|work|workspace|mnt|private)/\w+")
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX|HA" + r"CK)\b")


def test_no_path_of_one_machine() -> None:
    assert _matches(FOREIGN_PATH) == []


def test_no_mention_of_this_very_checkout() -> None:
    here = re.compile(re.escape(str(ROOT)))
    assert len(str(ROOT)) < 4 or _matches(here) == []


def test_nothing_is_left_to_do_in_a_comment() -> None:
    assert _matches(UNFINISHED) == []


def test_the_patterns_match_what_they_forbid() -> None:
    assert FOREIGN_PATH.search("see /home" + "/ada/notes")
    assert not FOREIGN_PATH.search("https://example.org/home/ada")
    assert UNFINISHED.search("# TO" + "DO: later")


def _matches(pattern: re.Pattern[str]) -> list[str]:
    return [f"{name_of(path)}: {found.group()}" for path in text_files() for found in _found(pattern, path)]


def _found(pattern: re.Pattern[str], path: Path) -> list[re.Match[str]]:
    return list(pattern.finditer(path.read_text(encoding="utf-8")))
