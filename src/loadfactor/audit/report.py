"""The audit as a whole: every finding, the verdict in one sentence, and the figures for machines."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from loadfactor.audit.activity import HeldActivity
from loadfactor.audit.comparison import Comparison, Progress, compare
from loadfactor.audit.costs import Costs
from loadfactor.audit.finding import Finding
from loadfactor.audit.findings.blocks import find_blocks
from loadfactor.audit.findings.buying import find_buying
from loadfactor.audit.findings.energy import Intensity, find_energy
from loadfactor.audit.findings.failures import find_failures, find_requeues
from loadfactor.audit.findings.fragmentation import find_fragmentation
from loadfactor.audit.findings.idle_jobs import find_idle_jobs
from loadfactor.audit.findings.limits import find_limits
from loadfactor.audit.findings.ordering import find_ordering
from loadfactor.audit.findings.reservation import find_reservation
from loadfactor.audit.findings.spread import find_spread
from loadfactor.audit.findings.waits import find_waits
from loadfactor.audit.findings.wastes import Loss, activity_counted, find_wastes, losses
from loadfactor.audit.record import Record
from loadfactor.replay.measure import rounded
from loadfactor.units import SECONDS_PER_HOUR

SHOWN_LEFT_OUT = 50
DIGITS = 6


@dataclass(frozen=True)
class AuditReport:
    """What an audit found. `findings` stand in the order in which a report tells them."""

    record: Record
    findings: tuple[Finding, ...]
    comparison: Comparison | None
    costs: Costs

    def finding(self, rule: str) -> Finding:
        """Return the finding of one rule; raise `KeyError` where there is none."""
        return {finding.rule: finding for finding in self.findings}[rule]

    @cached_property
    def held(self) -> HeldActivity:
        """What the held GPU-hours were, as far as telemetry tells."""
        return activity_counted(self.record)

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """What was lost, by cause, in the order in which it is taken off what is installed."""
        return losses(self.record, self.held)

    @property
    def wasted_share(self) -> float:
        """The share of installed GPU-hours that did nothing useful."""
        return self.record.share(sum(loss.gpu_hours for loss in self.losses))

    def verdict(self) -> str:
        """Return the audit in one or two sentences: what was wasted, which tax took it, and what to do."""
        record, wasted = self.record, self.wasted_share
        hours = wasted * record.installed_hours
        cost = self.costs.told(hours)
        money = f" ({cost})" if cost else ""
        return (
            f"{100 * wasted:.0f} % of {record.installed_hours:,.0f} GPU-hours did nothing useful{money}. "
            f"{self._tax()} {self.finding('buying').sentence}"
        )

    def _tax(self) -> str:
        by_key = {loss.key: loss.gpu_hours for loss in self.losses}
        taxes = {
            "reservation": by_key.get("spare", 0.0),
            "ordering": by_key["order"] + by_key["shape"],
            "limits": by_key["limit"],
            "repair": by_key["unavailable"],
            "idle jobs": by_key.get("held_idle", 0.0),
            "too little work": by_key["no_work"],
        }
        name = max(taxes, key=lambda each: taxes[each])
        if not taxes[name]:
            return "Nothing was lost."
        share = 100 * self.record.share(taxes[name])
        return f"{_TAXES[name].format(share=share)}"

    def to_document(self) -> dict[str, Any]:
        """Return everything as plain mappings: the figures that the pages show, for machines."""
        record = self.record
        document: dict[str, Any] = rounded(
            {
                "source": record.source,
                "verdict": self.verdict(),
                "window": {
                    "begin": record.window.told(record.window.begin),
                    "end": record.window.told(record.window.end),
                    "hours": record.window.hours,
                },
                "fleet": {"nodes": len(record.fleet.nodes), "gpus": record.fleet.gpus, "stated": record.fleet.stated},
                "installed_gpu_hours": record.installed_hours,
                "wasted_share": self.wasted_share,
                "waterfall_gpu_hours": self.waterfall(),
                "findings": [self._document_of(finding) for finding in self.findings],
                "by_hour": self.by_hour(),
                "timeline": self._layout(),
                "rows_read": record.rows_read,
                "left_out": self._left_out(),
                "notes": list(record.notes),
            },
            DIGITS,
        )
        return document

    def waterfall(self) -> dict[str, float]:
        """Return GPU-hours from what is installed down to what was useful; the losses between them by cause."""
        lost = {loss.key: loss.gpu_hours for loss in self.losses}
        installed = self.record.installed_hours
        rest = installed - sum(lost.values())
        useful = {"useful": rest - self.held.unknown, "of_unknown_activity": self.held.unknown}
        if self.record.activity is None:
            useful = {"held": rest}
        return {"installed": installed} | lost | useful

    def by_hour(self) -> list[dict[str, Any]]:
        """Return for every hour of the window its local beginning and the GPU-hours of each use."""
        uses, edges = self.record.hours_by_use, self.record.edges
        queued = self.record.idleness.queued / SECONDS_PER_HOUR
        return [
            {"begin": self.record.window.told(float(edge)), "hours": float(length / SECONDS_PER_HOUR)}
            | {use: float(hours[number]) for use, hours in uses.items()}
            | {"queued": float(queued[number])}
            for number, (edge, length) in enumerate(zip(edges[:-1], np.diff(edges), strict=True))
        ]

    def _layout(self) -> dict[str, Any]:
        line = self.record.timeline
        return {
            "intervals_by_gpu_number": line.by_index,
            "intervals_by_node": line.by_node,
            "intervals_packed": line.by_packing,
            "crowded_gpu_hours": line.crowded_seconds / SECONDS_PER_HOUR,
            "gpu_hours_on_unknown_nodes": line.homeless_seconds / SECONDS_PER_HOUR,
            "unknown_nodes": list(line.unknown_nodes),
        }

    def _left_out(self) -> dict[str, Any]:
        rows = self.record.left_out
        known = [row.gpu_seconds for row in rows if row.gpu_seconds is not None]
        return {
            "rows": len(rows),
            "gpu_hours": sum(known) / SECONDS_PER_HOUR,
            "rows_of_unknown_size": len(rows) - len(known),
            "first": [str(row.fault) for row in rows[:SHOWN_LEFT_OUT]],
        }

    def _document_of(self, finding: Finding) -> dict[str, Any]:
        document = asdict(finding)
        document["evidence"] = [dict(zip(finding.evidence.columns, row, strict=True)) for row in finding.evidence.rows]
        cost = self.costs.of(finding.recoverable_gpu_hours)
        return document | ({"recoverable_cost": cost, "currency": self.costs.currency} if cost is not None else {})


_TAXES = {
    "reservation": "The reservation tax is the largest: services held {share:.0f} % of all GPU-hours without need.",
    "ordering": "The ordering tax is the largest: {share:.0f} % of all GPU-hours stood free while work waited.",
    "limits": "Limits are the largest cause: {share:.0f} % of all GPU-hours stood free while a limit held work back.",
    "repair": "Broken or drained nodes are the largest cause, with {share:.0f} % of all GPU-hours.",
    "idle jobs": "Idle jobs are the largest cause: {share:.0f} % of all GPU-hours were held and did nothing.",
    "too little work": "Most of it, {share:.0f} % of all GPU-hours, stood free because no work waited.",
}


def audit(
    record: Record,
    costs: Costs | None = None,
    replays: bool = True,
    progress: Progress | None = None,
    intensity: Intensity | None = None,
) -> AuditReport:
    """Return every finding about `record`; without `replays` nothing is said of order and of buying.

    `progress` is told what is replayed, and the share that is done.
    """
    comparison = compare(record, progress) if replays else None
    findings = (
        find_wastes(record),
        find_reservation(record),
        find_ordering(comparison),
        find_fragmentation(record),
        find_waits(record),
        find_limits(record),
        find_blocks(record),
        find_spread(record),
        find_failures(record),
        find_requeues(record),
        find_idle_jobs(record),
        find_energy(record, intensity),
        find_buying(record, comparison),
    )
    return AuditReport(record, findings, comparison, costs or Costs())
