"""Demand in an answer of Prometheus: series added up, counters as rates, gaps left missing."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from loadfactor.errors import InputError
from loadfactor.sources import DEMAND_PRESETS, DemandFormat, DemandLog, read_demand

PRESET = DEMAND_PRESETS["prometheus"]
REQUESTS = "vllm:request_success_total"


def series(values: dict[int, Any], name: str = "", **labels: str) -> dict[str, Any]:
    known = {"__name__": name} if name else {}
    return {"metric": {**known, **labels}, "values": [[time, str(value)] for time, value in values.items()]}


def read(*many: Any, form: DemandFormat = PRESET) -> DemandLog:
    text = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": list(many)}})
    return read_demand(text.encode(), form, "q.json")


def test_rates_are_added_up_and_a_gap_stays_missing() -> None:
    log = read(series({600: 1.5, 660: 2, 720: "NaN", 840: 3}, pod="a"), series({600: 0.5, 840: "NaN"}, pod="b"))
    assert (log.first_s, log.bin_seconds) == (600, 60)
    np.testing.assert_array_equal(log.requests, [2, 2, np.nan, np.nan, 3])
    assert log.bad_rows == ()


def test_a_counter_is_its_increase_per_second_until_the_next_moment() -> None:
    first = series({0: 100, 60: 160, 120: 30, 180: 30, 240: 90}, REQUESTS, pod="a")
    second = series({120: 0, 180: 120, 240: 120}, REQUESTS, pod="b")
    log = read(first, second)
    np.testing.assert_allclose(log.requests, [1.0, 0.5, 2.0, 1.0])  # 30 after the set-back; the last moment has none


def test_columns_are_metrics() -> None:
    form = PRESET.model_copy(update={"columns": {"time": "time", "rate": "requests", "output_tokens": "tokens"}})
    log = read(series({0: 2, 60: 3}, "requests"), series({0: 200, 60: 600}, "tokens"), form=form)
    np.testing.assert_array_equal(log.requests, [2, 3])
    np.testing.assert_array_equal(log.output_tokens, [200, 600])
    with pytest.raises(
        InputError, match=r"q.json: has no series of 'requests'; name one of value, tokens with --columns"
    ):
        read(series({0: 1}, "tokens"), form=form)


def test_a_series_that_cannot_be_read_is_a_bad_row() -> None:
    log = read(series({0: 1, 60: 2}), {"metric": {}, "values": [[0, "x"]]})
    np.testing.assert_array_equal(log.requests, [1, 2])
    assert [fault.path for fault in log.bad_rows] == ["q.json:0"]
    assert log.bad_rows[0].fact.startswith("data.result[1] is no series")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"time,value\n1,2\n", "expected an answer of Prometheus"),
        (b'{"status":"success","data":{"resultType":"matrix","result":[]}}', "q.json: holds no sample"),
        (b'{"status":"error","error":"timeout","errorType":"timeout"}', "answered with an error (timeout: timeout)"),
    ],
)
def test_what_is_no_answer_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_demand(content, PRESET, "q.json")
    assert message in str(caught.value)
