"""Forecasts of demand: from the past alone, ordered by quantile, and equal to a slow simple version."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadfactor.errors import InputError
from loadfactor.foresight import ChangeQuantile, Curve, DemandForecaster, LastValue, PerfectForecast, SeasonalQuantile
from loadfactor.foresight.seasonal import lead_times
from tests.foresight.slow import SlowSeason, slow_change_quantile

BIN = 600.0
SEASON = 12 * BIN
curves = st.lists(st.floats(0, 1000), min_size=1, max_size=150)


def wavy(length: int, seed: int) -> list[float]:
    """Return a curve with a season of 12 bins, noise, a step and an outage."""
    dice = random.Random(seed)
    wave = [10 + 5 * np.sin(2 * np.pi * place / 12) + dice.gauss(0, 1) for place in range(length)]
    return [0.0 if 40 <= place < 43 else max(0.0, one + 8 * (place > 70)) for place, one in enumerate(wave)]


def fed(forecaster: DemandForecaster, curve: list[float]) -> DemandForecaster:
    """Return the forecaster after it has observed the curve, bin by bin."""
    for place, demand in enumerate(curve):
        forecaster.observe(place * BIN, demand)
    return forecaster


def ahead(forecaster: DemandForecaster, length: int, quantile: float, steps: int = 15) -> Curve:
    """Return the forecast that begins with the last of `length` bins."""
    return forecaster.forecast((length - 1) * BIN, steps, BIN, quantile)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("length", [1, 2, 13, 20, 43, 60, 140, 230])
def test_the_seasonal_forecast_equals_the_slow_one(length: int, seed: int) -> None:
    curve = wavy(length, seed)
    slow = SlowSeason(curve)
    for quantile in (0.1, 0.5, 0.9):
        expected = [slow.forecast(lead, quantile) for lead in range(15)]
        assert ahead(fed(SeasonalQuantile(BIN, SEASON), curve), length, quantile) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("length", [1, 2, 13, 20, 60, 140])
def test_the_forecast_by_changes_equals_the_slow_one(length: int, seed: int) -> None:
    curve, window = wavy(length, seed), 1008
    for quantile in (0.1, 0.5, 0.9):
        expected = [slow_change_quantile(curve, lead, quantile, window, 0.5 ** (1 / 3)) for lead in range(4)]
        assert ahead(fed(ChangeQuantile(BIN), curve), length, quantile, 4) == pytest.approx(expected)


def test_changes_of_more_than_a_week_ago_are_forgotten() -> None:
    hour, long = 3_600.0, [*wavy(200, 0), *wavy(400, 1)]
    forecaster = ChangeQuantile(hour)
    for place, demand in enumerate(long):
        forecaster.observe(place * hour, demand)
    expected = slow_change_quantile(long, 1, 0.9, 168, 0.25)
    assert forecaster.forecast(600 * hour, 1, hour, 0.9)[0] == pytest.approx(expected)


@pytest.mark.parametrize("quantile", [0.8, 0.95])
def test_rough_and_calm_times_get_margins_of_their_own_and_the_quantile_holds(quantile: float) -> None:
    dice = np.random.default_rng(5)
    spread = np.where(np.arange(3000) // 100 % 2, 20.0, 1.0)
    curve = (500 + dice.normal(0, spread)).tolist()
    forecaster, margins, above = ChangeQuantile(BIN), [], []
    for place, demand in enumerate(curve[:-1]):
        forecaster.observe(place * BIN, demand)
        foreseen = forecaster.forecast((place + 1) * BIN, 1, BIN, quantile)[0]
        margins.append(foreseen - demand)
        above.append(curve[place + 1] > foreseen)
    rough = spread[:-1] > 1
    assert np.mean(above[500:]) == pytest.approx(1 - quantile, abs=0.02)
    assert np.mean(np.array(margins)[rough]) > 3 * np.mean(np.array(margins)[~rough])


def test_a_demand_that_never_changes_needs_no_margin() -> None:
    assert ahead(fed(ChangeQuantile(BIN), [7.0] * 50), 50, 0.99) == pytest.approx(7.0)


@pytest.mark.parametrize("make", [LastValue, lambda: SeasonalQuantile(BIN, SEASON), lambda: ChangeQuantile(BIN)])
@given(past=curves, one=curves, other=curves)
def test_a_forecast_does_not_know_the_future(
    make: type[LastValue], past: list[float], one: list[float], other: list[float]
) -> None:
    made = []
    for future in (one, other):
        forecaster = make()
        answers = []
        for place, demand in enumerate(past + future):
            forecaster.observe(place * BIN, demand)
            answers.append(forecaster.forecast(place * BIN, 3, BIN, 0.9))
        made.append(np.array(answers[: len(past)]))
    assert np.array_equal(made[0], made[1])


@given(curve=curves, quantiles=st.lists(st.floats(0.01, 0.99), min_size=2, max_size=6))
def test_quantiles_are_ordered_and_forecasts_are_demand(curve: list[float], quantiles: list[float]) -> None:
    forecaster = fed(SeasonalQuantile(BIN, SEASON), curve)
    made = np.array([ahead(forecaster, len(curve), quantile, 40) for quantile in sorted(quantiles)])
    assert np.all(np.diff(made, axis=0) >= 0)
    assert np.all(made >= 0)
    assert np.all(np.isfinite(made))


@given(curve=curves)
def test_asking_changes_nothing_and_a_copy_goes_on_alike(curve: list[float]) -> None:
    silent, asked = SeasonalQuantile(BIN, SEASON), SeasonalQuantile(BIN, SEASON)
    for place, demand in enumerate(curve):
        silent.observe(place * BIN, demand)
        asked.observe(place * BIN, demand)
        ahead(asked, place + 1, 0.98)
        if place == len(curve) // 2:
            asked = pickle.loads(pickle.dumps(asked))  # noqa: S301 (made two lines above)
    assert np.array_equal(ahead(silent, len(curve), 0.9), ahead(asked, len(curve), 0.9))


def test_lead_times_are_spaced_by_half_a_doubling() -> None:
    assert tuple(lead_times(6)) == SlowSeason([]).leads
    assert list(lead_times(72)) == [1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 72]


def test_what_is_forgotten_changes_nothing() -> None:
    long = wavy(700, 1)
    forecaster = fed(SeasonalQuantile(BIN, SEASON), long)
    assert forecaster._past.room < len(long)  # type: ignore[attr-defined]
    assert ahead(forecaster, 700, 0.9)[3] == pytest.approx(SlowSeason(long).forecast(3, 0.9))


def test_a_daily_course_is_learnt_and_the_reactive_value_is_not_enough() -> None:
    curve = [100.0 if place % 144 in range(60, 90) else 10.0 for place in range(144 * 5 + 50)]
    forecaster = fed(SeasonalQuantile(), curve)
    assert ahead(forecaster, len(curve), 0.9, 20)[16:].min() > 70
    assert ahead(fed(LastValue(), curve), len(curve), 0.9, 20).max() == 10


@pytest.mark.parametrize("seed", range(5))
def test_steps_of_any_length_take_the_largest_of_their_bins(seed: int) -> None:
    forecaster = fed(SeasonalQuantile(BIN, SEASON), wavy(100, seed))
    by_bin = forecaster.forecast(99 * BIN, 40, BIN, 0.9)
    assert forecaster.forecast(99 * BIN, 13, 3 * BIN, 0.9) == pytest.approx(by_bin[:39].reshape(13, 3).max(axis=1))
    assert forecaster.forecast(99 * BIN + 400, 9, 100, 0.9) == pytest.approx(by_bin[[0, 0, 1, 1, 1, 1, 1, 1, 2]])
    assert forecaster.forecast(99 * BIN + 400, 2, 500, 0.9) == pytest.approx([by_bin[:2].max(), by_bin[1:3].max()])


def test_a_bin_is_its_largest_demand_and_silence_goes_on() -> None:
    often, once = SeasonalQuantile(BIN, SEASON), SeasonalQuantile(BIN, SEASON)
    for at_seconds, demand in [(0, 3.0), (100, 7.0), (200, 5.0), (3 * BIN, 4.0), (3 * BIN, 4.0)]:
        often.observe(at_seconds, demand)
    fed(once, [7.0, 5.0, 5.0, 4.0])
    assert np.array_equal(ahead(often, 4, 0.9), ahead(once, 4, 0.9))


def test_nothing_observed_is_no_demand_and_the_first_demand_goes_on() -> None:
    assert not SeasonalQuantile().forecast(0, 4, BIN, 0.9).any()
    assert not LastValue().forecast(0, 4, BIN, 0.9).any()
    assert not ChangeQuantile().forecast(0, 4, BIN, 0.9).any()
    assert ahead(fed(SeasonalQuantile(), [6.0]), 1, 0.9) == pytest.approx(6.0)
    assert len(SeasonalQuantile().forecast(0, 0, BIN, 0.9)) == 0


@given(
    curve=st.lists(st.tuples(st.integers(1, 50), st.integers(0, 20)), min_size=1, max_size=12),
    at_seconds=st.integers(0, 300),
    step=st.integers(1, 40),
)
def test_the_perfect_forecast_reads_the_curve(curve: list[tuple[int, int]], at_seconds: int, step: int) -> None:
    times = list(np.cumsum([gap for gap, _ in curve]))
    demand = [value for _, value in curve]
    made = PerfectForecast([float(one) for one in times], [float(one) for one in demand]).forecast(
        at_seconds, 7, step, 0.5
    )
    by_second = [demand[max(0, int(np.searchsorted(times, second, side="right")) - 1)] for second in range(600)]
    seconds = [range(at_seconds + place * step, at_seconds + (place + 1) * step) for place in range(7)]
    assert list(made) == [max(by_second[second] for second in part) for part in seconds]


def test_every_forecaster_keeps_the_protocol() -> None:
    assert isinstance(LastValue(), DemandForecaster)
    assert isinstance(PerfectForecast([0.0], [1.0]), DemandForecaster)
    assert isinstance(SeasonalQuantile(), DemandForecaster)
    assert isinstance(ChangeQuantile(), DemandForecaster)


def test_wrong_input_is_told() -> None:
    with pytest.raises(InputError, match=r"bins of 40000 seconds in a season of 86400\.0; choose bins of at most"):
        SeasonalQuantile(40000)
    with pytest.raises(InputError, match="bins of 0 seconds; choose more than 0 seconds, and at most half a day"):
        ChangeQuantile(0)
    with pytest.raises(InputError, match=r"demand at 599 seconds: observed after the bin from 600\.0 seconds on was"):
        fed(ChangeQuantile(), [1.0, 2.0]).observe(599, 1.0)
    with pytest.raises(InputError, match="demand at 0 seconds: -1; give a finite number, 0 or more"):
        ChangeQuantile().observe(0, -1)
    with pytest.raises(InputError, match=r"demand at 599 seconds: observed after the bin from 600\.0 seconds on was"):
        fed(SeasonalQuantile(), [1.0, 2.0]).observe(599, 1.0)
    with pytest.raises(InputError, match="demand at 0 seconds: nan; give a finite number, 0 or more"):
        SeasonalQuantile().observe(0, float("nan"))
    with pytest.raises(InputError, match="1 values for 2 times; give one value for each time"):
        PerfectForecast([0.0, 1.0], [1.0])
    with pytest.raises(InputError, match="times that do not ascend; sort the curve"):
        PerfectForecast([1.0, 1.0], [1.0, 2.0])
