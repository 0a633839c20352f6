"""The states of Slurm's nodes: which words they are made of, and whether such a node can serve a job."""

from __future__ import annotations

import re
from collections.abc import Iterable

UNAVAILABLE = frozenset(
    {
        *("DOWN", "ERROR", "UNKNOWN", "FUTURE", "INVALID", "INVALID_REG", "BLOCKED", "NOT_RESPONDING"),
        *("DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "MAINT", "MAINTENANCE"),
        *("POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN", "POWERING_UP", "POWER_UP", "REBOOT_ISSUED"),
    }
)
"""The states and flags of a node that starts no job. RESERVED, PLANNED, COMPLETING and CLOUD nodes still do, and one
whose reboot is only requested does until it happens."""
# The marks behind a state that sinfo and scontrol print, and what each stands for.
_MARKS = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "!": "POWER_DOWN",
    "%": "POWERING_DOWN",
    "$": "MAINTENANCE",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "-": "PLANNED",
}
_WORD = re.compile(r"([A-Za-z_]+)([*~#!%$@^-]*)")


def split_states(words: Iterable[str]) -> tuple[str, ...]:
    """Return states and flags in capitals, each once: `MIXED+DRAIN*` is MIXED, DRAIN and NOT_RESPONDING."""
    found: dict[str, None] = {}
    for word in words:
        for part in word.split("+"):
            matched = _WORD.fullmatch(part.strip())
            if matched is None:
                found["UNKNOWN"] = None
                continue
            found[matched[1].upper()] = None
            found.update(dict.fromkeys(_MARKS[mark] for mark in matched[2]))
    return tuple(found) or ("UNKNOWN",)


def is_available(states: Iterable[str]) -> bool:
    """Return whether a node in all these states can start a job."""
    return UNAVAILABLE.isdisjoint(states)
