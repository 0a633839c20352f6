"""How well run times and demand are foreseen, on the public traces: the tables of docs/design/foresight.md.

    python benchmarks/foresight.py runtimes /path/to/traces
    python benchmarks/foresight.py demand /path/to/traces [--library] [--leads]

The folder holds the traces under the names in JOB_TRACES and DEMAND_TRACES, gzipped. `--library` adds the forecasters
of statsforecast (pip install statsforecast; a few minutes), `--leads` shows every lead time. Everything but the
times is the same at each run.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from loadfactor.foresight import (
    DemandForecaster,
    JobFeatures,
    LastValue,
    LearntRuntime,
    RuntimeEstimator,
    SeasonalQuantile,
    UserLimit,
)

Floats = npt.NDArray[np.float64]
JOB_TRACES = {
    "Venus": ("jobs_helios_venus_gpu.csv.gz", "arrival_s", None),
    "PAI": ("jobs_alibaba_pai_v2020_sample_a.csv.gz", "start_s", "task"),
}
REAL_LIMITS = "sacct_xdmod_phillips.psv.gz"
DEMAND_TRACES = ("m-large", "m-small", "mm-image")
AZURE = "demand_azure_llm_2023_conv.csv.gz"
ELAPSED_SECONDS = (0.0, 600.0, 3_600.0, 21_600.0)
LIMIT_FACTORS = (1.2, 10.0)
QUANTILES = (0.5, 0.9, 0.98)
SEED = 7


@dataclass(frozen=True)
class Ended:
    """A job of a trace with its true run time."""

    job_id: str
    start_seconds: float
    run_seconds: float
    features: JobFeatures

    def without_limit(self) -> Ended:
        """Return the same job, its limit forgotten."""
        seen = self.features
        blind = JobFeatures(seen.gpus, seen.user, seen.name)
        return Ended(self.job_id, self.start_seconds, self.run_seconds, blind)


def rows_of(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a gzipped CSV file."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines)


def traced_jobs(path: Path, start: str, name: str | None) -> list[Ended]:
    """Return the jobs of a trace; limits are drawn: the truth times a factor, log-uniform within LIMIT_FACTORS."""
    dice = random.Random(SEED)  # noqa: S311 (limits are drawn, not secrets)
    low, high = map(math.log, LIMIT_FACTORS)
    jobs = []
    for number, row in enumerate(rows_of(path)):
        run_seconds = float(row["service_s"])
        limit = run_seconds * math.exp(dice.uniform(low, high))
        features = JobFeatures(int(row["gpus"]), None, row[name] if name else None, limit)
        jobs.append(Ended(str(number), float(row[start]), run_seconds, features))
    return jobs


def jobs_with_real_limits(path: Path) -> list[Ended]:
    """Return the jobs of an `sacct -P` log with the limits that their users gave; cores stand for GPUs."""
    jobs = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            field = line.rstrip("\n").split("|")
            try:
                start, end = (datetime.fromisoformat(text).timestamp() for text in field[12:14])
            except ValueError:
                continue  # it never started or has not ended
            days, _, clock = field[23].rpartition("-")
            hours, minutes, seconds = map(int, clock.split(":"))
            limit = float(int(days or 0) * 86_400 + hours * 3_600 + minutes * 60 + seconds)
            if end > start:
                jobs.append(
                    Ended(field[0], start, end - start, JobFeatures(int(field[18]), field[8], field[25], limit))
                )
    return jobs


class BestGuess:
    """A quantile of what is left to be true, for one who knows the whole trace, its future too, but not this job.

    Where a limit is the truth times a factor that was drawn evenly in the logarithm, all run times that the limit
    allows are as likely as they are frequent in the trace. Counted are the other jobs within the same power of two of
    GPUs. What size, limit and time run leave open, no predictor from them alone can tell.
    """

    def __init__(self, jobs: Sequence[Ended], quantile: float) -> None:
        self.quantile = quantile
        self._truth = {job.job_id: job.run_seconds for job in jobs}
        by_size: dict[int, list[float]] = {}
        for job in jobs:
            by_size.setdefault(job.features.gpus.bit_length(), []).append(job.run_seconds)
        self._runs = {size: np.sort(np.array(runs)) for size, runs in by_size.items()}

    def estimate(self, job_id: str, features: JobFeatures, elapsed_seconds: float) -> float:
        """Return the total run time; the limit must be one that was drawn."""
        limit = features.limit_seconds or math.inf
        least, most = max(limit / LIMIT_FACTORS[1], elapsed_seconds), limit / LIMIT_FACTORS[0]
        if least >= most:
            return limit
        runs, own = self._runs[features.gpus.bit_length()], self._truth[job_id]
        first, last = np.searchsorted(runs, (least, most), "right").tolist()
        count = last - first - (least < own <= most)
        if count < 1:
            return float(least ** (1 - self.quantile) * most**self.quantile)
        place = first + int(self.quantile * count)
        return float(runs[place + (least < own and place >= runs.searchsorted(own))])

    def planned(self, job_id: str, features: JobFeatures) -> float:
        """Return the same for a job that waits."""
        return self.estimate(job_id, features, 0.0)

    def learn(self, job_id: str, features: JobFeatures, run_seconds: float) -> None:
        """Learn nothing."""


def walk(jobs: Sequence[Ended], estimator: RuntimeEstimator) -> tuple[dict[float, list[tuple[int, float]]], float]:
    """Return the estimates by elapsed time, made in order of time and learnt from ends only; and microseconds each."""
    moments = [(job.start_seconds + job.run_seconds, 0, number, -1.0) for number, job in enumerate(jobs)]
    for elapsed in ELAPSED_SECONDS:
        moments += [(j.start_seconds + elapsed, 1, n, elapsed) for n, j in enumerate(jobs) if j.run_seconds > elapsed]
    answers: dict[float, list[tuple[int, float]]] = {elapsed: [] for elapsed in ELAPSED_SECONDS}
    asked = 0.0
    for _, is_question, number, elapsed in sorted(moments):
        job = jobs[number]
        if is_question:
            began = time.perf_counter()
            answer = estimator.estimate(job.job_id, job.features, elapsed)
            asked += time.perf_counter() - began
            answers[elapsed].append((number, answer))
        else:
            estimator.learn(job.job_id, job.features, job.run_seconds)
    return answers, asked / sum(map(len, answers.values())) * 1e6


def runtime_row(jobs: Sequence[Ended], answers: list[tuple[int, float]], elapsed: float) -> str:
    """Return the measures of the estimates at one elapsed time as cells of a table."""
    truth = np.array([jobs[number].run_seconds for number, _ in answers])
    gpus = np.array([jobs[number].features.gpus for number, _ in answers])
    answer = np.array([value for _, value in answers])
    left = float((gpus * (truth - elapsed)).sum())
    short = float((gpus * np.maximum(truth - answer, 0)).sum()) / left
    long = float((gpus * np.maximum(answer - truth, 0)).sum()) / left
    error = np.abs(np.log(answer / truth))
    factor = math.exp(float(np.median(error)))
    by_work = float(np.average(error, weights=gpus * (truth - elapsed)))
    too_short, hours = (answer < truth).mean(), float(np.abs(answer - truth).mean()) / 3_600
    accuracy = f"{factor:.2f} | {hours:.2f} | {error.mean():.3f} | {by_work:.3f}"
    return f"{accuracy} | {too_short:.0%} | {short:.2f} | {long:.2f}"


def report_runtimes(name: str, jobs: list[Ended], drawn_limits: bool = True) -> None:
    """Print how well each estimator does on a trace."""
    blind = [job.without_limit() for job in jobs]
    contestants: list[tuple[str, list[Ended], RuntimeEstimator]] = [("user's limit", jobs, UserLimit())]
    for quantile in (0.5, 0.75, 0.9):
        contestants.append((f"learnt, {quantile}", jobs, LearntRuntime(quantile)))
        contestants.append((f"learnt without limits, {quantile}", blind, LearntRuntime(quantile)))
        if drawn_limits:
            contestants.append((f"best guess, {quantile}", jobs, BestGuess(jobs, quantile)))
    show(f"\n{name}: {len(jobs):,} jobs\n")
    columns = "median factor | mean error h | mean log | log by GPU-h | too short | GPU-h short | GPU-h long"
    show(f"| estimate | elapsed s | {columns} | µs |")
    show("|---" * 10 + "|")
    for title, seen, estimator in contestants:
        answers, microseconds = walk(seen, estimator)
        for elapsed in ELAPSED_SECONDS:
            cells = runtime_row(seen, answers[elapsed], elapsed)
            show(f"| {title} | {elapsed:,.0f} | {cells} | {microseconds:.1f} |")


@dataclass(frozen=True)
class DemandTrace:
    """A demand curve in bins, and what is asked about it."""

    name: str
    curve: Floats
    bin_seconds: float
    leads: tuple[int, ...]
    first_origin: int
    stride: int


def demand_traces(folder: Path) -> Iterator[DemandTrace]:
    """Yield the curves: 10-minute bins of requests a second, and requests in each minute of the Azure hour."""
    for name in DEMAND_TRACES:
        rates = [float(row["rate_rps"]) for row in rows_of(folder / f"demand_servegen_{name}_10min.csv.gz")]
        first, stride = (324, 11) if len(rates) > 288 else (36, 1)
        yield DemandTrace(name, np.array(rates), 600.0, (1, 3, 6, 12, 24, 36), first, stride)
    times = [datetime.fromisoformat(row["TIMESTAMP"][:26]).timestamp() for row in rows_of(folder / AZURE)]
    minutes = np.floor((np.array(times) - times[0]) / 60).astype(np.int64)
    yield DemandTrace("Azure", np.bincount(minutes)[:-1].astype(np.float64), 60.0, (1, 2, 5, 10), 20, 1)


class Library:
    """A forecaster of statsforecast behind our protocol, fitted anew on the last seven days at every forecast."""

    def __init__(self, make: Callable[[], Any], season: int) -> None:
        self._make, self._window = make, 7 * season
        self._seen: list[float] = []
        self._fitted: tuple[int, dict[str, Any]] = (0, {})

    def observe(self, at_seconds: float, demand: float) -> None:
        """Remember the demand of one more bin."""
        self._seen.append(demand)

    def forecast(self, at_seconds: float, steps: int, step_seconds: float, quantile: float) -> Floats:
        """Return the library's own quantile; step 0 is the bin observed last. A fit serves all quantiles."""
        if self._fitted[0] != len(self._seen):
            recent = np.array(self._seen[-self._window :])
            levels = [200 * one - 100 for one in QUANTILES if one > 0.5]
            self._fitted = (len(self._seen), self._make().forecast(y=recent, h=steps - 1, level=levels))
        answer = self._fitted[1]
        ahead = answer["mean"] if quantile == 0.5 else answer[f"hi-{200 * quantile - 100}"]
        return np.asarray(np.maximum(np.concatenate([[self._seen[-1]], ahead]), 0.0))


