"""From rates to GPUs: the arithmetic, the bins of a step, and that nothing missing becomes zero in silence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadfactor.errors import InputError
from loadfactor.model import Problem, Service
from loadfactor.sources import DemandFormat, ServiceReport, build_problem, read_demand
from loadfactor.sources.services import _held
from tests.sources.logs import demand_text, recipe_with

HOURLY = [10.0, 20.0, 30.0, 25.0, 10.0, 5.0]
BINS = {"horizon.steps": 3, "horizon.step_minutes": 120.0}


def rates(values: Sequence[float | None], seconds: int = 3600) -> str:
    """Return a log of demand with one bin for every value; None is a bin that is not there."""
    return demand_text(*(f"{k * seconds},{value:g}" for k, value in enumerate(values) if value is not None))


def built(directory: Path, demand: str, **changes: Any) -> tuple[Service, ServiceReport]:
    problem, report = build_problem(recipe_with(directory, demand=demand, **{**BINS, **changes}))
    assert isinstance(problem, Problem)
    return problem.services[0], report.services[0]


@pytest.mark.parametrize(
    ("statistic", "demand"), [("max", (20, 30, 10)), ("mean", (15, 28, 8)), (0.5, (15, 28, 8)), (1.0, (20, 30, 10))]
)
def test_what_a_step_takes_from_its_bins(tmp_path: Path, statistic: object, demand: tuple[int, ...]) -> None:
    service, report = built(tmp_path, rates(HOURLY), **{"services.statistic": statistic})
    assert service.demand == demand
    assert (report.bins, report.missing_bins, report.zero_bins, report.held_bins) == (6, 0, 0, 0)


def test_throughput_and_headroom(tmp_path: Path) -> None:
    changes = {"services.throughput": {"requests": 4.0}, "services.headroom": 0.2}
    service, report = built(tmp_path, rates(HOURLY), **changes)
    assert service.demand == (6, 9, 3)  # 20 · 1.2 / 4 is 6 exactly: no GPU more for rounding
    assert (report.load_unit, report.gpus_per_unit) == ("request a second", 0.3)
    default, _ = built(tmp_path, rates(HOURLY), **{"services.headroom": None})
    assert default.demand == (24, 36, 12)
    tenth, _ = built(tmp_path, rates([50] * 6), **{"services.headroom": 0.1})
    assert tenth.demand == (55, 55, 55)  # in floating point 50 · 1.1 is a little more than 55


def test_the_peak_takes_its_share(tmp_path: Path) -> None:
    changes = {"services.throughput": None, "services.peak_share": 0.5}
    service, report = built(tmp_path, rates(HOURLY), **changes)
    assert service.demand == (6, 8, 3)
    assert report.gpus_per_unit == pytest.approx(8 / 30)


TOKENS = "t_s,rate,in,out"
TOKEN_FORM = {
    "times": "seconds",
    "columns": {"time": "t_s", "rate": "rate", "input_tokens": "in", "output_tokens": "out"},
}


def test_input_and_output_tokens_weigh_separately(tmp_path: Path) -> None:
    demand = demand_text("0,2,1000,100", "7200,1,1000,300", "14400,1,0,0", columns=TOKENS)
    changes = {"services.format": TOKEN_FORM, "services.throughput": {"input_tokens": 500.0, "output_tokens": 50.0}}
    service, _ = built(tmp_path, demand, **changes)
    assert service.demand == (8, 8, 0)  # 2000/500 + 200/50, 1000/500 + 300/50


def test_tokens_per_second(tmp_path: Path) -> None:
    demand = demand_text("0,2,1000,100", "7200,1,1000,300", "14400,1,500,0", columns=TOKENS)
    form = TOKEN_FORM | {"tokens": "per_second", "columns": {"time": "t_s", "input_tokens": "in"}}
    service, _ = built(tmp_path, demand, **{"services.format": form, "services.throughput": {"input_tokens": 500.0}})
    assert service.demand == (2, 2, 1)


def test_missing_tokens_take_the_last_mean(tmp_path: Path) -> None:
    demand = demand_text("0,1,1000,100", "7200,4,,", "14400,1,2000,300", columns=TOKENS)
    changes = {"services.format": TOKEN_FORM, "services.throughput": {"input_tokens": 1000.0}}
    service, report = built(tmp_path, demand, **changes)
    assert service.demand == (1, 4, 2)
    assert report.bins_without_tokens == 1


@pytest.mark.parametrize(("zeros", "demand"), [("hold", (20, 20, 10)), ("zero", (20, 0, 10))])
def test_bins_of_zero_are_reported_either_way(tmp_path: Path, zeros: str, demand: tuple[int, ...]) -> None:
    service, report = built(tmp_path, rates([10, 20, 0, 0, 10, 5]), **{"services.zeros": zeros})
    assert service.demand == demand
    assert (report.zero_bins, report.held_bins) == (2, 2 if zeros == "hold" else 0)


@pytest.mark.parametrize(("gaps", "demand"), [("hold", (20, 20, 10)), ("zero", (20, 0, 10))])
def test_missing_bins_are_reported_either_way(tmp_path: Path, gaps: str, demand: tuple[int, ...]) -> None:
    service, report = built(tmp_path, rates([10, 20, None, None, 10, 5]), **{"services.gaps": gaps})
    assert service.demand == demand
    assert (report.missing_bins, report.held_bins) == (2, 2 if gaps == "hold" else 0)


def test_a_log_that_starts_late_and_ends_early(tmp_path: Path) -> None:
    demand = demand_text("7200,7", "10800,9")
    held, report = built(tmp_path, demand)
    assert held.demand == (7, 9, 9)
    assert (report.bins, report.missing_bins, report.held_bins) == (6, 4, 4)
    as_zero, _ = built(tmp_path, demand, **{"services.gaps": "zero"})
    assert as_zero.demand == (0, 9, 0)


def test_the_value_before_the_day_is_held_into_it(tmp_path: Path) -> None:
    values: list[float | None] = [1.0] * 23 + [13.0, None, None] + [5.0] * 4
    service, _ = built(tmp_path, rates(values), **{"services.day": 1})
    assert service.demand == (13, 5, 5)


def test_bins_wider_than_a_step_cover_it(tmp_path: Path) -> None:
    changes = {"horizon.step_minutes": 30.0, "horizon.steps": 5}
    service, report = built(tmp_path, rates([1, 2, 3]), **changes)
    assert service.demand == (1, 1, 2, 2, 3)
    assert report.bins == 3


def test_bins_that_do_not_start_with_the_step(tmp_path: Path) -> None:
    demand = demand_text("1800,1", "5400,2", "9000,3", "12600,4")
    service, report = built(tmp_path, demand, **{"horizon.step_minutes": 60.0, "services.gaps": "zero"})
    assert service.demand == (1, 2, 3)
    assert (report.bins, report.missing_bins) == (4, 1)


def test_a_log_of_requests_is_counted_by_the_minute(tmp_path: Path) -> None:
    text = "TIMESTAMP,in\r\n" + "".join(f"2023-11-16 18:{15 + k // 4}:{k % 4 * 10:02d}.1,600\r\n" for k in range(8))
    (tmp_path / "log.csv").write_text(text.rstrip("\r\n"), encoding="utf-8")
    form = {"rows": "requests", "zone": "UTC", "columns": {"time": "TIMESTAMP", "input_tokens": "in"}}
    changes: dict[str, Any] = {"services.file": "log.csv", "services.format": form, "services.day": "2023-11-16 18:15"}
    changes |= {"services.throughput": {"input_tokens": 10.0}, "horizon.step_minutes": 1.0, "horizon.steps": 3}
    service, report = built(tmp_path, rates([1]), **changes)
    assert service.demand == (4, 4, 4)  # 4 requests of 600 tokens in 60 s on GPUs that do 10 a second
    assert (report.rows_read, report.missing_bins) == (8, 1)


def test_without_a_cap_the_curve_sets_it(tmp_path: Path) -> None:
    assert built(tmp_path, rates(HOURLY))[0].max_swap == 20
    assert built(tmp_path, rates([5] * 6))[0].max_swap == 1
    assert built(tmp_path, rates(HOURLY), **{"services.max_swap": 3})[0].max_swap == 3


def test_held_gpus_are_those_of_the_first_step(tmp_path: Path) -> None:
    service, _ = built(tmp_path, rates([1, 3, 5, 5, 5, 5]), **{"services.held": True})
    assert service.held == (13, 14, 15)
    capped, _ = built(tmp_path, rates([1, 3, 5, 5, 5, 5]), **{"services.held": True, "services.max_gpus": 2})
    assert capped.held == (14, 15)


def test_demand_above_the_cluster_is_told(tmp_path: Path) -> None:
    _, report = built(tmp_path, rates(HOURLY))
    assert report.steps_above_cluster == 2
    assert any("demand exceeds the whole cluster in 2 steps" in line for line in report.lines())


@pytest.mark.parametrize(
    ("demand", "changes", "message"),
    [
        (
            rates(HOURLY),
            {"services.day": 3},
            "demand.csv: has no demand in the seconds 259200 to 280800: it covers 0 to 21600",
        ),
        (
            rates(HOURLY),
            {"services.throughput": {"requests": 1e-5}},
            "service chat: the curve needs 3000000 GPUs at its peak",
        ),
        (
            rates(HOURLY),
            {"services.throughput": {"input_tokens": 1}},
            "demand.csv: states no tokens; map a column of tokens",
        ),
        (rates([0] * 6), {"services.throughput": None, "services.peak_share": 0.5}, "its curve is 0 at every step"),
        (demand_text("x,1", "0,y"), {}, "demand.csv:2: t_s is 'x', which is no number"),
    ],
)
def test_what_cannot_be_a_service_is_refused(
    tmp_path: Path, demand: str, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        built(tmp_path, demand, **changes)
    assert message in str(caught.value)


def test_bad_rows_are_listed_and_the_others_kept() -> None:
    form = DemandFormat(columns={"time": "t_s", "rate": "rate"}, times="seconds")
    text = demand_text("0,1", "600,many", ",3", "1200,3", "1200,4")
    log = read_demand(text.encode(), form, "log")
    assert [(fault.path, fault.fact) for fault in log.bad_rows] == [
        ("log:3", "rate is 'many', which is no number of 0 or more"),
        ("log:4", "states no time"),
        ("log:6", "falls into the bin of an earlier row"),
    ]
    assert log.requests.tolist() == [1, 3]  # the smallest distance, 1200 s, is the bin's width


def test_times_that_jitter_fall_into_the_nearest_bin() -> None:
    form = DemandFormat(columns={"time": "t_s", "rate": "rate"}, times="seconds", bin_seconds=600.0)
    log = read_demand(demand_text("0,1", "599,2", "1201,3", "1799,4").encode(), form, "log")
    assert (log.requests.tolist(), log.bad_rows) == ([1, 2, 3, 4], ())


def test_a_log_of_a_thousand_years_is_refused() -> None:
    form = DemandFormat(columns={"time": "t_s", "rate": "rate"}, times="seconds")
    with pytest.raises(InputError, match="accepted; cut it to the days that you need"):
        read_demand(demand_text("0,1", "1,1", "40000000000,1").encode(), form, "log")


@settings(max_examples=40)
@given(st.lists(st.one_of(st.floats(0, 100), st.none()), min_size=2, max_size=30), st.integers(1, 200))
def test_max_covers_every_bin(
    tmp_path_factory: pytest.TempPathFactory, values: list[float | None], step_minutes: int
) -> None:
    if not any(values):
        values = [*values, 1.0]
    known = [(k, value) for k, value in enumerate(values) if value is not None]
    first = known[0][0]
    demand = demand_text(*(f"{k * 600},{value!r}" for k, value in known))
    changes: dict[str, Any] = {
        "services.format.bin_seconds": 600.0,
        "horizon.step_minutes": float(step_minutes),
        "horizon.steps": 30,
    }
    changes |= {"services.zeros": "zero", "services.day": 0}
    if first * 600 >= 30 * step_minutes * 60:
        return
    service, _ = built(tmp_path_factory.mktemp("logs"), demand, **changes)
    for k, value in known:
        step = k * 600 // (step_minutes * 60)
        if step < 30:
            assert service.demand[step] >= value - 1e-6


def test_held_values() -> None:
    import numpy as np

    nan = float("nan")
    assert _held(np.array([nan, 2.0, nan, 5.0, nan])).tolist() == [2, 2, 2, 5, 5]
    assert _held(np.array([nan, nan])).tolist() == [0, 0]
