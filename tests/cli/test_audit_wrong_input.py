"""`loadfactor audit` on wrong input: exit code 2, one line with culprit, fact and remedy, no answer."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.cli.audit_logs import DAY, SERVICES, Files, sacct_text, write_files
from tests.cli.conftest import Command

ZONE = ("--timezone", "UTC")
HTML = b"<!doctype html><html><body>Sign in</body></html>"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Return the files of one day of a node with 8 GPUs."""
    return write_files(tmp_path)


def refused(command: Command, *arguments: str) -> str:
    """Run the audit, hold it to one line on standard error, and return what that says."""
    told = command("audit", *arguments)
    assert (told.code, told.output) == (2, ""), told
    assert told.errors.count("\n") == 1
    assert told.errors.startswith("error: ")
    assert "; " in told.errors
    return told.errors.removeprefix("error: ").strip()


WITHOUT_GPUS = f"1|a|u|c|p|COMPLETED|{DAY}T00:00:00|{DAY}T00:00:00|{DAY}T01:00:00|UNLIMITED|cpu=2|n1"
LOGS = {
    "HTML": (HTML, "bad.log: looks like HTML or XML"),
    "nothing": (b"", "bad.log: is empty; give the text that `sacct -P` prints"),
    "blanks": (b" \n\n", "bad.log: is empty"),
    "JSON of another kind": (b'{"answer": 42}', "bad.log: looks like JSON of another kind; expected jobs of"),
    "nodes of Slurm": (b'{"nodes": [], "x": "openapi/v1"}', "bad.log: looks like nodes of Slurm in JSON"),
    "half a JSON": (b'{"jobs": [{"job_id": 1', "bad.log: "),
    "a header alone": (sacct_text(()).encode(), "bad.log: holds no row; choose another file"),
    "damaged gzip": (b"\x1f\x8bnothing of the kind", "bad.log: is a damaged gzip file"),
    "half a gzip": (gzip.compress(sacct_text().encode())[:-20], "bad.log: is a damaged gzip file"),
    "no GPUs": (sacct_text((WITHOUT_GPUS,)).encode(), "bad.log: holds no job that had or asked for a GPU; fetch"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), LOGS.values(), ids=LOGS.keys())
def test_a_file_that_is_no_log(command: Command, tmp_path: Path, content: bytes, message: str) -> None:
    log = tmp_path / "bad.log"
    log.write_bytes(content)
    assert refused(command, str(log), *ZONE).startswith(message)


def test_files_that_are_not_there(command: Command, files: Files, tmp_path: Path) -> None:
    gone = str(tmp_path / "gone.txt")
    assert refused(command, gone, *ZONE).startswith(f"{gone}: cannot be read (No such file or directory); ")
    assert refused(command, str(tmp_path), *ZONE).startswith(f"{tmp_path}: cannot be read (Is a directory); ")
    found = refused(command, files.log, *ZONE, "--nodes", gone)
    assert found == f"--nodes: {gone!r} is no file; name a file that is there, or a short form such as 16x8:H100-80GB"
    assert "cannot be read" in refused(command, files.log, *ZONE, *SERVICES, "--demand", gone)
    assert "cannot be read" in refused(command, files.log, *ZONE, "--telemetry", gone)


def test_no_log_at_all(command: Command) -> None:
    assert refused(command) == "LOG: no log is named; name what sacct printed, or look at --demo first"


def test_zones(command: Command, files: Files, tmp_path: Path) -> None:
    found = refused(command, files.log)
    assert found.startswith(
        "log.txt: states local times, and nothing says of which zone; name the zone of the cluster's"
    )
    for zone in ("Berlin", "Europe/", "../UTC", "", "Europe"):
        assert refused(command, files.log, "--timezone", zone).startswith(f"--timezone: {zone!r} is no time zone")
    swf = tmp_path / "log.swf"
    swf.write_text("1 0 0 7200 2 -1 -1 2 7200 -1 1 1 1 1 1 1 -1 -1\n", encoding="utf-8")
    found = refused(command, str(swf), "--preset", "swf", "--nodes", files.nodes)
    assert found.startswith("nodes.txt: states local times, and nothing says of which zone")


def test_windows(command: Command, files: Files) -> None:
    log = (files.log, *ZONE)
    messages = {
        ("--since", "2026-03-04", "--until", DAY): "window: ends at 2026-03-03 00:00 +0000, not after its beginning at",
        ("--since", "yesterday"): "--since: 'yesterday' is no moment; write it as 2026-03-01",
        ("--until", "2026-13-01"): "--until: '2026-13-01' is no moment",
        ("--since", "0001-01-01"): "--since: '0001-01-01' lies in no year of a log",
        ("--until", "9999-12-31"): "--until: '9999-12-31' lies in no year of a log",
        ("--since", DAY, "--days", "2"): "--days: counts back from the end, and --since names the begin too",
        ("--days", "0"): "--days: Input should be greater than or equal to 1",
        ("--days", "999999999"): "--days: Input should be less than or equal to 400",
        ("--since", "2020-01-01"): "window: spans 2,254 days, and 400 are accepted; choose a part of it",
        ("--since", "2025-03-03", "--until", "2025-03-04"): "window: no job of the log waits or runs from 2025-03-03",
    }
    for options, message in messages.items():
        assert refused(command, *log, *options).startswith(message), options


