"""What a benchmark finds: frozen rows in sections, and the report that holds them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from loadfactor.bench.machine import Machine
from loadfactor.bench.published import PUBLISHED
from loadfactor.bench.timing import Timing
from loadfactor.model import Metrics


@dataclass(frozen=True, slots=True)
class Row:
    """One policy at one effort on one case; every figure is the judge's, of the plan with the median value.

    `gain` is the value over fifo's less one; `bound` the best one proven by anybody on this case; `gap` and `worst_gap`
    the distance (bound − value) / |bound| of the median and of the worst of all plans, one for every repeat and seed.
    `fault` is the first thing that is wrong with any of them: a broken rule, or a bound below a legal value.
    """

    case: str
    policy: str
    effort: str
    metrics: Metrics
    gain: float | None
    own_bound: float | None
    bound: float | None
    gap: float | None
    worst_gap: float | None
    optimal: bool | None
    timing: Timing
    fault: str | None = None

    @property
    def contestant(self) -> str:
        """Return the policy and its effort, as the tables name them."""
        return f"{self.policy} {self.effort}".rstrip()

    def to_document(self) -> dict[str, Any]:
        """Return the row as plain mappings."""
        document = {name: getattr(self, name) for name in self.__slots__ if name not in {"metrics", "timing"}}
        return document | {"metrics": self.metrics.model_dump(mode="json"), "timing": asdict(self.timing)}


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of cases of one kind, and what the section is about."""

    name: str
    title: str
    rows: tuple[Row, ...]

    def cases(self) -> list[str]:
        """Return the names of the cases, in the order in which they were run."""
        return list(dict.fromkeys(row.case for row in self.rows))

    def of(self, case: str) -> list[Row]:
        """Return the rows of one case."""
        return [row for row in self.rows if row.case == case]

    def to_document(self) -> dict[str, Any]:
        """Return the section as plain mappings and lists."""
        return {"name": self.name, "title": self.title, "rows": [row.to_document() for row in self.rows]}


@dataclass(frozen=True, slots=True)
class BenchmarkReport:
    """Everything that one run of the benchmark measured, and on which machine."""

    machine: Machine
    options: dict[str, Any]
    sections: tuple[Section, ...]

    @property
    def faults(self) -> list[Row]:
        """Return the rows whose plans were not all legal or whose bound was wrong; a sound run has none."""
        return [row for section in self.sections for row in section.rows if row.fault]

    def section(self, name: str) -> Section | None:
        """Return the section of that name, if it was run."""
        return next((section for section in self.sections if section.name == name), None)

    def to_document(self) -> dict[str, Any]:
        """Return the report as plain mappings and lists, with the published figures beside it."""
        return {
            "machine": asdict(self.machine),
            "options": self.options,
            "published": {name: published.to_document() for name, published in PUBLISHED.items()},
            "sections": [section.to_document() for section in self.sections],
            "faults": [f"{row.case}, {row.contestant}: {row.fault}" for row in self.faults],
        }
