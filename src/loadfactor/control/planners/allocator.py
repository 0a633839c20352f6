"""The allocator as a planner: `fast` on a rolling horizon, services along their forecast, jobs by worth."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
import numpy.typing as npt

from loadfactor.control.blocks import NO_NEED
from loadfactor.control.changes import Change, DemandIsKnown, ForecastIsGiven, GridChanged
from loadfactor.control.decision import Decision, JobStart, Swap
from loadfactor.control.planners.book import JobBook
from loadfactor.control.planners.exact import ExactTurns
from loadfactor.control.planners.given import given_demand
from loadfactor.control.planners.horizon import HorizonSettings, RollingHorizon
from loadfactor.control.planners.placing import NOWHERE, best_free_block
from loadfactor.control.planners.step_plan import StepPlan
from loadfactor.control.planners.way import MakingWay
from loadfactor.control.planners.worth import Worth, WorthSettings
from loadfactor.control.records import ServiceRecord
from loadfactor.control.state import ClusterState
from loadfactor.foresight import DemandForecaster
from loadfactor.policies.fast.layout import Layout
from loadfactor.policies.fast.search import Budget, Search
from loadfactor.policies.instance import SIZE

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NO_ROWS: Ints = np.empty(0, dtype=np.int64)
ROOMY = 0.4
"""Share of the GPUs that must be free for a job to be planned into the standing plan: where fewer are, it may matter to
those that come next which block it gets, and that is worth a new plan."""
MAKING_WAY = 16
"""The dearest jobs for which services may make way."""
STAYING_QUANTILE = 0.9
"""Of the demand of the present step: the replicas that it may need do not make way."""


class ServiceCurves:
    """The GPUs that services should hold along the horizon: the forecast, brought forward by what a start takes.

    What is needed before the next replica can be ready is taken at `quantile`, and `near` is asked, where it is given.
    Farther steps, about which other decisions will come in time, are taken at `far_quantile`: they only keep long jobs
    away from GPUs, and what they do not foresee is taken from the GPUs that jobs give back until then.
    """

    def __init__(
        self,
        forecasters: dict[str, DemandForecaster],
        quantile: float,
        far_quantile: float,
        near: dict[str, DemandForecaster] | None = None,
    ) -> None:
        self.forecasters, self.quantile, self.far_quantile = forecasters, quantile, far_quantile
        self.near = near or {}
        self._step_at = self._staying_at = self._observed_at = -1
        self._staying: Ints = np.empty(0, dtype=np.int64)
        self._curves: Ints = np.empty((0, 0), dtype=np.int64)

    def notice(self, change: Change, state: ClusterState) -> None:
        """Let the forecasters observe the step that is over; what was overtaken by newer news comes too late."""
        if isinstance(change, ForecastIsGiven):
            self._step_at = self._staying_at = -1
        elif isinstance(change, DemandIsKnown):
            self._step_at = self._staying_at = -1
            if change.at <= self._observed_at:
                return
            self._observed_at = change.at
            for name, demand in change.demand.items():
                for forecasters in (self.forecasters, self.near):
                    if name in forecasters:
                        forecasters[name].observe(change.at - state.step_seconds, float(demand))

    def curves(self, state: ClusterState, steps: int) -> Ints:
        """Return (S, steps) the GPUs that each service should hold."""
        if self._step_at != state.step_began():
            self._step_at = state.step_began()
            rows = [self._curve(service, state, steps) for service in state.services]
            self._curves = np.array(rows, dtype=np.int64).reshape(len(rows), steps)
        return self._curves

    def staying(self, state: ClusterState) -> Ints:
        """Return (S,) the replicas that each service should not be without in the present step."""
        if self._staying_at != state.step_began():
            self._staying_at = state.step_began()
            rows = [
                self._expected(service, state, 1, STAYING_QUANTILE, self._near(service))[0]
                for service in state.services
            ]
            self._staying = np.ceil(np.array(rows, dtype=np.float64) - 1e-9).astype(np.int64)
        return self._staying

    def _near(self, service: ServiceRecord) -> DemandForecaster:
        name = service.request.id
        return self.near.get(name, self.forecasters[name])

    def _curve(self, service: ServiceRecord, state: ClusterState, steps: int) -> Ints:
        lead = -(-service.request.start_seconds // state.step_seconds)
        far, near = self.forecasters[service.request.id], self._near(service)
        expected = self._expected(service, state, steps + lead, self.far_quantile, far)
        expected[: lead + 1] = self._expected(service, state, lead + 1, self.quantile, near)
        needed = np.ceil(np.maximum(0, expected) - 1e-9).astype(np.int64)
        curve: Ints = np.lib.stride_tricks.sliding_window_view(needed, lead + 1).max(axis=1)[:steps]
        return curve

    def _expected(
        self, service: ServiceRecord, state: ClusterState, steps: int, quantile: float, forecaster: DemandForecaster
    ) -> Floats:
        """Return (steps,) the demand at a quantile: of a forecast from outside while it is fresh, or of our own."""
        step_at = state.step_began()
        own = forecaster.forecast(step_at, steps, state.step_seconds, quantile)
        if service.forecast is None or state.now >= service.forecast.fresh_until:
            return own
        given = given_demand(service.forecast, step_at, steps, state.step_seconds, quantile)
        return np.where(np.isnan(given), own, given)


class Allocator:
    """Plans the horizon anew with `fast` at every decision, and does what the plan says for now.

    `iterations` of the search follow the constructive decoder; the same events give the same decisions. With `exact`
    some decisions are made by `full` (by its clock, so that they may differ from run to run).
    """

    def __init__(
        self,
        book: JobBook,
        curves: ServiceCurves,
        settings: HorizonSettings | None = None,
        iterations: int = 0,
        name: str = "fast",
        worth: WorthSettings | None = None,
        exact: ExactTurns | None = None,
    ) -> None:
        self.name = name
        self.worth = Worth(worth or WorthSettings())
        self.exact = exact
        self.book, self.curves = book, curves
        self.settings = settings or HorizonSettings()
        self.iterations = iterations
        self._horizon: RollingHorizon | None = None
        self._plan = StepPlan()
        self._swapped_at = -1

    def notice(self, change: Change, state: ClusterState) -> None:
        """Pass a change on to those who keep it in mind; that GPUs are free concerns none of them."""
        if isinstance(change, GridChanged):
            return
        if isinstance(change, ForecastIsGiven):
            self._swapped_at = -1
        self.worth.notice(change, state, self.book.backlog_gpu_seconds)
        self.book.notice(change, state)
        self.curves.notice(change, state)
        if isinstance(change, DemandIsKnown):
            self._plan.forget()

    @property
    def search_seconds(self) -> float:
        """Return how long a turn of `full` may search; `fast` counts iterations."""
        return 0.0 if self.exact is None else self.exact.time_limit_seconds

    def decide(self, state: ClusterState, now: int) -> Decision:
        """Plan the horizon; return the starts and swaps of its first moment."""
        first = self._swapped_at != state.step_began()
        rows = self._ready_rows(state, now) if self.book.queue.count else NO_ROWS
        if not first and not len(rows):
            return Decision()
        due = self.exact is not None and self.exact.due(now)
        if not first and not due and (start := self._start_alone(state, rows)):
            return Decision(starts=[start])
        rows, worth = self._dearest_first(rows, state)
        if not first and (way := self._make_way(state, rows)):
            return way
        fitting = self._fitting(rows, state)
        if not first and not fitting.any():
            return Decision()
        return self._plan_horizon(state, rows, worth, fitting, first, due)

    def _plan_horizon(
        self, state: ClusterState, rows: Ints, worth: Floats, fitting: npt.NDArray[np.bool_], first: bool, due: bool
    ) -> Decision:
        """Plan the dearest jobs at any step and those behind them, where they fit, at this moment alone."""
        fitting[: self.settings.depth] = True
        rows, worth = rows[fitting], worth[fitting]
        demand = self._demand(state, first)
        free_at = self.book.free_at(state)
        if first:
            self._swapped_at = state.step_began()
        if self.exact is not None and due:
            return self.exact.decide(state, rows, self.book.columns, worth, free_at, demand, self.settings)
        instance = self._rolling(state).instance(state, rows, self.book.columns, worth, free_at, demand)
        layout = Search(instance, seed=state.commands).run(Budget(0.0, 0.0, self.iterations))
        if layout is None:
            return Decision()
        self._plan.keep(state.step_began(), instance, layout)
        return self._first_moment(state, layout, instance.options, rows, first)

    def _start_alone(self, state: ClusterState, rows: Ints) -> JobStart | None:
        """Return the start of a job beside which nobody waits, where the plan of this step leaves it a block now."""
        usable = state.usable()
        roomy = np.count_nonzero(usable) >= ROOMY * len(usable) and len(usable) >= self._plan.fewest_gpus
        if self.book.queue.count != 1 or self._horizon is None or not roomy:
            return None
        size = self.book.columns.plain_size(int(rows[0])) if len(rows) else 0
        span = self._horizon.span_of(size) if size else None
        if span is None:
            return None
        duration = int(self._horizon.durations(state, rows, self.book.columns)[0])
        gpu = self._plan.block(state.step_began(), size, duration, *span)
        if gpu == NOWHERE or not usable[gpu : gpu + size].all():
            return None
        self._plan.take(gpu, size, duration)
        return JobStart(int(rows[0]), gpu)

    def _rolling(self, state: ClusterState) -> RollingHorizon:
        if self._horizon is None:
            self._horizon = RollingHorizon(state, self.settings)
        return self._horizon

    def _make_way(self, state: ClusterState, rows: Ints) -> Decision:
        """Return the moves of replicas that open blocks for the dearest jobs; these start when the GPUs are free.

        Only jobs of one size that need no type or memory are moved for, and only services that may use every GPU move.
        """
        columns, rolling = self.book.columns, self._rolling(state)
        sizes = [size for size in map(columns.plain_size, rows[:MAKING_WAY].tolist()) if size]
        staying = np.where(rolling.use_every_gpu(), self.curves.staying(state), len(state.owner))
        return MakingWay(state, rolling.blocks_of, staying).for_jobs(sizes)

    def _dearest_first(self, rows: Ints, state: ClusterState) -> tuple[Ints, Floats]:
        """Return rows and their worth, in the order of worth."""
        worth = self.worth.of(rows, self.book.columns.priority.of(rows), state)
        if not self.worth.settings.active:
            return rows, worth
        order = np.argsort(-worth, kind="stable")
        return rows[order], worth[order]

    def _fitting(self, rows: Ints, state: ClusterState) -> npt.NDArray[np.bool_]:
        """Return which rows a block is free for at this moment."""
        if not len(rows):
            return np.zeros(0, dtype=np.bool_)
        return self.book.columns.least_size(rows) <= largest_free_block(state)

    def _ready_rows(self, state: ClusterState, now: int) -> Ints:
        """Return the rows of the queue that may start, as far as a free GPU lets any of them."""
        queue, columns = self.book.queue, self.book.columns
        if not state.usable().any():
            return NO_ROWS
        rows = queue.rows
        waiting: Ints = rows[columns.ready_at.of(rows) <= now]
        return waiting

    def _demand(self, state: ClusterState, first: bool) -> Ints:
        """Return (S, T) what services should hold; within a step they keep what they have."""
        demand = self.curves.curves(state, self.settings.steps)
        if first:
            return demand
        demand = demand.copy()
        for service in state.services:
            demand[service.row, 0] = max(demand[service.row, 0], int(np.count_nonzero(state.held_by(service))))
        return demand

    def _first_moment(self, state: ClusterState, layout: Layout, options: Ints, rows: Ints, first: bool) -> Decision:
        decision = Decision()
        usable = state.usable()
        left = [state.swaps_left(service) for service in state.services]
        most = [len(usable) if each.request.max_gpus is None else each.request.max_gpus for each in state.services]
        held = [int(np.count_nonzero(state.held_by(service))) for service in state.services]
        room = [limit - number for limit, number in zip(most, held, strict=True)]
        present = layout.changes[layout.changes[:, 1] == 0].tolist()
        for service, _, gpu, given in sorted(present, key=lambda change: change[3]):
            fits = room[service] > 0 and usable[gpu] if given > 0 else first
            if left[service] > 0 and fits:
                (decision.given if given > 0 else decision.taken).append(Swap(service, gpu))
                left[service] -= 1
                room[service] -= given
                usable[gpu] = False
        now = np.flatnonzero((layout.where >= 0) & (layout.begin == 0))
        for position in now.tolist():
            row, gpu = int(rows[position]), int(layout.where[position])
            size = int(options[layout.chosen[position], SIZE])
            if usable[gpu : gpu + size].all():
                decision.starts.append(JobStart(row, gpu, size))
                usable[gpu : gpu + size] = False
        return decision


def largest_free_block(state: ClusterState) -> int:
    """Return the largest admissible block that is free at this moment, 0 where none is."""
    free_at = np.where(state.usable(), 0.0, np.inf)
    sizes, nodes = state.block_sizes.sizes, state.block_sizes.nodes(NO_NEED)

    def is_missing(size: int) -> bool:
        return best_free_block(free_at, 0.0, size, state.first_of_node, nodes, 0, 0, False) == NOWHERE

    found = bisect_left(sizes, True, key=is_missing)
    return sizes[found - 1] if found else 0
