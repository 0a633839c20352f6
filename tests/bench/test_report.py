"""The report: its document, its tables with the times masked, and what was published beside it."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from loadfactor.bench import PUBLISHED, BenchmarkOptions, BenchmarkReport, Section, load_scenario
from loadfactor.bench.machine import Machine, this_machine
from loadfactor.bench.measure import Case, Contestant, run_case
from loadfactor.bench.published import MEAN_CONTENDED_GAIN, Band, Gain
from loadfactor.bench.results import Row
from loadfactor.bench.suite import planned_sections
from loadfactor.bench.summary import contended, summarize
from loadfactor.bench.timing import Timing
from loadfactor.bench.view import benchmark_view
from loadfactor.errors import InputError
from loadfactor.policies import Effort, policy
from tests.bench.contestants import Boasting, Overlapping, tiny

MASKED = Timing(1.0, 0.5, 2.0, 100)
MACHINE = Machine("a processor", 2, "Linux x86_64", "3.11.0", {"numpy": "2.4"})
CONTESTANTS = (
    Contestant(policy("fifo")),
    Contestant(policy("backfill")),
    Contestant(policy("fast"), "3000 iterations", Effort(iterations=3000)),
    Contestant(Boasting(4.0, "full"), "1 s"),
)


def rows_of(name: str, *contestants: Contestant) -> tuple[Row, ...]:
    case = Case(name, tiny if name.startswith("tiny") else lambda: load_scenario(name), contestants)
    return tuple(replace(row, timing=MASKED) for row in run_case(case, lambda _: None))


def report_of(*sections: Section) -> BenchmarkReport:
    return BenchmarkReport(MACHINE, BenchmarkOptions(quick=True).to_document(), sections)


def printed(report: BenchmarkReport) -> str:
    stream = StringIO()
    Console(file=stream, width=170).print(benchmark_view(report))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


@pytest.fixture(scope="module")
def small() -> BenchmarkReport:
    """A report of two scenarios, a case over two seeds, and a contestant that cheats."""
    scenarios = (*rows_of("batch-backlog", *CONTESTANTS), *rows_of("scale", *CONTESTANTS))
    dense = (*rows_of("tiny-seed-0", *CONTESTANTS), *rows_of("tiny-seed-1", *CONTESTANTS))
    cheats = rows_of("tiny-cluster", Contestant(policy("fifo")), Contestant(Overlapping()))
    return report_of(
        Section("scenarios", "Scenarios", scenarios),
        Section("dense", "Dense", dense),
        Section("cluster", "Large", cheats),
    )


def test_the_tables_read_as_agreed(small: BenchmarkReport, snapshot: SnapshotAssertion) -> None:
    assert printed(small) == snapshot


def test_the_document_is_json_with_every_row_and_the_published_figures(small: BenchmarkReport) -> None:
    document = json.loads(json.dumps(small.to_document()))
    assert list(document) == ["machine", "options", "published", "sections", "faults"]
    assert document["published"].keys() == PUBLISHED.keys()
    row = document["sections"][0]["rows"][0]
    assert row["case"] == "batch-backlog"
    assert row["timing"] == {"median_ms": 1.0, "p5_ms": 0.5, "p95_ms": 2.0, "repeats": 100}
    assert row["metrics"]["utilization"] == pytest.approx(128 / 192)
    assert {"policy", "effort", "gain", "bound", "own_bound", "gap", "worst_gap", "optimal", "fault"} < row.keys()


def test_a_fault_is_shown_and_counted(small: BenchmarkReport) -> None:
    assert [row.policy for row in small.faults] == ["overlapping"]
    assert small.to_document()["faults"][0].startswith("tiny-cluster, overlapping: ILLEGAL R1")
    assert "ILLEGAL" in printed(small)
    assert not report_of(small.sections[0]).faults


def test_summaries_average_over_cases(small: BenchmarkReport) -> None:
    section = small.section("dense")
    assert section is not None
    summaries = {summary.policy: summary for summary in summarize(section.rows)}
    assert summaries["full"].cases == 2
    assert summaries["full"].gap == pytest.approx(0.75)
    assert summaries["fifo"].gain == 0.0
    assert summaries["fast"].median_ms == 1.0


def test_only_contended_scenarios_enter_their_mean(small: BenchmarkReport) -> None:
    assert {summary.cases for summary in contended(small)} == {1}
    assert contended(report_of()) == []


def test_the_published_figures_are_stated_as_published() -> None:
    assert str(PUBLISHED["mixed"].fifo_utilization) == "51.6%"
    assert str(PUBLISHED["training-heavy"].allocator_utilization) == "87.0%"
    assert str(PUBLISHED["training-heavy"].gain) == "+105.0%"
    assert str(PUBLISHED["inference-heavy"].fifo_utilization) == "52% to 85%"
    assert str(PUBLISHED["mixed"].allocator_utilization) == "at least 72%"
    assert str(PUBLISHED["batch-backlog"].gain) == "+24.6% to +105.1%"
    assert (str(PUBLISHED["scale"].gain), PUBLISHED["scale"].jobs_finished) == ("+15.9%", 27)
    assert MEAN_CONTENDED_GAIN == 0.52


def test_a_band_holds_what_rounds_into_it() -> None:
    assert Band(0.516, 0.516).holds(99 / 192)
    assert not Band(0.516, 0.516).holds(100 / 192)
    assert Band(0.52, 0.85).holds(0.5199)
    assert str(Gain(0.0, 0.0)) == "+0.0%"


def test_an_unknown_case_is_refused_with_the_names_that_exist() -> None:
    with pytest.raises(InputError, match=r"^cases: no case is called 'mixd'; choose among mixed, training-heavy"):
        planned_sections(BenchmarkOptions(quick=True, cases=("mixd",)))


def test_cases_are_chosen_by_the_beginning_of_their_names() -> None:
    sections = planned_sections(BenchmarkOptions(cases=("scale", "64-gpus-60")))
    assert [case.name for section in sections for case in section.cases] == [
        "scale",
        *(f"64-gpus-60-jobs-seed-{seed}" for seed in range(5)),
    ]


def test_this_machine_is_described() -> None:
    machine = this_machine()
    assert machine.cores >= 1
    assert machine.libraries["loadfactor"]
    assert machine.processor in str(machine)