def library_forecasters(season: int) -> dict[str, Callable[[], DemandForecaster]]:
    """Return what the library has at a bearable cost; nothing seasonal where `season` is 0."""
    from statsforecast import models

    plain: dict[str, Callable[[], Any]] = {
        "Naive": models.Naive,
        "AutoETS": lambda: models.AutoETS(season_length=1),
        "AutoTheta": lambda: models.AutoTheta(season_length=1),
        "AutoARIMA": lambda: models.AutoARIMA(season_length=1),
    }
    seasonal: dict[str, Callable[[], Any]] = {
        "SeasonalNaive": lambda: models.SeasonalNaive(season_length=season),
        "MSTL, AutoETS": lambda: models.MSTL(season, models.AutoETS(model="ZZN")),
        "MSTL, AutoARIMA": lambda: models.MSTL(season, models.AutoARIMA()),
    }
    chosen = plain | (seasonal if season else {})
    return {name: lambda make=make: Library(make, season or 144) for name, make in chosen.items()}  # type: ignore[misc]


@dataclass
class Scores:
    """What the forecasts of one forecaster cost and how far off they were, by quantile and lead."""

    loss: dict[float, list[float]]
    under: dict[float, list[float]]
    over: dict[float, list[float]]
    milliseconds: float


def scored(trace: DemandTrace, forecaster: DemandForecaster) -> Scores:
    """Return the scores over rolling origins. Loss is in % of the mean demand, the excess in % of the peak."""
    origins, forecasts, spent = [], [], 0.0
    for number, demand in enumerate(trace.curve):
        at_seconds = number * trace.bin_seconds
        began = time.process_time()
        forecaster.observe(at_seconds, demand)
        spent += time.process_time() - began
        asked = number >= trace.first_origin and (number - trace.first_origin) % trace.stride == 0
        if asked and number + trace.leads[-1] < len(trace.curve):
            began = time.process_time()
            steps = trace.leads[-1] + 1
            forecasts.append([forecaster.forecast(at_seconds, steps, trace.bin_seconds, q) for q in QUANTILES])
            spent += time.process_time() - began
            origins.append(number)
    made = np.array(forecasts)[:, :, list(trace.leads)]  # (origins, quantiles, leads)
    truth = trace.curve[np.add.outer(np.array(origins), np.array(trace.leads))][:, None, :]
    level = np.array(QUANTILES)[None, :, None]
    loss = np.maximum(level * (truth - made), (level - 1) * (truth - made)).mean(axis=0) / trace.curve.mean()
    under = (truth > made + 1e-9).mean(axis=0)
    over = np.maximum(made - truth, 0).mean(axis=0) / trace.curve.max()
    tables = [{q: list(100 * table[row]) for row, q in enumerate(QUANTILES)} for table in (loss, under, over)]
    return Scores(tables[0], tables[1], tables[2], 1e3 * spent / len(origins))


