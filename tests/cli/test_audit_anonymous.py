"""`loadfactor audit --anonymize`: no name of the log is in any of the four outputs, and every figure is."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loadfactor.audit.demo import demo_directory
from tests.cli.conftest import Command

WORDS_OF_THE_REPORT = {"batch", "service", "inference", "normal"}
"""Names of the shipped week that are words of the report itself; the test of marked names looks for these too."""
NAMES_TOLD = ("User", "Account", "JobName")
NAMED = ("JobID", "JobName", "User", "Account", "Partition", "QOS")


def rows() -> Iterator[dict[str, str]]:
    """Yield the rows of the shipped log by the names of its columns."""
    header, *lines = (demo_directory() / "jobs.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        yield dict(zip(header.split("|"), line.split("|"), strict=True))


def outputs(command: Command, folder: Path, *arguments: str) -> dict[str, str]:
    """Return the table, the document, the CSV and the page of an audit, and what it said besides."""
    files = {kind: folder / f"report.{kind}" for kind in ("html", "json", "csv")}
    targets = ("--html", str(files["html"]), "--output", str(files["json"]), "--csv", str(files["csv"]))
    told = command("audit", *arguments, "--no-replay", *targets)
    assert told.code == 0, told.errors
    texts = {kind: path.read_text(encoding="utf-8") for kind, path in files.items()}
    return {"table": told.output, "errors": told.errors.replace(str(folder), ""), **texts}


def test_no_name_of_the_shipped_week_is_left(command: Command, tmp_path: Path) -> None:
    names = {row[column] for row in rows() for column in NAMED} | {f"gpu{number:02}" for number in range(1, 17)}
    assert {"ada", "language", "embed-corpus", "48213", "gpu07", "serve-chat"} <= names
    shown = outputs(command, tmp_path, "--demo", "--anonymize")
    for kind, text in shown.items():
        left = {
            name for name in names - WORDS_OF_THE_REPORT if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", text)
        }
        assert left == set(), kind
    assert "user-1" in shown["json"]
    plain = outputs(command, tmp_path, "--demo")
    assert re.search(r"\b(chen|goran|hanna)\b", plain["html"] + plain["json"]), "the names are there otherwise"


@pytest.fixture(params=["User", "Account", "JobName"])
def marked(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Return the arguments of an audit of the shipped week in which every name, reason and file has a mark in it.

    A report names the user; the account, where the log has no user; else the name of the job. So the names before the
    parameter are taken out of the log.
    """
    unsaid = NAMES_TOLD[: NAMES_TOLD.index(request.param)]
    week = demo_directory()
    header, *lines = (week / "jobs.txt").read_text(encoding="utf-8").splitlines()
    columns = header.split("|")
    shown = []
    for line in lines:
        row = dict(zip(columns, line.split("|"), strict=True))
        row |= {column: "" if column in unsaid else f"zq{row[column]}" for column in NAMED[1:]}
        row |= {
            "JobID": f"9999{row['JobID']}",
            "NodeList": row["NodeList"].replace("gpu", "zqgpu"),
            "Reason": "zqreason",
        }
        shown.append("|".join(row.values()))
    bad = shown[5].replace("2026-03", "2026-99")
    activity = gzip.decompress((week / "activity.json.gz").read_bytes()).decode()
    stranger = shown[6].replace("9999", "99998", 1).replace("zqgpu", "zqunknown")
    files = {
        "zqjobs.txt": "\n".join([header, *shown, bad, stranger]) + "\n",
        "zqnodes.txt": re.sub(
            r"Reason=.* \[", "Reason=zqreason [", (week / "nodes.txt").read_text(encoding="utf-8")
        ).replace("gpu0", "zqgpu0").replace("gpu1", "zqgpu1").replace("Partitions=", "Partitions=zq"),
        "zqactivity.json": activity.replace('"gpu0', '"zqgpu0').replace('"gpu1', '"zqelsewhere1'),
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    paths = [str(tmp_path / name) for name in files]
    window = ("--timezone", "Europe/Berlin", "--since", "2026-03-02", "--until", "2026-03-09")
    return (paths[0], "--nodes", paths[1], "--telemetry", paths[2], *window, "--service-partition", "zqinf*")


def test_no_marked_name_is_left_nor_of_bad_rows_strangers_reasons_and_files(
    command: Command, tmp_path: Path, marked: tuple[str, ...]
) -> None:
    plain = outputs(command, tmp_path, *marked)
    for mark in ("zqgoran|zqspeech|zqtrain", "zqunknown", "zqelsewhere", "zqjobs.txt"):
        assert re.search(mark, plain["json"]), "the test finds what it looks for where nothing is hidden"
    for kind, text in outputs(command, tmp_path, *marked, "--anonymize").items():
        assert "zq" not in text.lower(), kind
        assert not re.search(r"(?<![\d.])9999\d{5}(?!\d)", text), kind


def without_texts(value: Any) -> Any:
    """Return a document with a mark in place of every text."""
    if isinstance(value, dict):
        return {key: without_texts(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_texts(each) for each in value]
    return "text" if isinstance(value, str) else value


def test_figures_stay_as_they_are(command: Command) -> None:
    plain, hidden = (
        json.loads(command("audit", "--demo", "--no-replay", "--format", "json", *more).output)
        for more in ((), ("--anonymize",))
    )
    assert without_texts(plain) == without_texts(hidden)
    assert plain["by_hour"] == hidden["by_hour"]
