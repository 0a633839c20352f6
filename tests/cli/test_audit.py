"""`loadfactor audit`: the week that it ships, and every option on a log of one day."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.audit_logs import HELD_HOURS, SERVICES, Files, sacct_text, write_files
from tests.cli.conftest import Command

DEMO = ("audit", "--demo", "--no-replay")


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Return the files of one day of a node with 8 GPUs."""
    return write_files(tmp_path)


def finding(document: dict[str, Any], rule: str) -> dict[str, Any]:
    """Return one finding of a report."""
    (found,) = [each for each in document["findings"] if each["rule"] == rule]
    return dict(found)


def test_the_shipped_week_as_a_table(command: Command, snapshot: SnapshotAssertion) -> None:
    told = command(*DEMO)
    assert (told.code, told.errors) == (0, "")
    assert "\n".join(line.rstrip() for line in told.output.splitlines()) == snapshot


def test_the_shipped_week_as_a_document(command: Command, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    told = command(*DEMO, "--format", "json", "--output", str(tmp_path / "report.json"))
    assert (told.code, told.errors) == (0, "")
    assert (tmp_path / "report.json").read_text(encoding="utf-8") == told.output
    assert command(*DEMO, "--format", "json").output == told.output
    document = json.loads(told.output)
    assert len(document["by_hour"]) == 168
    document["by_hour"] = document["by_hour"][:2]
    assert json.dumps(document, indent=1) == snapshot


def test_the_parts_of_every_hour_add_up(command: Command) -> None:
    document = json.loads(command(*DEMO, "--format", "json").output)
    for hour in document["by_hour"]:
        parts = [value for key, value in hour.items() if key not in ("begin", "hours", "queued")]
        assert sum(parts) == pytest.approx(128 * hour["hours"], abs=1e-4)
    waterfall = document["waterfall_gpu_hours"]
    assert sum(waterfall.values()) - waterfall["installed"] == pytest.approx(waterfall["installed"], abs=1e-3)


def test_a_log_of_ones_own(command: Command, files: Files) -> None:
    document = json.loads(command(*files.day, "--format", "json").output)
    assert document["fleet"] == {"nodes": 1, "gpus": 8, "stated": True}
    assert document["window"]["hours"] == 24
    assert document["waterfall_gpu_hours"]["held"] == HELD_HOURS
    assert finding(document, "reservation")["verdict"] == "unknown"


@pytest.mark.parametrize(
    "rule",
    [
        ("--service-partition", "infer*"),
        ("--service-account", "platform"),
        ("--service-name", "chat"),
        ("--service-days", "7"),
    ],
)
def test_what_is_a_service(command: Command, files: Files, rule: tuple[str, str]) -> None:
    document = json.loads(command(*files.day, *rule, "--format", "json").output)
    assert finding(document, "reservation")["value"] == 50.0
    assert finding(document, "failures")["figures"]["gpu_hours_by_state"] == {"COMPLETED": 24.0, "FAILED": 18.0}


def test_the_demand_of_services(command: Command, files: Files) -> None:
    given = (*files.day, *SERVICES, "--demand", files.demand, "--format", "json")
    assert json.loads(command(*given).output)["waterfall_gpu_hours"]["spare"] == 12 * 2 + 12 * 1
    halved = json.loads(command(*given, "--demand-per-gpu", "2").output)
    assert halved["waterfall_gpu_hours"]["spare"] == 12 * 3 + 12 * 2.5


def test_telemetry_carbon_and_what_was_served(command: Command, files: Files) -> None:
    telemetry = ("--telemetry", files.activity, "--telemetry", files.power)
    given = (*files.day, *SERVICES, *telemetry, "--carbon", "400", "--requests", "1000", "--tokens", "50000")
    document = json.loads(command(*given, "--format", "json").output)
    figures = finding(document, "energy")["figures"]
    kilowatt_hours = 24 * 0.3
    assert figures["kilowatt_hours"] == pytest.approx(kilowatt_hours)
    assert figures["kilograms_of_carbon_dioxide"] == pytest.approx(kilowatt_hours * 0.4)
    assert figures["joules_per_request"] == pytest.approx(kilowatt_hours * 3.6e6 / 1000)
    assert figures["joules_per_token"] == pytest.approx(kilowatt_hours * 3.6e6 / 50_000)
    assert "services drew 2.59e+04 J for a request" in finding(document, "energy")["sentence"]


def test_the_energy_of_jobs_is_not_the_energy_of_requests(command: Command, files: Files) -> None:
    given = (*files.day, "--service-name", "sweep", "--telemetry", files.power, "--requests", "10")
    figures = finding(json.loads(command(*given, "--format", "json").output), "energy")["figures"]
    assert (figures["joules_per_request"], figures["joules_per_token"]) == (0.0, None)


def test_what_it_cost(command: Command, files: Files) -> None:
    told = command(*files.day, "--gpu-hour", "2.5", "--currency", "USD")
    assert f"({2.5 * (8 * 24 - HELD_HOURS):,.0f} USD)" in " ".join(told.output.split())


def test_nodes_in_the_short_form_take_the_names_of_the_log(command: Command, files: Files) -> None:
    arguments = [*files.day]
    arguments[arguments.index("--nodes") + 1] = "2x8:H100-80GB"
    document = json.loads(command(*arguments, "--format", "json").output)
    assert document["fleet"] == {"nodes": 2, "gpus": 16, "stated": True}
    assert document["timeline"]["gpu_hours_on_unknown_nodes"] == 0


def test_without_nodes_they_are_gathered_from_the_log(command: Command, files: Files) -> None:
    arguments = [each for each in files.day if each not in ("--nodes", files.nodes)]
    told = command(*arguments)
    assert told.code == 0
    assert "7 GPUs in 1 nodes (gathered from the log: give --nodes for what is installed)" in " ".join(
        told.output.split()
    )


def test_columns_of_a_log_without_a_header(command: Command, files: Files) -> None:
    header, _, rows = sacct_text().partition("\n")
    Path(files.log).write_text(rows, encoding="utf-8")
    told = command(*files.day, "--columns", header.replace("|", ", "), "--format", "json")
    assert json.loads(told.output)["waterfall_gpu_hours"]["held"] == HELD_HOURS


def test_a_log_of_another_format(command: Command, tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    log.write_text("; a comment\n1 0 0 7200 2 -1 -1 2 7200 -1 1 1 1 1 1 1 -1 -1\n", encoding="utf-8")
    told = command("audit", str(log), "--preset", "swf", "--nodes", "1x4", "--no-replay", "--format", "json")
    document = json.loads(told.output)
    assert (document["waterfall_gpu_hours"]["held"], document["window"]["hours"]) == (4, 2)


@pytest.mark.parametrize(("monday", "hours"), [("2026-03-30", 167), ("2026-10-26", 169)])
def test_a_week_in_which_clocks_change(command: Command, tmp_path: Path, monday: str, hours: int) -> None:
    log = tmp_path / "log.txt"
    moments = f"2026-01-01T00:00:00|2026-01-01T00:00:00|{monday}T00:00:00"
    log.write_text(sacct_text([f"1|a|u|c|p|COMPLETED|{moments}|UNLIMITED|gres/gpu=1|n1"]), encoding="utf-8")
    told = command("audit", str(log), "--timezone", "Europe/Berlin", "--days", "7", "--no-replay", "--format", "json")
    document = json.loads(told.output)
    assert document["window"]["hours"] == document["waterfall_gpu_hours"]["held"] == hours
    assert len(document["by_hour"]) == hours


def test_a_share_above_the_limit_exits_with_1_and_the_report(command: Command, files: Files) -> None:
    wasted = 100 * (1 - HELD_HOURS / (8 * 24))
    fine, much = command(*files.day, "--fail-above", "40"), command(*files.day, "--fail-above", "20")
    assert (fine.code, much.code) == (0, 1)
    assert much.output == fine.output != ""
    assert much.errors == f"{wasted:.1f} % are wasted, above 20 %\n"


def test_all_figures_as_csv(command: Command, files: Files, tmp_path: Path) -> None:
    target = tmp_path / "figures.csv"
    assert command(*files.day, "--csv", str(target)).code == 0
    rows = dict(list(csv.reader(io.StringIO(target.read_text(encoding="utf-8"))))[1:])
    assert float(rows["waterfall_gpu_hours.held"]) == HELD_HOURS


def test_the_page_is_written(command: Command, files: Files, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    told = command(*files.day, "--html", str(page))
    assert (told.code, told.errors) == (0, f"page -> {page}\n")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
