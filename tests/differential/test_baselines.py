"""`fifo` and `backfill` against the same rules applied cell by cell."""

from __future__ import annotations

import pytest

from tests.differential.soundness import plan_of
from tests.support.generators import MEDIUM, SMALL, TINY, Shape, random_problem
from tests.support.slow_fifo import slow_baseline


@pytest.mark.parametrize(("shape", "seeds"), [(TINY, 80), (SMALL, 60), (MEDIUM, 8)], ids=["tiny", "small", "medium"])
@pytest.mark.parametrize(("name", "may_overtake"), [("fifo", False), ("backfill", True)])
def test_the_baseline_does_what_its_rules_say(name: str, may_overtake: bool, shape: Shape, seeds: int) -> None:
    for seed in range(seeds):
        problem = random_problem(seed, shape)
        plan = plan_of(name, problem, seed)
        slow = slow_baseline(problem, may_overtake=may_overtake)
        assert {placement.id: placement for placement in plan.jobs} == slow.jobs, f"seed {seed}"
        services = {allocation.id: [set(gpus) for gpus in allocation.gpus] for allocation in plan.services}
        assert services == slow.services, f"seed {seed}"


def test_overtaking_makes_a_difference() -> None:
    problems = [random_problem(seed, SMALL) for seed in range(60)]
    different = sum(plan_of("fifo", problem, 0).jobs != plan_of("backfill", problem, 0).jobs for problem in problems)
    assert different >= 8
