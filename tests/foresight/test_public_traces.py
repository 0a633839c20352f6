"""What is foreseen on the public traces. Skipped where ../shared/traces (or LOADFACTOR_TRACES) is missing."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks.foresight import JOB_TRACES, BestGuess, demand_traces, runtime_row, scored, traced_jobs, walk
from loadfactor.foresight import LastValue, LearntRuntime, RuntimeEstimator, SeasonalQuantile, UserLimit

ROOT = Path(__file__).parents[2]
TRACES = Path(os.environ.get("LOADFACTOR_TRACES", ROOT.parent / "shared" / "traces"))
pytestmark = pytest.mark.skipif(
    not TRACES.is_dir(), reason=f"the public traces are not at {TRACES}; set LOADFACTOR_TRACES to their folder"
)
SHORT, LONG = 5, 6


@pytest.mark.parametrize("name", JOB_TRACES)
def test_learning_plans_far_fewer_gpu_hours_wrongly_than_limits(name: str) -> None:
    file, start, job_name = JOB_TRACES[name]
    jobs = traced_jobs(TRACES / file, start, job_name)[:20_000]

    def wrong(estimator: RuntimeEstimator) -> float:
        cells = runtime_row(jobs, walk(jobs, estimator)[0][0.0], 0.0).split(" | ")
        return float(cells[SHORT]) + float(cells[LONG])

    assert wrong(LearntRuntime()) < 0.3 * wrong(UserLimit())
    assert wrong(LearntRuntime()) < 1.4 * wrong(BestGuess(jobs, 0.5))


@pytest.mark.parametrize("name", ["m-large", "m-small"])
def test_the_seasonal_forecast_is_calibrated_and_better_than_the_last_value(name: str) -> None:
    (trace,) = [one for one in demand_traces(TRACES) if one.name == name]
    seasonal, reactive = scored(trace, SeasonalQuantile()), scored(trace, LastValue())
    assert 0.05 < np.mean(seasonal.under[0.9]) / 100 < 0.17
    assert np.mean(seasonal.loss[0.5]) < np.mean(reactive.loss[0.5])
    assert np.mean(seasonal.loss[0.9]) < 0.7 * np.mean(reactive.loss[0.9])
