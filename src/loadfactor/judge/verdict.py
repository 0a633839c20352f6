"""What the judge finds: violations of the five rules, and the metrics of the plan."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from loadfactor.model import Metrics

Rule = Literal["R1", "R2", "R3", "R4", "R5"]


@dataclass(frozen=True, slots=True)
class Violation:
    """One breach of a rule: by which job or service, on which GPU and at which step, where these can be named.

    A breach that lasts for consecutive steps is one violation; `step` is the first of them and `message` names all.
    """

    rule: Rule
    message: str
    job: str | None = None
    service: str | None = None
    gpu: int | None = None
    step: int | None = None

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Every violation, in the order of the rules, and the metrics recomputed from the placements alone."""

    violations: tuple[Violation, ...]
    metrics: Metrics

    @property
    def legal(self) -> bool:
        """Whether the plan keeps all five rules."""
        return not self.violations

    def to_document(self) -> dict[str, Any]:
        """Return the verdict as plain mappings and lists: `{"violations": [...], "metrics": {...}}`."""
        return {
            "violations": [asdict(violation) for violation in self.violations],
            "metrics": self.metrics.model_dump(mode="json"),
        }
