"""The rows of the tables in which policies stand side by side: what each figure is, and which way is better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from loadfactor.replay.measure import Measures

Form = Literal["percent", "count", "amount", "hours", "number", "seconds", "milliseconds"]
Better = Literal["more", "less", ""]

SMALL_AMOUNT = 100
_FORMS: dict[Form, str] = {
    "percent": "{:.1%}",
    "count": "{:,.0f}",
    "amount": "{:,.0f}",
    "hours": "{:,.2f}",
    "number": "{:,.1f}",
    "seconds": "{:,.0f}",
    "milliseconds": "{:,.2f}",
}


@dataclass(frozen=True)
class Row:
    """One row: `figure` of the measures, which way is `better`, and in a sentence what it means.

    `bound` is the name under which a report may know what no policy could have exceeded.
    """

    label: str
    figure: Callable[[Measures], float]
    form: Form
    better: Better
    meaning: str
    bound: str = ""

    def text(self, value: float) -> str:
        """Return a figure of the row as people read it: small amounts with a decimal."""
        if self.form == "amount" and abs(value) < SMALL_AMOUNT:
            return f"{value:,.1f}"
        return _FORMS[self.form].format(value)

    def best(self, measures: Sequence[Measures]) -> set[str]:
        """Return the policies that are best in this row; none where all are, or where better means nothing."""
        figures = {each.policy: self.text(self.figure(each)) for each in measures}
        if not self.better or len(set(figures.values())) < 2:
            return set()
        choose = max if self.better == "more" else min
        best = self.text(choose(map(self.figure, measures)))
        return {policy for policy, text in figures.items() if text == best}


SECTIONS: dict[str, tuple[Row, ...]] = {
    "GPUs, until the last arrival": (
        Row(
            "utilization",
            lambda m: m.utilization,
            "percent",
            "more",
            "Work of jobs in the GPUs that they asked for, plus demand of services that was met, over all GPU-hours "
            "that were not lost.",
            "utilization",
        ),
        Row("  of jobs", lambda m: m.job_utilization, "percent", "more", "The part of it that jobs did."),
        Row("  of services", lambda m: m.service_utilization, "percent", "more", "The part of it that services did."),
        Row(
            "padding (GPU-hours)",
            lambda m: m.gpu_hours.padding,
            "amount",
            "less",
            "GPUs in a job's block that it did not ask for, because no block of its size is admissible.",
        ),
        Row(
            "start-up, stopping (GPU-hours)",
            lambda m: m.gpu_hours.job_starting + m.gpu_hours.replica_starting + m.gpu_hours.replica_stopping,
            "amount",
            "less",
            "GPUs held while a job or a replica starts, or a replica stops.",
        ),
        Row(
            "idle-held (GPU-hours)",
            lambda m: m.gpu_hours.spare,
            "amount",
            "less",
            "Replicas that were ready and not needed.",
        ),
        Row("idle (GPU-hours)", lambda m: m.gpu_hours.idle, "amount", "less", "GPUs that nobody held."),
        Row("lost (GPU-hours)", lambda m: m.gpu_hours.lost, "amount", "", "GPUs that were out of use."),
    ),
    "Worth": (
        Row(
            "value",
            lambda m: m.value,
            "amount",
            "more",
            "Over all finished jobs: priority x GPU-hours x decay^(hours waited).",
            "value",
        ),
        Row(
            "penalty",
            lambda m: m.penalty,
            "amount",
            "less",
            "Over all services: real-time penalty x priority x GPU-hours of unmet demand.",
            "penalty",
        ),
        Row("objective", lambda m: m.objective, "amount", "more", "Value less penalty.", "objective"),
    ),
    "Waits of jobs, in hours": (
        Row("mean", lambda m: m.wait_hours.mean, "hours", "less", "From submission until the job gets its block."),
        Row("median", lambda m: m.wait_hours.median, "hours", "less", "Half of the jobs wait no longer."),
        Row("p95", lambda m: m.wait_hours.p95, "hours", "less", "19 of 20 jobs wait no longer."),
        Row("p99", lambda m: m.wait_hours.p99, "hours", "less", "99 of 100 jobs wait no longer."),
        Row("longest", lambda m: m.wait_hours.most, "hours", "less", "The longest wait of any job."),
        Row(
            "bounded slowdown, mean",
            lambda m: m.slowdown.mean,
            "number",
            "less",
            "(wait + run time) over the run time, at least 1; jobs under 10 seconds count as 10 (Feitelson 2001).",
        ),
        Row("bounded slowdown, p95", lambda m: m.slowdown.p95, "number", "less", "19 of 20 jobs have no larger one."),
    ),
    "Services, until the last arrival": (
        Row("unmet (GPU-hours)", lambda m: m.shortfall.gpu_hours, "number", "less", "Demand without a ready replica."),
        Row(
            "unmet share of demand",
            lambda m: m.shortfall.share_of_demand,
            "percent",
            "less",
            "Unmet GPU-hours over the GPU-hours of all demand.",
        ),
        Row(
            "steps fully met",
            lambda m: m.shortfall.steps_met,
            "percent",
            "more",
            "Steps in which no service lacked a GPU for any second.",
        ),
        Row(
            "longest shortfall (s)",
            lambda m: m.shortfall.longest_seconds,
            "seconds",
            "less",
            "The longest time without a break in which one service lacked a GPU.",
        ),
        Row("churn", lambda m: m.churn, "count", "less", "Replicas started plus replicas stopped."),
    ),
    "Jobs": (
        Row("finished", lambda m: m.jobs.finished, "count", "more", "Jobs that ran to their end."),
        Row("unfinished", lambda m: m.jobs.unfinished, "count", "less", "Jobs that did not."),
        Row(
            "starved",
            lambda m: m.jobs.starved,
            "count",
            "less",
            "Jobs that waited longer than the bound (three days, unless the recipe says otherwise), started or not.",
        ),
        Row("starts", lambda m: m.jobs.starts, "count", "", "Starts of jobs, with those after a loss."),
        Row("losses", lambda m: m.jobs.losses, "count", "", "Runs of jobs that ended with their GPUs."),
        Row(
            "work destroyed (GPU-hours)",
            lambda m: m.jobs.destroyed_gpu_hours,
            "number",
            "",
            "Work that a loss made void; it counts as utilized.",
        ),
        Row("makespan (hours)", lambda m: m.makespan_hours, "number", "less", "Until the end of the last job."),
        Row("alarms", lambda m: m.alarms, "count", "less", "What the control loop told a person."),
    ),
}
TIMING: tuple[Row, ...] = (
    Row("decisions", lambda m: m.timing.decisions, "count", "", "How often the policy was asked."),
    Row("median (ms)", lambda m: m.timing.median_ms, "milliseconds", "less", "Half of the decisions took no longer."),
    Row("p99 (ms)", lambda m: m.timing.p99_ms, "milliseconds", "less", "99 of 100 decisions took no longer."),
    Row(
        "longest (ms)",
        lambda m: m.timing.most_ms,
        "milliseconds",
        "less",
        "The longest decision.",
    ),
    Row("whole replay (s)", lambda m: m.timing.seconds, "number", "", "The replay of the policy, on this machine."),
)
TIMING_TITLE = "Decision time, on this machine"


def sections(timing: bool) -> dict[str, tuple[Row, ...]]:
    """Return the rows by section, with those about time where they are wanted."""
    return SECTIONS | ({TIMING_TITLE: TIMING} if timing else {})
