"""Legal decisions pass, what passes is legal for the judge of documents, and every planted breach trips its rule."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from loadfactor.control import Decision, JobStart
from loadfactor.control.records import JobPhase
from loadfactor.judge import judge
from loadfactor.model import Cluster
from tests.support.cells import is_legal_block
from tests.support.control import Bench
from tests.support.control_breaking import VARIETIES
from tests.support.control_play import (
    any_decision,
    legal_decision,
    plan_of,
    problem_of,
    random_bench,
    random_request,
    sizes_of,
)

SEEDS = range(250)


def rules_of(faults: list[str]) -> set[str]:
    return {fault.partition(":")[0] for fault in faults}


def test_random_legal_decisions_pass_referee_and_judge() -> None:
    sizes: Counter[str] = Counter()
    for seed in SEEDS:
        bench, rng = random_bench(seed), Random(seed)
        decision = legal_decision(bench.state, rng)
        sizes.update(starts=len(decision.starts), given=len(decision.given), taken=len(decision.taken))
        assert bench.referee.faults(decision) == [], f"seed {seed}"
        assert violations(bench, decision) == [], f"seed {seed}"
    assert min(sizes[kind] for kind in ("starts", "given", "taken")) > 30, "too few to say anything"


def test_what_the_referee_lets_pass_is_legal_for_the_judge() -> None:
    passed: Counter[bool] = Counter()
    for seed in SEEDS:
        bench, rng = random_bench(seed), Random(seed)
        for _ in range(20):
            decision = any_decision(bench.state, rng)
            legal = not bench.referee.faults(decision)
            passed[legal] += bool(decision)
            if legal:
                assert violations(bench, decision) == [], f"seed {seed}, {decision}"
    assert min(passed[True], passed[False]) > 200, passed


def violations(bench: Bench, decision: Decision) -> list[str]:
    """Return what the judge of documents finds wrong."""
    verdict = judge(problem_of(bench.state), plan_of(bench.state, decision))
    return [f"{violation.rule}: {violation.message}" for violation in verdict.violations]


def test_every_planted_breach_trips_exactly_its_rule() -> None:
    planted: Counter[tuple[str, str]] = Counter()
    for seed in SEEDS:
        bench, rng = random_bench(seed), Random(seed)
        for rule, ways in VARIETIES.items():
            for variety, plant in ways.items():
                decision = plant(bench.state, rng)
                if decision is not None:
                    planted[rule, variety] += 1
                    assert rules_of(bench.referee.faults(decision)) == {rule}, f"seed {seed}, {rule} {variety}"
    rare = [(rule, variety) for rule, ways in VARIETIES.items() for variety in ways if planted[rule, variety] < 5]
    assert rare == [], "too few of these were planted to say anything"


def test_a_breach_beside_legal_parts_is_found() -> None:
    found = 0
    for seed in range(2 * len(SEEDS)):
        bench, rng = random_bench(seed), Random(seed)
        decision, broken = legal_decision(bench.state, rng), VARIETIES["R3"]["no block"](bench.state, rng)
        if broken is not None:
            mixed = Decision([*decision.starts, *broken.starts], decision.given, decision.taken)
            found += 1
            assert "R3" in rules_of(bench.referee.faults(mixed)), f"seed {seed}"
    assert found > 20


def test_a_block_smaller_than_what_is_asked_for_breaks_r2() -> None:
    bench = Bench()
    bench.submit(gpus=2)
    faults = bench.referee.faults(Decision(starts=[JobStart(0, 0, 1)]))
    assert faults == ["R2: job 'job' gets 1 GPUs and asks for 2"]


def test_a_block_larger_than_what_the_job_can_use_breaks_r2_where_a_smaller_one_exists() -> None:
    bench = Bench()
    bench.submit(gpus=2)
    faults = bench.referee.faults(Decision(starts=[JobStart(0, 0, 4)]))
    assert faults == ["R2: job 'job' gets 4 GPUs, can use 2, and smaller blocks exist"]
    bench.submit("odd", gpus=3)
    assert bench.referee.faults(Decision(starts=[JobStart(1, 0)])) == [], "3 GPUs are padded to 4"


@pytest.mark.parametrize("seed", range(40))
def test_the_smallest_block_is_a_block_of_the_cluster(seed: int) -> None:
    """What `BlockSizes` admits, R3 admits somewhere, and no smaller block would do."""
    state = random_bench(seed).state
    sizes = [size for size in range(1, len(state.owner) + 1) if any_block(state.cluster, size)]
    for gpus in range(1, len(state.owner) + 2):
        assert state.block_sizes.smallest(gpus) == min((size for size in sizes if size >= gpus), default=None)


def any_block(cluster: Cluster, size: int) -> bool:
    return any(is_legal_block(cluster, first, size) for first in range(cluster.gpu_count))


@pytest.mark.parametrize("seed", range(60))
def test_the_sizes_that_a_job_may_get_are_those_of_its_blocks(seed: int) -> None:
    state, rng = random_bench(seed).state, Random(seed)
    for _ in range(20):
        job = state.add(random_request(f"new-{len(state.jobs)}", rng), state.now)
        assert list(job.sizes) == sizes_of(state, job)
        assert (job.phase is JobPhase.TOO_LARGE) == (not job.sizes)
