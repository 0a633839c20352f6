"""What a forecast from outside says of the steps of a plan."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from loadfactor.control.records import GivenForecast

Floats = npt.NDArray[np.float64]


def given_demand(forecast: GivenForecast, at: int, steps: int, step_seconds: int, quantile: float) -> Floats:
    """Return (steps,) the GPUs not exceeded with probability `quantile` in steps from second `at` on.

    Between two given quantiles the answer is interpolated, beyond them the nearest one counts. A step takes the largest
    of the given steps that it meets; NaN where the forecast says nothing of all of it.
    """
    curves = np.array(forecast.demand, dtype=np.float64)
    place = float(np.interp(quantile, forecast.quantiles, np.arange(len(curves))))
    below, above = int(np.floor(place)), int(np.ceil(place))
    curve = curves[below] + (place - below) * (curves[above] - curves[below])
    begins = at + step_seconds * np.arange(steps)
    first = (begins - forecast.begin) // forecast.step_seconds
    last = -(-(begins + step_seconds - forecast.begin) // forecast.step_seconds)
    return np.array(
        [
            curve[low:high].max() if low >= 0 and high <= len(curve) else np.nan
            for low, high in zip(first, last, strict=True)
        ]
    )