def report_demand(trace: DemandTrace, with_library: bool, by_lead: bool) -> None:
    """Print how well each forecaster does on a curve: means over the lead times, or every lead time."""
    contestants: dict[str, Callable[[], DemandForecaster]] = {
        "LastValue": LastValue,
        "SeasonalQuantile": lambda: SeasonalQuantile(trace.bin_seconds),
    }
    if with_library:
        season = round(86_400 / trace.bin_seconds)
        contestants |= library_forecasters(season if len(trace.curve) >= 2 * season else 0)
    hours = ", ".join(f"{lead * trace.bin_seconds / 60:.0f}" for lead in trace.leads)
    show(f"\n{trace.name}: {len(trace.curve)} bins of {trace.bin_seconds:.0f} s, lead times {hours} minutes\n")
    columns = [f"{measure} {q}" for measure in ("loss", "under", "over") for q in QUANTILES]
    show(f"| forecaster | {' | '.join(columns)} | ms |")
    show("|---" * (len(columns) + 2) + "|")
    for name, make in contestants.items():
        scores = scored(trace, make())
        lists = [table[q] for table in (scores.loss, scores.under, scores.over) for q in QUANTILES]
        cells = [" ".join(f"{one:.1f}" for one in values) if by_lead else f"{np.mean(values):.2f}" for values in lists]
        show(f"| {name} | {' | '.join(cells)} | {scores.milliseconds:.2f} |")


def show(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Read the arguments and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subject", choices=["runtimes", "demand"])
    parser.add_argument("traces", type=Path, help="the folder with the traces")
    parser.add_argument("--library", action="store_true", help="compare with statsforecast")
    parser.add_argument("--leads", action="store_true", help="show every lead time")
    options = parser.parse_args()
    if options.subject == "demand":
        for trace in demand_traces(options.traces):
            report_demand(trace, options.library, options.leads)
        return
    for name, (file, start, job_name) in JOB_TRACES.items():
        report_runtimes(name, traced_jobs(options.traces / file, start, job_name))
    report_runtimes("xdmod, cores and real limits", jobs_with_real_limits(options.traces / REAL_LIMITS), False)


if __name__ == "__main__":
    main()
