"""`full`: an exact search in counts and positions, with a proven bound; never worse than the plan it starts from."""

from __future__ import annotations

from dataclasses import dataclass

from loadfactor.model import Plan, Problem
from loadfactor.policies.protocol import DEFAULT_EFFORT, Effort
from loadfactor.policies.registry import policy


@dataclass(frozen=True)
class Full:
    """Counts first, positions second, cuts where there are none; stops at `effort.time_limit_seconds`.

    `start_policy` makes the plan to start from; `workers` is the number of threads, 0 for one a core. On two cores one
    thread proved sooner than two, whose portfolio spends half its time on strategies that do not suit these models.
    """

    name: str = "full"
    start_policy: str = "fast"
    workers: int = 1

    def plan(self, problem: Problem, effort: Effort = DEFAULT_EFFORT) -> Plan:
        """Return a plan with `bound` and `optimal`.

        A problem too large to model keeps the plan of `start_policy`, with the bound that prices prove.
        """
        from loadfactor.policies.full.search import Search  # ortools takes half a second to import

        return Search(problem, effort, policy(self.start_policy), self.workers).run(self.name)


__all__ = ["Full"]
