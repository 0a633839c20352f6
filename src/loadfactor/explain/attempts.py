"""One attempt at placing an unplaced job in a changed problem: on top of the plan first, else by planning again."""

from __future__ import annotations

from dataclasses import dataclass

from loadfactor.explain.findings import Change, ChangeKind, Opening, Proof
from loadfactor.explain.holdings import Holdings
from loadfactor.explain.telling import at_step, on_gpus
from loadfactor.explain.trials import Trials, replace_in
from loadfactor.model import Job, Placement, Plan, Problem


@dataclass(frozen=True)
class Idea:
    """A change to be tried: its kind, what it changes from and to, and the words for it."""

    kind: ChangeKind
    subject: str
    words: str
    before: float | None = None
    after: float | None = None


@dataclass(frozen=True)
class Attempts:
    """Attempts at placing `job`, which `trials.plan` leaves out; `holdings` are those of that plan.

    With `only_on_top` nothing is planned again: where the policy places the job in the unchanged problem, planning a
    changed one proves nothing about the change.
    """

    holdings: Holdings
    job: Job
    trials: Trials
    only_on_top: bool = False

    @property
    def problem(self) -> Problem:
        """The unchanged problem."""
        return self.trials.problem

    def attempt(self, idea: Idea, changed: Problem, opening: Opening | None) -> Change | None:
        """Return the change if the job is placed in `changed`: at `opening` on top of the plan, or by the policy."""
        plan = None if opening is None else self.trials.placed_on_top(changed, self.placement(opening))
        if plan is not None:
            return self.told(idea, changed, plan, "constructed")
        plan = self.planned(changed)
        return None if plan is None else self.told(idea, changed, plan, "planned")

    def planned(self, changed: Problem, may_be_legal_as_it_is: bool = False) -> Plan | None:
        """Return the policy's plan for `changed` if it places the job and the change was needed for that."""
        return None if self.only_on_top else self.trials.planned(changed, self.is_placed, may_be_legal_as_it_is)

    def told(self, idea: Idea, changed: Problem, plan: Plan, proof: Proof) -> Change:
        """Return the change with its cost and with the place that the job gets in `plan`."""
        placed = next(placed for placed in plan.jobs if placed.id == self.job.id)
        where = f"it starts at {at_step(self.problem.horizon, placed.start)} on {on_gpus(placed.gpus)}"
        words = f"{idea.words}: {where}"
        return self.trials.change(idea.kind, idea.subject, (idea.before, idea.after), words, changed, plan, proof)

    def with_job(self, job: Job) -> Problem:
        """Return the problem with `job` in the place of the one of that id."""
        return self.problem.replace(jobs=replace_in(self.problem.jobs, job))

    def is_placed(self, plan: Plan) -> bool:
        """Return whether `plan` places the job."""
        return any(placed.id == self.job.id for placed in plan.jobs)

    def placement(self, opening: Opening) -> Placement:
        """Return the placement of the job at `opening`."""
        return Placement(id=self.job.id, start=opening.start, end=opening.end, gpus=opening.gpus)
