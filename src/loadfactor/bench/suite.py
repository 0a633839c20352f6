"""What is benchmarked: the sections, their cases, and who competes on each with how much effort."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from loadfactor.bench.cases import CLUSTER_JOBS, CLUSTER_NODES, DENSE_JOBS, DENSE_SEEDS, cluster_case, dense_case
from loadfactor.bench.measure import Case, Contestant
from loadfactor.bench.scenarios import SCENARIO_NAMES, load_scenario
from loadfactor.errors import Fault, InputError
from loadfactor.policies import Effort, policy

SMALLEST = "smallest"
SCENARIO_BUDGETS_MS = (1.0, 5.0)
DENSE_BUDGETS_MS = (3.0, 10.0)
CLUSTER_BUDGETS_MS = (100.0, 1000.0)
CLUSTER_REPEATS = 10
PRICE_ITERATIONS = 1_000
PROOF_REPEATS = 5
QUICK_REPEATS = 30
QUICK_TIME_LIMIT_SECONDS = 5.0
QUICK_SECONDS_A_CONTESTANT = 2.0
SECONDS_A_CONTESTANT = 20.0
CLUSTER_NAME = f"{CLUSTER_NODES * 8}-gpus"


@dataclass(frozen=True, slots=True)
class BenchmarkOptions:
    """What to run.

    `quick`: the scenarios only, with fewer repeats and without the peer, in less than a minute. `cases`: names, or
    beginnings of names, of the cases to run; all where empty. `repeats`: decisions a time is the median of.
    `time_limit_seconds`: what `full` and the peer may take on a case.
    """

    quick: bool = False
    cases: tuple[str, ...] = ()
    repeats: int = 100
    time_limit_seconds: float = 30.0

    def to_document(self) -> dict[str, Any]:
        """Return the options as plain mappings and lists."""
        return asdict(self) | {"cases": list(self.cases)}


@dataclass(frozen=True)
class PlannedSection:
    """A section before it is run."""

    name: str
    title: str
    cases: tuple[Case, ...]


def planned_sections(options: BenchmarkOptions) -> tuple[PlannedSection, ...]:
    """Return the sections that the options ask for; raise `InputError` for a name that fits no case."""
    makers = (_scenarios,) if options.quick else (_scenarios, _dense, _cluster)
    sections = [make(options) for make in makers]
    _refuse_unknown(options.cases, [case.name for section in sections for case in section.cases])
    chosen = (_chosen(section, options.cases) for section in sections)
    return tuple(section for section in chosen if section.cases)


def _scenarios(options: BenchmarkOptions) -> PlannedSection:
    repeats = min(options.repeats, QUICK_REPEATS) if options.quick else options.repeats
    limit = min(options.time_limit_seconds, QUICK_TIME_LIMIT_SECONDS) if options.quick else options.time_limit_seconds
    contestants = [
        Contestant(policy("fifo"), repeats=repeats),
        Contestant(policy("backfill"), repeats=repeats),
        *_fast(SCENARIO_BUDGETS_MS, repeats),
        *_provers(limit, PROOF_REPEATS, options.quick),
    ]
    cases = tuple(_case_of_scenario(name, tuple(contestants)) for name in SCENARIO_NAMES)
    return PlannedSection("scenarios", "The seven scenarios, beside the published figures", cases)


def _case_of_scenario(name: str, contestants: tuple[Contestant, ...]) -> Case:
    return Case(name, lambda: load_scenario(name), contestants)


def _dense(options: BenchmarkOptions) -> PlannedSection:
    contestants = (
        Contestant(policy("fifo"), repeats=min(options.repeats, 10)),
        *_fast(DENSE_BUDGETS_MS, options.repeats),
        *_provers(options.time_limit_seconds, 1, quick=False),
    )
    cases = tuple(_case_of_dense(jobs, seed, contestants) for jobs in DENSE_JOBS for seed in DENSE_SEEDS)
    return PlannedSection("dense", "64 GPUs in 8 nodes, 24 steps; 60 and 120 jobs are more work than fits", cases)


def _case_of_dense(jobs: int, seed: int, contestants: tuple[Contestant, ...]) -> Case:
    return Case(f"64-gpus-{jobs}-jobs-seed-{seed}", lambda: dense_case(jobs, seed), contestants, PRICE_ITERATIONS)


def _cluster(options: BenchmarkOptions) -> PlannedSection:
    repeats = min(options.repeats, CLUSTER_REPEATS)
    contestants = (
        Contestant(policy("fifo"), repeats=min(repeats, 3)),
        *_fast(CLUSTER_BUDGETS_MS, repeats),
        *_provers(options.time_limit_seconds, 1, quick=True),
    )
    name = f"{CLUSTER_NAME}-{CLUSTER_JOBS}-jobs-seed-0"
    case = Case(name, lambda: cluster_case(0), contestants, PRICE_ITERATIONS, repeats)
    return PlannedSection("cluster", "10,240 GPUs in 1,280 nodes, 2,000 jobs, 20 services, 96 steps", (case,))


def _fast(budgets_ms: Iterable[float], repeats: int) -> Iterator[Contestant]:
    """Yield `fast` at the least that it can do (a first plan, no search) and at every budget."""
    yield Contestant(policy("fast"), SMALLEST, Effort(budget_ms=0.0), repeats, within_seconds=SECONDS_A_CONTESTANT)
    for budget_ms in budgets_ms:
        effort = Effort(budget_ms=budget_ms)
        text = f"{budget_ms:g} ms"
        yield Contestant(policy("fast"), text, effort, repeats, within_seconds=SECONDS_A_CONTESTANT)


def _provers(time_limit_seconds: float, repeats: int, quick: bool) -> Iterator[Contestant]:
    """Yield `full` and, unless in a hurry, the peer: the straightforward single model of the same problem."""
    effort = Effort(time_limit_seconds=time_limit_seconds)
    text = f"{time_limit_seconds:g} s"
    within = QUICK_SECONDS_A_CONTESTANT if quick else SECONDS_A_CONTESTANT
    yield Contestant(policy("full"), text, effort, repeats, warm_ups=0, within_seconds=within)
    if not quick:
        from loadfactor.policies.peer import SingleModel

        yield Contestant(SingleModel(), text, effort, 1, warm_ups=0)


def _refuse_unknown(asked: tuple[str, ...], known: list[str]) -> None:
    faults = [
        Fault("cases", f"no case is called {name!r}", f"choose among {', '.join(known)}, or the beginning of one")
        for name in asked
        if not any(case.startswith(name) for case in known)
    ]
    if faults:
        raise InputError(faults)


def _chosen(section: PlannedSection, asked: tuple[str, ...]) -> PlannedSection:
    cases = tuple(case for case in section.cases if not asked or any(case.name.startswith(name) for name in asked))
    return PlannedSection(section.name, section.title, cases)
