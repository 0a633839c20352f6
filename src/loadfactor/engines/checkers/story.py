"""The story of a run: what the loop was told and what it wanted, line by line, and the facts of the world around it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Outage:
    """GPUs that are lost in the seconds [`at`, `back_at`)."""

    at: int
    back_at: int
    gpus: tuple[int, ...]


@dataclass(frozen=True)
class Facts:
    """A world in plain numbers.

    `asked` is the fewest GPUs that a job can use and `run_seconds` its run time there, by job; moldable jobs have
    `most`, the most GPUs that they can use, and those whose `work` in GPU-seconds is named share it among the GPUs that
    they use. `replica_start_seconds`, `max_swap`, `max_gpus` and `demand` (GPUs in each step, from second `begin` on,
    begun again at its end) are by service. `node_types` and `node_memory_gib` are of every node, None where it does not
    say; `types` and `memory_gib` what a job or a service needs, by id. A stamp more than `wild_seconds` ahead of the
    engine's clock is wild, and must not move the loop's.
    """

    node_gpus: tuple[int, ...]
    whole_nodes: bool
    asked: Mapping[str, int]
    run_seconds: Mapping[str, int]
    job_start_seconds: int
    replica_start_seconds: Mapping[str, int]
    replica_stop_seconds: int
    max_swap: Mapping[str, int]
    max_gpus: Mapping[str, int]
    demand: Mapping[str, tuple[int, ...]]
    step_seconds: int
    begin: int = 0
    outages: tuple[Outage, ...] = ()
    wild_seconds: int = 1 << 60
    most: Mapping[str, int] = field(default_factory=dict)
    work: Mapping[str, int] = field(default_factory=dict)
    node_types: tuple[str | None, ...] = ()
    node_memory_gib: tuple[float | None, ...] = ()
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    memory_gib: Mapping[str, float] = field(default_factory=dict)

    def used(self, job: str, size: int) -> int:
        """Return how many GPUs of a block the job uses."""
        return min(size, self.most.get(job, self.asked[job]))


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a story: at which second of the engine, told or wanted, of which kind, with which fields."""

    second: int
    told: bool
    kind: str
    fields: dict[str, Any]


@dataclass
class Story:
    """What was told and wanted, in order; `lines` are bytes, so that two runs can be compared to the letter."""

    lines: list[bytes] = field(default_factory=list)

    def told(self, second: int, event: bytes) -> None:
        """Add an event, as one line of JSON, that the loop was told at a second of the engine's clock."""
        self.lines.append(b"%d told %b" % (second, event))

    def wanted(self, second: int, effect: bytes) -> None:
        """Add an effect, as one line of JSON, that the loop wanted then."""
        self.lines.append(b"%d wanted %b" % (second, effect))

    def entries(self) -> Iterator[Entry]:
        """Yield the lines, read."""
        for line in self.lines:
            second, verb, text = line.split(b" ", 2)
            fields = json.loads(text)
            told = verb == b"told"
            yield Entry(int(second), told, fields["event" if told else "effect"], fields)
