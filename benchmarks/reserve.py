"""How many GPUs must be ready and idle for how little unmet demand: a table of docs/design/foresight.md.

    python benchmarks/reserve.py /path/to/traces

Every step of ten minutes a service is given what a forecaster says for this step and the next, and replicas that are
new in a step serve from its middle on (they take five minutes to start); GPUs are always to be had. Azure's hour is in
steps of a minute. The peak of each curve is 432 GPUs, 40 % of 1,080. The first day (a third of the Azure hour) is left
out. Every number is the same at each run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.foresight import DemandTrace, Floats, demand_traces
from loadfactor.foresight import ChangeQuantile, DemandForecaster, LastValue, SeasonalQuantile

PEAK_GPUS = 432
QUANTILES = (0.9, 0.95, 0.975, 0.99)


def held_gpus(curve: Floats, bin_seconds: float, forecaster: DemandForecaster, quantile: float) -> Floats:
    """Return (T,) what the service holds in each step: the most that is foreseen for it and the next."""
    held = [curve[0]]
    for number, demand in enumerate(curve[:-1]):
        forecaster.observe(number * bin_seconds, float(demand))
        foreseen = forecaster.forecast((number + 1) * bin_seconds, 2, bin_seconds, quantile)
        held.append(np.ceil(foreseen.max() - 1e-9))
    return np.array(held)


def unmet_and_idle(curve: Floats, held: Floats, first: int) -> tuple[float, float]:
    """Return the share of the demand that is unmet, and how many GPUs are ready and idle on average."""
    early = np.minimum(held, np.concatenate([held[:1], held[:-1]]))
    missing = (np.maximum(curve - early, 0) + np.maximum(curve - held, 0)) / 2
    idle = (np.maximum(early - curve, 0) + np.maximum(held - curve, 0)) / 2
    return float(missing[first:].sum() / curve[first:].sum()), float(idle[first:].mean())


def reserve_cells(trace: DemandTrace, make: Callable[[], DemandForecaster]) -> list[str]:
    """Return `unmet %, idle GPUs` for each quantile."""
    curve = np.ceil(_held_through_gaps(trace.curve) / trace.curve.max() * PEAK_GPUS)
    first = min(round(86_400 / trace.bin_seconds), len(curve) // 3)
    figures = [
        unmet_and_idle(curve, held_gpus(curve, trace.bin_seconds, make(), quantile), first) for quantile in QUANTILES
    ]
    return [f"{100 * unmet:.2f}, {idle:.0f}" for unmet, idle in figures]


def _held_through_gaps(curve: Floats) -> Floats:
    """Return the curve with bins of zero filled by the last known value, as a replay does."""
    known = np.maximum.accumulate(np.where(curve > 0, np.arange(len(curve)), 0))
    return np.asarray(curve[known])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path, help="the folder with the traces")
    traces = parser.parse_args().traces
    sys.stdout.write(f"| curve | forecaster | {' | '.join(map(str, QUANTILES))} |\n{'|---' * (len(QUANTILES) + 2)}|\n")
    for trace in demand_traces(traces):
        contestants: dict[str, Callable[[], DemandForecaster]] = {
            "LastValue": LastValue,
            "SeasonalQuantile": lambda seconds=trace.bin_seconds: SeasonalQuantile(seconds),  # type: ignore[misc]
            "ChangeQuantile": lambda seconds=trace.bin_seconds: ChangeQuantile(seconds),  # type: ignore[misc]
        }
        for name, make in contestants.items():
            sys.stdout.write(f"| {trace.name} | {name} | {' | '.join(reserve_cells(trace, make))} |\n")


if __name__ == "__main__":
    main()