def test_nodes(command: Command, files: Files, tmp_path: Path) -> None:
    log = (files.log, *ZONE)
    bad = tmp_path / "bad.txt"
    for content, message in {
        HTML: "bad.txt: looks like nothing that is known here; expected nodes of scontrol",
        b"": "bad.txt: is empty; expected nodes of scontrol",
        sacct_text().encode(): "bad.txt: looks like a table of sacct; expected nodes of scontrol",
        b"NodeName=n1 Gres=(null) State=IDLE\n": "nodes: no node has a GPU",
    }.items():
        bad.write_bytes(content)
        assert refused(command, *log, "--nodes", str(bad)).startswith(message)
    assert refused(command, *log, "--nodes", "16x").startswith("--nodes: '16x' is no file")
    assert refused(command, *log, "--nodes", "0x8").startswith("--nodes")


def test_a_log_that_names_no_node_and_no_nodes(command: Command, files: Files) -> None:
    text = "".join(line.rpartition("|")[0] + "\n" for line in sacct_text().splitlines())
    Path(files.log).write_text(text, encoding="utf-8")
    assert refused(command, files.log, *ZONE) == (
        "nodes: the log names no node, so nothing says how many GPUs there are; "
        "say what there is, as in --nodes 16x8:H100-80GB, or give the scheduler's list of nodes"
    )


def test_presets(command: Command, files: Files) -> None:
    found = refused(command, files.log, "--preset", "slurm")
    assert found.startswith("--preset: 'slurm' is none that is known; choose among helios-venus, ")
    found = refused(command, files.log, *ZONE, "--demand", files.demand, "--demand-preset", "curve")
    assert found.startswith("--demand-preset: 'curve' is none that is known; choose among servegen, ")


def test_demand(command: Command, files: Files, tmp_path: Path) -> None:
    log = (files.log, *ZONE, *SERVICES, "--demand")
    bad = tmp_path / "bad.csv"
    bad.write_text(
        "t_s,rate_rps,mean_input_tokens,mean_output_tokens,token_stats_rate_coverage\n0,1,1,1,1\n600,2,1,1,1\n"
    )
    found = refused(command, *log, str(bad), "--demand-preset", "servegen")
    assert found == (
        "bad.csv: counts its moments from its own start, not by a calendar; "
        "give a log with dates or seconds since 1970 (times: epoch)"
    )
    for content in (b"when,how\n1,2\n", HTML, b""):
        bad.write_bytes(content)
        found = refused(command, *log, str(bad))
        assert found.startswith("bad.csv: has no columns time and gpus; name them so in its first line, or say")
    bad.write_text("time,gpus\n2026-03-03T00:00:00Z,-2\n")
    assert refused(command, *log, str(bad)).startswith("bad.csv:2: gpus is '-2', which is no number of 0 or more")
    bad.write_text("time,gpus\n2026-03-03T00:00:00Z,1e30\n")
    assert refused(command, *log, str(bad)).startswith(
        "bad.csv: needs 1e+30 GPUs at once, and 10,000,000 are accepted; "
    )


def test_a_log_of_which_no_row_can_be_read(command: Command, files: Files) -> None:
    rows = [f"1|a|u|c|p|COMPLETED|{DAY}T00:00:00|{DAY}T02:00:00|{DAY}T01:00:00|UNLIMITED|gres/gpu=2|n1"]
    Path(files.log).write_text(sacct_text(rows), encoding="utf-8")
    found = refused(command, files.log, *ZONE)
    assert found.startswith(
        "log.txt: no job with GPUs can be read; 1 rows are left out, the first is log.txt:2: job 1: "
    )


def test_telemetry(command: Command, files: Files, tmp_path: Path) -> None:
    log = (files.log, *ZONE)
    bad = tmp_path / "bad.prom"
    for content in (
        HTML,
        b"",
        b"hello\n",
        b"up 1\n",
        b'{"status":"success","data":{"resultType":"matrix","result":"x"}}',
    ):
        bad.write_bytes(content)
        assert refused(command, *log, "--telemetry", str(bad)).startswith("bad.prom")
    bad.write_text('DCGM_FI_DEV_POWER_USAGE{gpu="0",Hostname="n1"} 100\n')
    found = refused(command, *log, "--telemetry", str(bad), "--telemetry", files.power)
    assert found == "--telemetry: mixes scrapes and answers of Prometheus; give files of one kind"


def test_options_that_need_another(command: Command, files: Files) -> None:
    log = (files.log, *ZONE)
    for option in ("--carbon", "--requests", "--tokens"):
        found = refused(command, *log, *SERVICES, option, "5")
        assert found.startswith(f"{option}: is about energy, and no telemetry tells of any; give DCGM's power")
    for option in ("--requests", "--tokens"):
        found = refused(command, *log, "--telemetry", files.power, option, "5")
        assert found.startswith(f"{option}: counts what services served, and no job counts as a service; say which")
    for option in ("--carbon", "--requests", "--gpu-hour", "--fail-above", "--service-days", "--demand-per-gpu"):
        assert "is not a finite number above 0" in refused(command, *log, option, "-1")


def test_the_demo_has_files_of_its_own(command: Command, files: Files) -> None:
    assert refused(command, "--demo", files.log).startswith("--demo: has logs of its own, and others are named too; ")
    for option, value in (("--nodes", "1x8"), ("--days", "1"), ("--demand-per-gpu", "2"), ("--service-name", "x")):
        found = refused(command, "--demo", option, value)
        assert found == f"{option}: is about logs of your own, and --demo has its own; leave one of the two out"


def test_targets(command: Command, tmp_path: Path) -> None:
    for option, suffix in (("--html", ".html"), ("--output", ".json"), ("--csv", ".csv")):
        found = refused(command, "--demo", option, str(tmp_path / "report.pdf"))
        assert found.startswith(f"{option}: ")
        assert f"ends in none of {suffix}" in found
        assert "does not exist" in refused(command, "--demo", option, str(tmp_path / "none" / f"report{suffix}"))
