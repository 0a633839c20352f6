"""Every preset on the public file that it is for. Skipped where ../shared/traces (or LOADFACTOR_TRACES) is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loadfactor.allocator import allocate
from loadfactor.judge import judge
from loadfactor.model import Problem
from loadfactor.sources import BuildReport, build_problem, read_jobs, recipe_from_options
from loadfactor.sources.presets import DEMAND_PRESETS, JOB_PRESETS
from tests.sources.test_selection import assert_accounted

ROOT = Path(__file__).parents[2]
TRACES = Path(os.environ.get("LOADFACTOR_TRACES", ROOT.parent / "shared" / "traces"))
pytestmark = pytest.mark.skipif(
    not TRACES.is_dir(), reason=f"the public traces are not at {TRACES}; set LOADFACTOR_TRACES to their folder"
)

JOB_FILES = {
    "helios-venus": ("jobs_helios_venus_gpu.csv.gz", "2020-05-14"),
    "helios-raw": ("format_samples/helios_cluster_log.csv.gz", "2020-06-09"),
    "alibaba-pai": ("jobs_alibaba_pai_v2020_sample_a.csv.gz", "30"),
    "acme-seren": ("format_samples/acme_trace_seren.csv.gz", "2023-03-01"),
    "acme-kalos": ("format_samples/acme_trace_kalos.csv.gz", "2023-05-17"),
    "gavel": ("simtrace_gavel_msr_0e4a51_seed0.tsv.gz", "0"),
    "xdmod-sacct": ("sacct_xdmod_phillips.psv.gz", "2017-01-01"),
}
ROWS = {
    "helios-venus": 125_303,
    "helios-raw": 3,
    "alibaba-pai": 30_174,
    "acme-seren": 2,
    "acme-kalos": 2,
    "gavel": 1_181,
    "xdmod-sacct": 4_285,
}


def built(preset: str) -> tuple[Problem, BuildReport]:
    file, day = JOB_FILES[preset]
    unit = "0.05" if preset == "gavel" else None
    recipe = recipe_from_options(
        cluster="135x8:V100-32GB", jobs=TRACES / file, preset=preset, duration_unit=unit, day=day
    )
    return build_problem(recipe)


def test_every_preset_has_its_file_here() -> None:
    assert set(JOB_FILES) == set(JOB_PRESETS) - {"swf", "sacct"}  # no log of GPUs with a header is published in them
    assert set(DEMAND_PRESETS) - {"prometheus"} == {"servegen", "azure-llm-2023", "mooncake"}  # no answer is published


@pytest.mark.parametrize("preset", JOB_FILES)
def test_every_row_of_every_public_log_is_read_and_accounted_for(preset: str) -> None:
    problem, report = built(preset)
    assert report.jobs is not None
    assert report.jobs.rows_read == ROWS[preset]
    assert report.jobs.bad_rows == 0
    assert problem.jobs
    assert_accounted(report)


def test_helios_days_are_cut_in_shanghai() -> None:
    """Every submission of the day counted with the log's own clock, as its text says."""
    import gzip

    text = gzip.decompress((TRACES / JOB_FILES["helios-venus"][0]).read_bytes()).decode()
    submitted = [line for line in text.splitlines() if ",2020-05-14 " in line]
    problem, report = built("helios-venus")
    assert report.jobs is not None
    late = sum(entry.jobs for entry in report.jobs.left_out if "last step" in entry.reason)
    assert report.jobs.submitted + late == len(submitted) > 100
    assert str(problem.horizon.start) == "2020-05-13 16:00:00+00:00"


def test_the_clocks_of_helios_agree() -> None:
    """The log has two: local time and seconds since its start. Read in the right zone, they differ by a constant."""
    import polars as pl

    log = read_jobs(TRACES / JOB_FILES["helios-venus"][0], JOB_PRESETS["helios-venus"], "log")
    arrivals = pl.read_csv(TRACES / JOB_FILES["helios-venus"][0])["arrival_s"]
    assert (log.frame["submit_s"] - arrivals).n_unique() == 1


