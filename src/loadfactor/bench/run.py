"""Run the benchmark: case after case, section after section."""

from __future__ import annotations

from dataclasses import replace

from loadfactor.bench.machine import this_machine
from loadfactor.bench.measure import Case, run_case
from loadfactor.bench.progress import Told, nobody
from loadfactor.bench.results import BenchmarkReport, Row, Section
from loadfactor.bench.suite import BenchmarkOptions, PlannedSection, planned_sections


def run_benchmark(options: BenchmarkOptions | None = None, progress: Told = nobody) -> BenchmarkReport:
    """Return what the cases of `options` (all by default) measured; raise `InputError` for a case that is unknown.

    `progress` is told what runs now, how many cases are done and how many there are.
    """
    options = options or BenchmarkOptions()
    sections = planned_sections(options)
    _warm_up(sections)
    total, done = sum(len(section.cases) for section in sections), 0
    finished = []
    for section in sections:
        rows: list[Row] = []
        for case in section.cases:
            rows += _run(case, progress, done, total)
            done += 1
        finished.append(Section(section.name, section.title, tuple(rows)))
    return BenchmarkReport(this_machine(), options.to_document(), tuple(finished))


def _run(case: Case, progress: Told, done: int, total: int) -> tuple[Row, ...]:
    return run_case(case, lambda what: progress(what, done, total))


def _warm_up(sections: tuple[PlannedSection, ...]) -> None:
    """Let every contestant decide once, on the first case with little time: compiled code and libraries load here."""
    case = sections[0].cases[0]
    problem = case.build()
    for contestant in case.contestants:
        hurried = replace(contestant.effort, time_limit_seconds=min(1.0, contestant.effort.time_limit_seconds))
        contestant.policy.plan(problem, hurried)
