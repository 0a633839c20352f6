"""The curve of value against the number of GPUs, and the search for the size at which the baseline catches up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from loadfactor.allocator import decide
from loadfactor.errors import InputError
from loadfactor.explain.telling import count
from loadfactor.judge import judge
from loadfactor.model import Metrics, Plan, Problem
from loadfactor.policies import Effort
from loadfactor.worth.findings import GrowthPoint, Match, Outcome
from loadfactor.worth.growth import carried, grown, node_to_add

MOST_TRIED = 64
"""How many sizes the search for the baseline's match tries before it refines the last stride."""


@dataclass
class Runs:
    """Runs the two policies on grown clusters and remembers what the baseline got."""

    problem: Problem
    baseline_name: str
    allocator_name: str
    effort: Effort
    progress: Callable[[str], None]
    _baseline: dict[int, Outcome] = field(default_factory=dict)

    def baseline(self, nodes: int) -> Outcome:
        """Return what the baseline gets with `nodes` nodes more."""
        if nodes not in self._baseline:
            decision = decide(grown(self.problem, nodes), self.baseline_name, self.effort)
            self._baseline[nodes] = _outcome(decision.verdict.metrics)
        return self._baseline[nodes]

    def gpus(self, nodes: int) -> int:
        """Return the GPUs of the cluster with `nodes` nodes more."""
        return self.problem.cluster.gpu_count + nodes * node_to_add(self.problem.cluster).gpus

    def growth(self, nodes: int) -> float:
        """Return by which share the cluster with `nodes` nodes more is larger than today's."""
        return self.gpus(nodes) / self.problem.cluster.gpu_count - 1.0

    def points(self, labels: dict[int, str]) -> Iterator[GrowthPoint]:
        """Yield one point for every number of added nodes, ascending.

        The allocator's plan for a smaller cluster is legal on a larger one, so that its value never decreases: where
        the new plan is worth less, the smaller cluster's is carried over.
        """
        best: Plan | None = None
        for nodes in sorted(labels):
            self.progress(count(self.gpus(nodes), "GPU"))
            larger = grown(self.problem, nodes)
            decision = decide(larger, self.allocator_name, self.effort)
            plan, metrics, is_carried = decision.plan, decision.verdict.metrics, False
            if best is not None:
                before = judge(larger, carried(best, best.policy))
                if before.legal and before.metrics.value > metrics.value:
                    plan, metrics, is_carried = best, before.metrics, True
            best = plan
            yield GrowthPoint(
                nodes,
                self.gpus(nodes),
                self.growth(nodes),
                labels[nodes],
                self.baseline(nodes),
                _outcome(metrics, is_carried),
            )

    def match(self, value: float, most_growth: float) -> Match:
        """Return the first size tried at which the baseline is worth at least `value`, up to `most_growth` more."""
        per_node = node_to_add(self.problem.cluster).gpus
        most = int(most_growth * self.problem.cluster.gpu_count) // per_node
        stride = max(1, -(-most // MOST_TRIED))
        tried = 0
        try:
            for nodes in range(0, most + 1, stride):
                tried = nodes
                self.progress(f"{self.baseline_name} on {count(self.gpus(nodes), 'GPU')}")
                if self._reaches(nodes, value):
                    found = next(n for n in range(max(0, nodes - stride + 1), nodes + 1) if self._reaches(n, value))
                    return Match(self.gpus(found), found, self.growth(found), self.gpus(most), stride)
        except InputError:  # beyond the declared limits of a problem
            most = max(0, tried - stride)
        return Match(None, None, None, self.gpus(tried if tried <= most else most), stride)

    def _reaches(self, nodes: int, value: float) -> bool:
        tolerance = 1e-9 * max(1.0, abs(value))
        return self.baseline(nodes).value >= value - tolerance


def _outcome(metrics: Metrics, is_carried: bool = False) -> Outcome:
    return Outcome(metrics.value, metrics.utilization, metrics.shortfall_gpu_steps, metrics.jobs_finished, is_carried)