def test_two_public_samples_say_how_long_a_job_ran() -> None:
    seconds = [job.duration for job in built("acme-kalos")[0].jobs]
    assert seconds == [1, 1]
    log = read_jobs(TRACES / JOB_FILES["acme-kalos"][0], JOB_PRESETS["acme-kalos"], "log")
    assert log.frame["duration_s"].to_list() == [8, 70]  # its duration column counts the queue too: 18 and 82


def test_gangs_of_pai_are_one_job() -> None:
    log = read_jobs(TRACES / JOB_FILES["alibaba-pai"][0], JOB_PRESETS["alibaba-pai"], "log")
    assert log.merged == 35
    assert log.frame["id"].is_unique().all()


def test_the_two_gpu_jobs_of_xdmod() -> None:
    log = read_jobs(TRACES / JOB_FILES["xdmod-sacct"][0], JOB_PRESETS["xdmod-sacct"], "log")
    with_gpus = log.frame.filter(log.frame["gpus"] > 0)
    assert with_gpus.select("id", "gpus", "duration_s").rows() == [("163485", 2, 912426), ("196835", 2, 17)]
    assert with_gpus["limit_s"][0] == (37 * 24 + 14) * 3600
    assert with_gpus["account"][0] == "chaff"


def test_a_day_of_helios_beside_a_curve_of_servegen_is_planned() -> None:
    """The whole way: two public logs in, a legal plan out, at the size of the real cluster."""
    service = (
        f"id=chat,file={TRACES}/demand_servegen_m-large_10min.csv.gz,preset=servegen,day=2,peak_share=0.4,priority=8"
    )
    recipe = recipe_from_options(
        cluster="135x8:V100-32GB",
        block_sizes="whole_nodes",
        jobs=TRACES / JOB_FILES["helios-venus"][0],
        preset="helios-venus",
        day="2020-05-14",
        priorities="1,2,4,8",
        services=[service],
    )
    problem, report = build_problem(recipe)
    assert max(problem.services[0].demand) == 432
    assert report.services[0].bins == 144
    for policy in ("fifo", "fast"):
        assert judge(problem, allocate(problem, policy)).violations == ()


def test_the_lost_bins_of_m_small_are_told_and_not_zero() -> None:
    zero_bins = 0
    for day in range(14):
        file = TRACES / "demand_servegen_m-small_10min.csv.gz"
        service = f"id=a,file={file},preset=servegen,day={day},requests=12"
        problem, report = build_problem(recipe_from_options(cluster="64x8", services=[service]))
        zero_bins += report.services[0].zero_bins
        assert report.services[0].held_bins == report.services[0].zero_bins
        assert min(problem.services[0].demand) > 0
    assert zero_bins == 37


def test_logs_of_single_requests() -> None:
    azure_log, mooncake_log = "demand_azure_llm_2023_conv.csv.gz", "demand_mooncake_conversation.jsonl.gz"
    azure = f"id=a,file={TRACES}/{azure_log},preset=azure-llm-2023,zone=UTC,day=2023-11-16 18:15,input_tokens=2000"
    mooncake = f"id=m,file={TRACES}/{mooncake_log},preset=mooncake,day=0,input_tokens=5000,output_tokens=300"
    recipe = recipe_from_options(cluster="8x8", services=[azure, mooncake], step_minutes=5.0, steps=12)
    problem, report = build_problem(recipe)
    assert [entry.rows_read for entry in report.services] == [19_366, 12_031]
    assert [entry.bad_rows for entry in report.services] == [0, 0]
    assert all(min(service.demand) > 0 for service in problem.services)


def test_the_smallest_curve_of_servegen() -> None:
    service = f"id=i,file={TRACES}/demand_servegen_mm-image_10min.csv.gz,preset=servegen,day=0,requests=1"
    problem, _ = build_problem(recipe_from_options(cluster="8x8", services=[service]))
    assert min(problem.services[0].demand) >= 6  # the log's lowest rate is 4.9, its highest 13.3; headroom is 0.2
    assert max(problem.services[0].demand) == 16
