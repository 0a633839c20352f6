"""The plan of a step: what it takes in the grid, and what becomes of a job that comes while nobody waits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from loadfactor.control import JobRequest
from loadfactor.control.planners import HorizonSettings
from loadfactor.control.planners.allocator import Allocator
from loadfactor.control.planners.horizon import RollingHorizon
from loadfactor.control.planners.step_plan import StepPlan, grid_of
from loadfactor.engines import Arrival, World
from loadfactor.policies.fast.search import Budget, Search
from loadfactor.policies.instance import DURATION, SIZE
from loadfactor.policies.occupancy import with_summary
from loadfactor.replay.contestants import Knowledge, Setting, make_planner
from loadfactor.replay.run import Replayed
from tests.planners.states import at_work, starts
from tests.planners.worlds import lived, world

STEPS = 20
SEEDS = 40


class _NeverStands(StepPlan):
    """A plan that is forgotten at once, so that the horizon is planned anew for every job."""

    def keep(self, *_: object) -> None:
        """Keep nothing."""


class _Counting(StepPlan):
    """A plan that counts the jobs that were planned into it."""

    counted = 0

    def take(self, gpu: int, size: int, duration: int) -> None:
        """Count, and do what every plan does."""
        self.counted += 1
        super().take(gpu, size, duration)


def planned(seed: int) -> tuple[StepPlan, np.ndarray]:
    """Return the plan of a small cluster in the middle of things, and the (N, T) cells that it takes, slowly."""
    state, book = at_work(seed, services=2)
    rows, columns = book.queue.rows.copy(), book.columns
    demand = np.random.default_rng(seed).integers(0, 4, (2, STEPS))
    horizon = RollingHorizon(state, HorizonSettings(steps=STEPS, depth=20))
    i = horizon.instance(state, rows, columns, columns.priority.of(rows), book.free_at(state), demand)
    layout = Search(i, seed).run(Budget(0.0, 0.0, 4))
    assert layout is not None
    plan = StepPlan()
    plan.keep(600, i, layout)
    gpus = len(state.owner)
    cells = np.unpackbits(i.grid[:gpus].view(np.uint8), axis=1, bitorder="little")[:, :STEPS].astype(bool)
    for service in range(2):
        holding = set(np.flatnonzero(i.held == service).tolist())
        for t in range(STEPS):
            for _, _, gpu, given in layout.changes[(layout.changes[:, :2] == (service, t)).all(axis=1)].tolist():
                (holding.add if given > 0 else holding.remove)(gpu)
            cells[list(holding), t] = True
    for job, gpu in enumerate(layout.where.tolist()):
        if gpu >= 0:
            size, duration = i.options[layout.chosen[job], [SIZE, DURATION]]
            start = layout.begin[job]
            cells[gpu : gpu + size, start : start + duration] = True
    return plan, cells


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_plan_takes_what_it_places_and_nothing_else(seed: int) -> None:
    plan, cells = planned(seed)
    assert plan.instance is not None
    assert plan.layout is not None
    padded = np.zeros((len(cells), 64), dtype=bool)
    padded[:, :STEPS] = cells
    words = np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
    assert (grid_of(plan.instance, plan.layout) == with_summary(words, plan.instance.first_of_node)).all()


@pytest.mark.parametrize("size", [1, 2])
def test_a_block_is_found_where_a_slow_search_finds_one(size: int) -> None:
    found = 0
    for seed in range(SEEDS):
        plan, cells = planned(seed)
        assert plan.instance is not None
        state, _ = at_work(seed, services=2)
        span = RollingHorizon(state, HorizonSettings(steps=STEPS)).span_of(size)
        assert span is not None
        for duration in (1, 5, STEPS, 3 * STEPS):
            free = [gpu for gpu in starts(state.cluster, size) if not cells[gpu : gpu + size, :duration].any()]
            gpu = plan.block(600, size, duration, *span)
            assert gpu in free if free else gpu == -1
            found += bool(free)
        assert plan.block(1200, size, 1, *span) == -1  # of another step
    assert found >= 10


def test_what_is_taken_is_offered_to_nobody_else() -> None:
    for seed in range(SEEDS):
        plan, _ = planned(seed)
        state, _ = at_work(seed, services=2)
        blocks = RollingHorizon(state, HorizonSettings(steps=STEPS)).span_of(1)
        assert blocks is not None
        taken = []
        while (gpu := plan.block(600, 1, 3, *blocks)) != -1:
            taken.append(gpu)
            plan.take(gpu, 1, 3)
        assert len(set(taken)) == len(taken)


def _lived(described: World, plan: StepPlan) -> Replayed:
    planner = make_planner("fast", Setting(described, Knowledge("perfect", "perfect"), HorizonSettings(steps=48)))
    assert isinstance(planner, Allocator)
    planner._plan = plan
    replayed = lived(described, planner)
    assert replayed.loop.illegal == 0
    return replayed


@pytest.mark.parametrize("seed", range(4))
def test_where_nobody_waits_jobs_start_when_they_do_in_a_plan_made_anew(seed: int) -> None:
    described = world(seed, jobs=40, nodes=40)
    plan = _Counting(fewest_gpus=1)
    stood, anew = _lived(described, plan), _lived(described, _NeverStands())
    assert plan.counted >= 0.8 * len(described.arrivals)
    times = [[job.first_given_at for job in each.state.jobs] for each in (stood, anew)]
    assert times[0] == times[1] == [arrival.at for arrival in described.arrivals]
    assert stood.engine.meters["chat"].unmet == anew.engine.meters["chat"].unmet


def test_where_little_is_free_every_job_has_a_plan_of_its_own() -> None:
    plan = _Counting(fewest_gpus=1)
    described = world(jobs=30, nodes=4)
    _lived(replace(described, demand={"chat": np.full(144, 11)}), plan)
    assert plan.counted <= 5  # before the service has all of its GPUs


def test_on_a_small_cluster_every_job_has_a_plan_of_its_own() -> None:
    plan = _Counting(fewest_gpus=161)
    _lived(world(jobs=10, nodes=40), plan)
    assert plan.counted == 0


def test_a_job_that_comes_alone_leaves_services_the_gpus_that_they_will_need() -> None:
    """The curve takes the whole cluster in the evening: a job of the day that is over by then starts, another waits."""
    described = world(jobs=1, nodes=1)
    curve = np.where(np.arange(144) < 60, 1, 4)
    jobs = [
        Arrival(at, JobRequest(f"job-{at}", 2, limit_seconds=run), run)
        for at, run in ((20 * 600 + 7, 3_000), (31 * 600 + 7, 30 * 600))
    ]
    replayed = _lived(replace(described, arrivals=jobs, demand={"chat": curve}), StepPlan(fewest_gpus=1))
    short, long = replayed.state.jobs
    assert short.first_given_at == short.submitted_at
    assert long.first_given_at >= 144 * 600 or long.first_given_at == -1
