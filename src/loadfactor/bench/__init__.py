"""The benchmark: seven scenarios and the larger cases, every plan judged, time and distance from the bound in one row.

`run_benchmark(options)` measures and returns a `BenchmarkReport`; `benchmark_view(report)` is the tables.
"""

from loadfactor.bench.published import PUBLISHED, Published
from loadfactor.bench.results import BenchmarkReport, Row, Section
from loadfactor.bench.run import run_benchmark
from loadfactor.bench.scenarios import SCENARIO_NAMES, load_scenario, scenario_text
from loadfactor.bench.suite import BenchmarkOptions

__all__ = [
    "PUBLISHED",
    "SCENARIO_NAMES",
    "BenchmarkOptions",
    "BenchmarkReport",
    "Published",
    "Row",
    "Section",
    "load_scenario",
    "run_benchmark",
    "scenario_text",
]
