"""Lists of hosts such as `gpu[001-004,007]`, expanded by ClusterShell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from loadfactor.sources.slurm.cells import UnreadableCell, says_nothing

MAX_HOSTS = 65_536
"""The most hosts that one list may name; Slurm's own limit for nodes is 65,533."""
_CACHED_LISTS = 2_048
# ClusterShell reads more than Slurm writes: operators (! & ^), groups (@) and wildcards, which ask the machine.
_PLAIN = re.compile(r"[A-Za-z0-9_.\-]+")
_PIECE = re.compile(r"(?:[A-Za-z0-9_.\-]+|\[[0-9,\-]+\])+")
_COMMA_OUTSIDE = re.compile(r",(?![^\[]*\])")
_BRACKETS = re.compile(r"\[([^\]]*)\]")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


@lru_cache(_CACHED_LISTS)
def expand_hosts(text: str) -> tuple[str, ...]:
    """Return the hosts in `text`, in its order (`gpu[1-3],login` gives gpu1, gpu2, gpu3, login).

    An empty list, `None assigned` and `(null)` name none. Raises `UnreadableCell` for anything that Slurm does not
    write, and for more than `MAX_HOSTS` hosts.
    """
    if says_nothing(text):
        return ()
    hosts: dict[str, None] = {}
    for piece in _COMMA_OUTSIDE.split(text.strip()):
        hosts.update(dict.fromkeys(_expanded(piece.strip(), text)))
        if len(hosts) > MAX_HOSTS:
            raise UnreadableCell(text, f"names more than {MAX_HOSTS} hosts")
    return tuple(hosts)


def _expanded(piece: str, text: str) -> Iterator[str]:
    if _PLAIN.fullmatch(piece):
        yield piece
        return
    if not _PIECE.fullmatch(piece):
        raise UnreadableCell(text, "is no list of hosts", "write it as gpu[001-004,007]")
    size = 1
    for inside in _BRACKETS.findall(piece):
        size *= sum(_width(part, text) for part in inside.split(","))
    if size > MAX_HOSTS:
        raise UnreadableCell(text, f"names more than {MAX_HOSTS} hosts")
    yield from _by_clustershell(piece, text)


def _width(part: str, text: str) -> int:
    matched = _RANGE.fullmatch(part)
    width = int(matched[2] or matched[1]) - int(matched[1]) + 1 if matched else 0
    if width < 1:
        raise UnreadableCell(text, f"holds {part!r}, which is no range", "write it as gpu[001-004,007]")
    return width


def _by_clustershell(piece: str, text: str) -> Iterator[str]:
    from ClusterShell.NodeSet import NodeSet, NodeSetException

    try:
        yield from NodeSet(piece)
    except NodeSetException as error:
        raise UnreadableCell(text, f"is no list of hosts ({error})", "write it as gpu[001-004,007]") from None
