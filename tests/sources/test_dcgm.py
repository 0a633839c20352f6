"""DCGM's metrics in scrapes and in Prometheus' answers: units, slices, labels, counters, and what is not known."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from loadfactor.errors import InputError
from loadfactor.sources.telemetry.dcgm import Query, Scrape, read_dcgm_answers, read_dcgm_scrapes
from loadfactor.sources.telemetry.kernel_log import XidError, read_xid_log
from loadfactor.sources.telemetry.samples import SCHEMA

GPU = 'gpu="0",UUID="GPU-a",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",Hostname="n1"'
EVERY = f"""# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{{{GPU}}} 90
# NOTE a comment
# HELP DCGM_FI_PROF_GR_ENGINE_ACTIVE
# TYPE DCGM_FI_PROF_GR_ENGINE_ACTIVE gauge
DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{GPU}}} 0.25
DCGM_FI_DEV_FB_USED{{{GPU}}} 1000
DCGM_FI_DEV_FB_FREE{{{GPU}}} 80000
DCGM_FI_DEV_POWER_USAGE{{{GPU}}} 350.5
# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{{GPU}}} 128996013
DCGM_FI_DEV_XID_ERRORS{{{GPU}}} 31
DCGM_FI_DEV_SM_CLOCK{{{GPU}}} 300"""


def scrape(lines: str, taken: float | None = 100.0, name: str = "s.prom") -> Scrape:
    return Scrape(lines, name, taken)


def only(frame: pl.DataFrame) -> dict[str, Any]:
    assert frame.height == 1
    return frame.row(0, named=True)


def test_every_metric_of_a_scrape() -> None:
    telemetry = read_dcgm_scrapes([scrape(EVERY)])
    assert telemetry.samples.schema == pl.Schema(SCHEMA)
    assert only(telemetry.samples) == {
        "time": 100.0,
        "host": "n1",
        "gpu": 0,
        "uuid": "GPU-a",
        "slice_id": None,
        "slice_profile": None,
        "model": "NVIDIA H100 80GB HBM3",
        "workloads": [],
        "utilization": 0.25,
        "utilization_of": "engine",
        "memory_used_mib": 1000.0,
        "memory_free_mib": 80000.0,
        "power_watts": 350.5,
        "energy_joules": 128996.013,
        "energy_used_joules": None,
        "xid": 31,
    }
    assert (telemetry.samples_read, telemetry.left_out, telemetry.notes) == (7, (), ())


def test_without_the_engines_share_the_devices_share_counts() -> None:
    row = only(read_dcgm_scrapes([scrape(f"DCGM_FI_DEV_GPU_UTIL{{{GPU}}} 90")]).samples)
    assert (row["utilization"], row["utilization_of"]) == (0.9, "device")


@pytest.mark.parametrize(
    "value",
    [
        *("2147483632", "2147483633", "2147483634", "2147483635", "2147483647"),
        *(
            "140737488355328",
            "140737488355330.0",
            "9223372036854775792",
            "9223372036854775794",
            "9.223372036854776e+18",
        ),
        *("NaN", "nan"),
    ],
)
def test_dcgms_marks_for_no_value_are_unknown_and_never_0(value: str) -> None:
    text = f"DCGM_FI_DEV_POWER_USAGE{{{GPU}}} 70\n" + "".join(
        f"{metric}{{{GPU}}} {value}\n"
        for metric in (
            *("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE"),
            *("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_FI_DEV_XID_ERRORS"),
        )
    )
    telemetry = read_dcgm_scrapes([scrape(text)])
    row = only(telemetry.samples)
    assert row["power_watts"] == 70
    unknown = ("utilization", "utilization_of", "memory_used_mib", "memory_free_mib", "energy_joules", "xid")
    assert [row[name] for name in unknown] == [None] * 6
    assert telemetry.notes == ("scrapes: 6 of 7 values are marks for a value that nobody knows",)
    assert telemetry.left_out == ()


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("DCGM_FI_DEV_GPU_UTIL", "101"),
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "1.5"),
        ("DCGM_FI_DEV_POWER_USAGE", "-1"),
        ("DCGM_FI_DEV_FB_USED", "1e9"),
        ("DCGM_FI_DEV_FB_FREE", "-Inf"),
    ],
)
def test_what_cannot_be_is_unknown_and_told(metric: str, value: str) -> None:
    telemetry = read_dcgm_scrapes([scrape(f"DCGM_FI_DEV_XID_ERRORS{{{GPU}}} 0\n{metric}{{{GPU}}} {value}")])
    row = only(telemetry.samples)
    assert (row["xid"], row["utilization"], row["power_watts"], row["memory_used_mib"]) == (0, None, None, None)
    assert [row.fault.path for row in telemetry.left_out] == ["s.prom:2"]
    assert telemetry.left_out[0].fault.fact == f"{metric}: its value cannot be, and counts as not known"


def test_slices_are_told_apart_from_each_other_and_from_their_gpu() -> None:
    slices = [f'{GPU},GPU_I_PROFILE="1g.10gb",GPU_I_ID="{number}"' for number in (7, 8)]
    text = f"DCGM_FI_DEV_POWER_USAGE{{{GPU}}} 300\n" + "".join(
        f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{labels}}} {share}\n" for labels, share in zip(slices, (0.5, 1), strict=True)
    )
    frame = read_dcgm_scrapes([scrape(text)]).samples
    assert frame.select("slice_id", "slice_profile", "utilization", "power_watts").rows() == [
        (None, None, None, 300.0),
        (7, "1g.10gb", 0.5, None),
        (8, "1g.10gb", 1.0, None),
    ]


def test_scrapes_over_time_of_two_hosts_and_a_counter_that_is_set_back() -> None:
    def energy(host: str, millijoules: str) -> str:
        return f'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{gpu="0",UUID="GPU-{host}",Hostname="{host}"}} {millijoules}\n'

    steps = ("1000000", "3000000", "NaN", "4000000", "500000", "700000")
    scrapes = [scrape(energy("b", step) + energy("a", "5"), 10.0 * at) for at, step in enumerate(steps)]
    frame = read_dcgm_scrapes(scrapes).samples
    assert frame["host"].to_list() == ["a"] * 6 + ["b"] * 6
    b = frame.filter(host="b")
    assert b["time"].to_list() == [0, 10, 20, 30, 40, 50]
    assert b["energy_used_joules"].to_list() == [None, 2000, None, 1000, 500, 200]
    assert frame.filter(host="a")["energy_used_joules"].to_list() == [None, 0, 0, 0, 0, 0]


def test_a_sample_may_state_its_own_time_in_milliseconds() -> None:
    row = only(read_dcgm_scrapes([scrape(f"DCGM_FI_DEV_GPU_UTIL{{{GPU}}} 5 1700000000500", None)]).samples)
    assert row["time"] == 1700000000.5
    with pytest.raises(InputError, match=r"s\.prom:1: states no time; say when the scrape was taken"):
        read_dcgm_scrapes([scrape(f"DCGM_FI_DEV_GPU_UTIL{{{GPU}}} 5", None)])


@pytest.mark.parametrize(
    ("labels", "workloads"),
    [
        ('pod="train-0",namespace="ml",container="pytorch"', ["ml/train-0"]),
        ('pod="",namespace="",container=""', []),
        (
            'exported_pod="train-0",exported_namespace="ml",pod="dcgm-exporter-x",namespace="gpu-operator"',
            ["ml/train-0"],
        ),
        ('pod="nvidia-dcgm-exporter-x2k",namespace="gpu-operator"', []),
        ('pod="anything",namespace="gpu-operator",container="nvidia-dcgm-exporter"', []),
        ('hpc_job="4711"', ["job:4711"]),
    ],
)
def test_workloads(labels: str, workloads: list[str]) -> None:
    row = only(read_dcgm_scrapes([scrape(f"DCGM_FI_DEV_GPU_UTIL{{{GPU},{labels}}} 5")]).samples)
    assert row["workloads"] == workloads


def test_a_gpu_that_two_pods_share_is_one_row() -> None:
    text = "".join(f'DCGM_FI_DEV_GPU_UTIL{{{GPU},pod="{pod}",namespace="ml"}} 50\n' for pod in ("b", "a"))
    row = only(read_dcgm_scrapes([scrape(text)]).samples)
    assert (row["workloads"], row["utilization"]) == (["ml/a", "ml/b"], 0.5)


def test_damaged_lines_are_left_out_by_their_line() -> None:
    text = EVERY + '\nDCGM_FI_DEV_GPU_UTIL{gpu="1" 5\nDCGM_FI_DEV_GPU_UTIL{gpu="2"} five\nDCGM_FI_DEV_GPU_UTIL{gpu="3"}'
    telemetry = read_dcgm_scrapes([scrape(text)])
    assert telemetry.samples.height == 1
    assert [row.fault.path for row in telemetry.left_out] == ["s.prom:15", "s.prom:16", "s.prom:17"]


def test_repeated_values_are_counted() -> None:
    text = f"DCGM_FI_DEV_GPU_UTIL{{{GPU}}} 5\nDCGM_FI_DEV_GPU_UTIL{{{GPU}}} 9\n"
    telemetry = read_dcgm_scrapes([scrape(text)])
    assert only(telemetry.samples)["utilization"] == 0.05
    assert telemetry.notes == ("scrapes: 1 values repeat a GPU, metric and moment; the first of each is kept",)


def answer(*series: Any, kind: str = "matrix", **changes: Any) -> str:
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": list(series)}} | changes)


def series(metric: str, values: list[Any], **labels: str) -> dict[str, Any]:
    return {
        "metric": {"__name__": metric, "gpu": "1", "UUID": "GPU-b", "instance": "10.0.0.5:9400"} | labels,
        "values": values,
    }


def test_answers_are_joined_by_gpu_and_moment() -> None:
    busy = answer(series("DCGM_FI_DEV_GPU_UTIL", [[160, "50"], [100, "NaN"], [130.5, "100"]]))
    power = answer(series("DCGM_FI_DEV_POWER_USAGE", [[100, "70"], [160, "700"]], modelName="Tesla T4"))
    telemetry = read_dcgm_answers([Query(busy, "busy.json"), Query(power, "power.json")])
    assert telemetry.samples.select("time", "host", "gpu", "utilization", "power_watts").rows() == [
        (100.0, "10.0.0.5", 1, None, 70.0),
        (130.5, "10.0.0.5", 1, 1.0, None),
        (160.0, "10.0.0.5", 1, 0.5, 700.0),
    ]
    assert telemetry.notes == ("prometheus: 1 of 5 values are marks for a value that nobody knows",)


def test_an_answer_without_a_name_is_what_the_caller_says_it_is() -> None:
    nameless = series("", [[1, "0.5"]])
    del nameless["metric"]["__name__"]
    telemetry = read_dcgm_answers([Query(answer(nameless), "q.json", "DCGM_FI_PROF_GR_ENGINE_ACTIVE")])
    assert only(telemetry.samples)["utilization"] == 0.5
    with pytest.raises(InputError, match=r"q\.json: holds no metric of DCGM that is read here"):
        read_dcgm_answers([Query(answer(nameless), "q.json")])


def test_series_that_cannot_be_read_are_left_out_with_their_place() -> None:
    good = series("DCGM_FI_DEV_GPU_UTIL", [[1, "5"]])
    bad = [
        series("DCGM_FI_DEV_GPU_UTIL", [[1, 5]]),
        series("DCGM_FI_DEV_GPU_UTIL", [[1, "five"]]),
        series("DCGM_FI_DEV_GPU_UTIL", [[-1, "5"]]),
        series("up", [[1, "1"]]),
        "series",
    ]
    telemetry = read_dcgm_answers([Query(answer(good, *bad), "q.json")])
    assert telemetry.samples.height == 1
    places = [f"q.json:data.result[{position}]" for position in (1, 2, 3, 5, 4)]
    assert [row.fault.path for row in telemetry.left_out] == places


def test_an_instant_answer_is_of_one_moment() -> None:
    vector = {"metric": {"__name__": "DCGM_FI_DEV_GPU_UTIL", "gpu": "0", "Hostname": "n"}, "value": [7, "20"]}
    assert only(read_dcgm_answers([Query(answer(vector, kind="vector"), "q")]).samples)["utilization"] == 0.2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"status":"error","errorType":"bad_data","error":"parse error"}', "with an error (bad_data: parse error)"),
        (answer(kind="scalar"), "is a scalar, and no series; ask query_range for series"),
        (EVERY, "looks like a scrape in Prometheus' text format; expected an answer of Prometheus"),
        (answer()[:-4], "begins like an answer of Prometheus, and breaks off or is damaged"),
    ],
)
def test_what_is_no_answer_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_dcgm_answers([Query(text, "q.json")])
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (answer(), "looks like an answer of Prometheus; expected a scrape in Prometheus' text format"),
        ("up 1\n", "holds no metric of DCGM that is read here; choose one with"),
        ("", "is empty"),
    ],
)
def test_what_is_no_scrape_of_dcgm_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_dcgm_scrapes([scrape(text)])
    assert message in str(caught.value)


LOG = """[Sun Feb 23 16:24:18 2025] NVRM: GPU at PCI:0000:9b:00: GPU-5096
[Sun Feb 23 16:24:18 2025] NVRM: Xid (PCI:0000:9b:00): 119, pid=7, name=nvidia-smi, Timeout
2025-02-23T15:24:18,500000+00:00 NVRM: Xid (PCI:0000:9c:00): 79, GPU has fallen off the bus.
[  100.250000] NVRM: Xid (PCI:0000:9c:00): 31
Feb 23 16:24:18 n1 kernel: NVRM: Xid (PCI:0000:9c:00): 48, x
[Sun Feb 23 16:24:18 2025] NVRM: Xid (PCI:gone
"""


def test_xid_errors_of_a_kernel_log() -> None:
    reading = read_xid_log(LOG, "dmesg.log", "Europe/Berlin", booted=1_000_000.0)
    assert reading.facts == (
        XidError(2, 1740324258.0, "0000:9b:00", "GPU-5096", 119, "pid=7, name=nvidia-smi, Timeout"),
        XidError(3, 1740324258.5, "0000:9c:00", None, 79, "GPU has fallen off the bus."),
        XidError(4, 1000100.25, "0000:9c:00", None, 31, ""),
        XidError(5, None, "0000:9c:00", None, 48, "x"),
    )
    assert [row.fault.path for row in reading.left_out] == ["dmesg.log:6"]
    assert reading.notes == ("dmesg.log: when 1 of 4 XID errors happened is not known",)
    assert [fact.time for fact in read_xid_log(LOG, "dmesg.log").facts] == [None, 1740324258.5, None, None]
    with pytest.raises(InputError, match="expected a kernel log with XID errors"):
        read_xid_log("all is well")
