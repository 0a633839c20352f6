"""The cells that a row can do without: texts, limits, memory, exit codes. One that cannot be read counts as unknown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeVar

from loadfactor.sources.facts import NodeGpus
from loadfactor.sources.slurm.cells import CACHED_CELLS, UnreadableCell, says_nothing
from loadfactor.sources.slurm.columns import Cells, Columns
from loadfactor.sources.slurm.durations import parse_limit
from loadfactor.sources.slurm.hostlists import expand_hosts
from loadfactor.sources.slurm.memory import parse_memory
from loadfactor.sources.slurm.moments import LocalClock

_LONGEST_TEXT = 150
_CACHED_NODES = 16_384
_Value = TypeVar("_Value")


class Details(NamedTuple):
    """What a row tells beside who held which GPUs when; None is unknown."""

    eligible: float | None
    limit_seconds: float | None
    priority: float | None
    node_count: int | None
    memory_mib: float | None
    exit_code: int | None


class Texts(dict[str, str | None]):
    """Texts that people wrote: the same object for the same text, without control characters, not too long."""

    def __missing__(self, text: str) -> str | None:
        plain = text.strip()[:_LONGEST_TEXT]
        printable = plain if plain.isprintable() else "".join(sign if sign.isprintable() else "?" for sign in plain)
        self[text] = printable or None
        return self[text]


class DetailReader:
    """Reads details; `seen` counts the cells that cannot be read."""

    def __init__(self, columns: Columns, clock: LocalClock, seen: Counter[str]) -> None:
        self._columns, self._clock, self._seen = columns, clock, seen

    def read(self, cells: Cells, submitted: float | None) -> Details:
        """Return the details of a row submitted at `submitted`, None for those whose cells cannot be read."""
        try:
            return Details(
                submitted if cells.eligible == cells.submit else self._clock.seconds(cells.eligible),
                parse_limit(cells.limit),
                parse_number(cells.priority),
                parse_whole(cells.node_count),
                memory_mib(cells.memory, cells.node_count, cells.cpu_count),
                parse_exit_code(cells.exit_code),
            )
        except UnreadableCell:
            return self._one_by_one(cells)

    def nodes(self, cells: Cells, gpus: int) -> tuple[NodeGpus, ...]:
        """Return the nodes that a job with `gpus` GPUs ran on; none where the list cannot be read."""
        try:
            return nodes_with(cells.nodes, gpus)
        except UnreadableCell:
            return self._unless_unreadable(lambda text: nodes_with(text, gpus), cells.nodes, "nodes") or ()

    def _one_by_one(self, cells: Cells) -> Details:
        attempt = self._unless_unreadable
        nodes = attempt(parse_whole, cells.node_count, "node_count")
        cpus = attempt(parse_whole, cells.cpu_count, "cpu_count")
        memory = attempt(parse_memory, cells.memory, "memory")
        return Details(
            attempt(self._clock.seconds, cells.eligible, "eligible"),
            attempt(parse_limit, cells.limit, "limit"),
            attempt(parse_number, cells.priority, "priority"),
            nodes,
            None if memory is None else memory.total_mib(nodes, cpus),
            attempt(parse_exit_code, cells.exit_code, "exit_code"),
        )

    def _unless_unreadable(self, read: Callable[[str], _Value | None], text: str, cell: str) -> _Value | None:
        try:
            return read(text)
        except UnreadableCell:
            self._seen[f"cells of {self._columns.name_of(cell)} cannot be read: taken as unknown"] += 1
            return None


@lru_cache(_CACHED_NODES)
def nodes_with(text: str, gpus: int) -> tuple[NodeGpus, ...]:
    """Return the nodes in a host list; the `gpus` of the job are told where it is on one node only.

    Of a job on several nodes the log does not say how many GPUs it holds on each. Raises `UnreadableCell`.
    """
    hosts = expand_hosts(text)
    return tuple(_node_with(host, gpus if len(hosts) == 1 else None) for host in hosts)


@lru_cache(_CACHED_NODES)
def _node_with(host: str, gpus: int | None) -> NodeGpus:
    return NodeGpus(host, gpus)


@lru_cache(CACHED_CELLS)
def parse_number(text: str) -> float | None:
    """Return a number of 0 or more; None for nothing or infinity; raise `UnreadableCell` otherwise."""
    if says_nothing(text):
        return None
    try:
        value = float(text)
    except ValueError:
        raise UnreadableCell(text, "is no number") from None
    return value if 0 <= value < float("inf") else None


@lru_cache(CACHED_CELLS)
def parse_whole(text: str) -> int | None:
    """Return a whole number of 0 or more, None for nothing; raise `UnreadableCell` otherwise."""
    value = parse_number(text)
    return None if value is None else int(value)


@lru_cache(CACHED_CELLS)
def memory_mib(memory: str, nodes: str, cpus: str) -> float | None:
    """Return the mebibytes that a job asked for on `nodes` nodes and `cpus` CPUs; raise `UnreadableCell`."""
    parsed = parse_memory(memory)
    return None if parsed is None else parsed.total_mib(parse_whole(nodes), parse_whole(cpus))


@lru_cache(CACHED_CELLS)
def parse_exit_code(text: str) -> int | None:
    """Return the exit code in `1:0`; for one that a signal ended (`0:9`), 128 and the signal, as shells have it."""
    if says_nothing(text):
        return None
    code, _, signal = text.partition(":")
    codes = (code, signal or "0")
    if not all(part.isdecimal() and len(part) < 10 for part in codes):
        raise UnreadableCell(text, "is no exit code such as 0:0")
    return int(code) or (128 + int(signal) if signal and int(signal) else 0)
