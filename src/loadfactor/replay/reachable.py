"""What no policy could have exceeded in a scenario, in the very figures that a report has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from loadfactor.engines import FaultRates, World
from loadfactor.errors import InputError
from loadfactor.replay.bound import BoundSettings, bound_objective, bound_utilization
from loadfactor.replay.build import Scenario
from loadfactor.replay.recorder import window_end
from loadfactor.units import SECONDS_PER_HOUR


def bounds_of(scenario: Scenario) -> dict[str, float]:
    """Return bounds on objective, value and, in a world without faults, utilization, by the name of the measure.

    The penalty of a report counts demand in the window alone, so the bound on the objective is that of a world whose
    services need nothing behind it; the one on the value is that of a world without services. Raises `InputError` where
    the recipe has a warm-up or moldable jobs.
    """
    world, recipe = scenario.world, scenario.recipe
    if recipe.warm_up_days:
        remedy = "leave out --bound, or `warm_up_days` of the recipe"
        raise InputError.of("bound", "bounds are proven for a replay that is measured from its beginning", remedy)
    step = world.step_seconds
    settings = BoundSettings(
        penalty=recipe.realtime_penalty,
        decay_per_hour=recipe.hourly_decay,
        price_seconds=step * max(1, SECONDS_PER_HOUR // step),
    )
    bounds = {
        "objective": bound_objective(_needing_nothing_behind(world), settings).value,
        "value": bound_objective(replace(world, services=(), demand={}), settings).value,
    }
    if world.faults == FaultRates() and window_end(world) > world.begin:
        bounds["utilization"] = bound_utilization(world, window_end(world)).useful
    return bounds


def _needing_nothing_behind(world: World) -> World:
    """Return the world with no demand from the step on in which the window ends."""
    steps = world.last_step() + 2
    last = (window_end(world) - world.begin) // world.step_seconds
    curves = {name: np.resize(curve, steps) for name, curve in world.demand.items()}
    return replace(world, demand={name: np.where(np.arange(steps) < last, curve, 0) for name, curve in curves.items()})
