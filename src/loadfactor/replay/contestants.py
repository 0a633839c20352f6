"""The policies that a replay compares, by name, and what each of them may know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from loadfactor.control import Planner
from loadfactor.control.planners import (
    EASY,
    STRICT,
    Allocator,
    Conservative,
    ExactTurns,
    HorizonSettings,
    InOrder,
    JobBook,
    PeakReservation,
    ReactiveScaling,
    ServiceCurves,
    ServingRule,
    WorthSettings,
    by_arrival,
    by_priority,
    load_planners,
)
from loadfactor.engines import World
from loadfactor.errors import InputError
from loadfactor.foresight import (
    ChangeQuantile,
    DemandForecaster,
    LearntRuntime,
    PerfectForecast,
    PerfectRuntime,
    RuntimeEstimator,
    SeasonalQuantile,
    UserLimit,
    misjudged,
)

RunTimes = Literal["limit", "learnt", "perfect"]
Demand = Literal["seasonal", "perfect"]


@dataclass(frozen=True)
class Knowledge:
    """What policies may know of the future.

    `run_times`: as users' limits say, learnt from what has ended, or perfect, for an upper line. Perfect ones are told
    wrong by `run_time_factor` and `run_time_spread` (see `loadfactor.foresight.misjudged`). `demand`: a seasonal
    forecast from the past only, or perfect. What is needed before the next replica can be ready is taken at `quantile`,
    what is needed later at `far_quantile`. Only the allocator forecasts demand.
    """

    run_times: RunTimes = "learnt"
    demand: Demand = "seasonal"
    quantile: float = 0.975
    far_quantile: float = 0.5
    run_time_factor: float = 1.0
    run_time_spread: float = 1.0


@dataclass(frozen=True)
class Setting:
    """What a contestant is made from; `fast+full` lets `full` plan every `exact_minutes` for `exact_seconds`."""

    world: World
    knowledge: Knowledge = field(default_factory=Knowledge)
    horizon: HorizonSettings = field(default_factory=HorizonSettings)
    worth: WorthSettings = field(default_factory=WorthSettings)
    iterations: int = 12
    exact_minutes: float = 30.0
    exact_seconds: float = 10.0


def _estimator(setting: Setting) -> RuntimeEstimator:
    knowledge, world = setting.knowledge, setting.world
    match knowledge.run_times:
        case "limit":
            return UserLimit()
        case "learnt":
            return LearntRuntime()
        case "perfect":
            truth = {arrival.job.id: arrival.run_seconds for arrival in world.arrivals}
            factor, spread = knowledge.run_time_factor, knowledge.run_time_spread
            return PerfectRuntime(misjudged(truth, factor, spread, world.seed))


def _forecasters(setting: Setting) -> dict[str, DemandForecaster]:
    world = setting.world
    if setting.knowledge.demand == "perfect":
        steps = world.last_step() + setting.horizon.steps + 1
        times = [world.begin + step * world.step_seconds for step in range(steps)]
        return {name: PerfectForecast(times, np.resize(curve, steps).tolist()) for name, curve in world.demand.items()}
    return {name: SeasonalQuantile(float(world.step_seconds)) for name in world.demand}


def _near_forecasters(setting: Setting) -> dict[str, DemandForecaster] | None:
    """Return who is asked about the next steps, where it is not the forecasters."""
    if setting.knowledge.demand == "perfect":
        return None
    return {name: ChangeQuantile(float(setting.world.step_seconds)) for name in setting.world.demand}


def _peak(world: World) -> ServingRule:
    return PeakReservation({name: int(curve.max()) for name, curve in world.demand.items()})


def _reactive(world: World) -> ServingRule:
    return ReactiveScaling()


def _in_order(name: str, rank: Callable[..., float], mode: int, serving: Callable[[World], ServingRule]) -> Make:
    def make(setting: Setting) -> Planner:
        book = JobBook(rank, _estimator(setting), setting.world.job_start_seconds)
        return InOrder(name, book, mode, serving(setting.world))

    return make


def _conservative(name: str, serving: Callable[[World], ServingRule]) -> Make:
    def make(setting: Setting) -> Planner:
        book = JobBook(by_arrival, _estimator(setting), setting.world.job_start_seconds)
        return Conservative(name, book, serving(setting.world), setting.horizon)

    return make


def _fast(setting: Setting) -> Planner:
    return _allocator(setting, "fast", None)


def _fast_and_full(setting: Setting) -> Planner:
    return _allocator(setting, "fast+full", ExactTurns(setting.exact_minutes, setting.exact_seconds))


def _allocator(setting: Setting, name: str, exact: ExactTurns | None) -> Planner:
    book = JobBook(by_priority, _estimator(setting), setting.world.job_start_seconds)
    knowledge = setting.knowledge
    curves = ServiceCurves(
        _forecasters(setting), knowledge.quantile, knowledge.far_quantile, _near_forecasters(setting)
    )
    return Allocator(book, curves, setting.horizon, setting.iterations, name, setting.worth, exact)


Make = Callable[[Setting], Planner]
CONTESTANTS: dict[str, Make] = {
    **{
        f"{name}+{rule}": _in_order(f"{name}+{rule}", rank, mode, serving)
        for rule, serving in (("peak", _peak), ("reactive", _reactive))
        for name, rank, mode in (
            ("fifo", by_arrival, STRICT),
            ("easy", by_arrival, EASY),
            ("priority", by_priority, EASY),
        )
    },
    "backfill+peak": _conservative("backfill+peak", _peak),
    "backfill+reactive": _conservative("backfill+reactive", _reactive),
    "fast": _fast,
    "fast+full": _fast_and_full,
}


def make_planner(name: str, setting: Setting) -> Planner:
    """Return a fresh planner, its code loaded; raise `InputError` for a name that is not in `CONTESTANTS`."""
    if name not in CONTESTANTS:
        raise InputError.of(
            "policy", f"{name!r} is none that can be replayed", f"choose among {', '.join(CONTESTANTS)}"
        )
    load_planners()
    return CONTESTANTS[name](setting)
