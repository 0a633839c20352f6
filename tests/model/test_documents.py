"""Reading and writing: the same fields in JSON and YAML, and every way in which a file can be no document."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadfactor.errors import InputError
from loadfactor.model import (
    Plan,
    Problem,
    limits,
    parse_document,
    read_document,
    read_plan,
    read_problem,
    to_json,
    write_document,
)
from tests.model.faults import faults_of
from tests.support.examples import PLAN, PROBLEM, small_plan, small_problem
from tests.support.generators import random_problem


def the_fault(text: str | bytes) -> str:
    """Return the only fault of a text that is no document."""
    (fault,) = faults_of(lambda: parse_document(text, "file"))
    return fault


@pytest.mark.parametrize("suffix", [".json", ".yaml", ".yml"])
def test_a_problem_survives_a_file(suffix: str, tmp_path: Path) -> None:
    for seed in range(20):
        problem = random_problem(seed)
        path = tmp_path / f"problem{suffix}"
        write_document(problem.to_document(), path)
        assert read_problem(path) == problem
        assert read_problem(path).to_document() == problem.to_document()
    assert [file.name for file in tmp_path.iterdir()] == [f"problem{suffix}"], "a partial file is left behind"


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_a_plan_survives_a_file(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"plan{suffix}"
    write_document(small_plan().to_document(), path)
    assert read_plan(path) == small_plan()


def test_a_document_keeps_what_was_written() -> None:
    document = small_problem().to_document()
    assert document["cluster"] == PROBLEM["cluster"]
    assert document["services"] == PROBLEM["services"]
    assert document["horizon"] == PROBLEM["horizon"]
    assert [job["gpus"] for job in document["jobs"]] == [2, {"min": 1, "max": 4}, 2]


def test_yaml_and_json_are_the_same_document() -> None:
    assert parse_document(yaml.safe_dump(PLAN)) == parse_document(json.dumps(PLAN)) == PLAN
    text = "{name: flow, horizon: {steps: 2}, cluster: {nodes: [{name: n, gpus: 2}]}}"
    assert Problem.from_document(parse_document(text)).name == "flow"


def test_a_time_in_yaml_is_a_time() -> None:
    text = "{steps: 2, start: 2026-12-01T01:00:00+01:00}"
    document = {"name": "n", "horizon": parse_document(f"a: {text}")["a"], "cluster": PROBLEM["cluster"]}
    assert Problem.from_document(document).to_document()["horizon"]["start"] == "2026-12-01T00:00:00Z"


def test_json_has_a_line_for_every_entry() -> None:
    lines = to_json(PLAN).splitlines()
    assert json.loads("\n".join(lines)) == PLAN
    assert sum('"id"' in line for line in lines) == len(PLAN["jobs"]) + len(PLAN["services"])


def test_standard_input_is_a_file_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Input:
        buffer = io.BytesIO(json.dumps(PLAN).encode())

    monkeypatch.setattr("sys.stdin", Input)
    assert read_plan("-") == Plan.from_document(PLAN)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "file: is empty; correct the YAML"),
        ("  \n# only a comment\n", "file: is empty; correct the YAML"),
        ('{"a": 1', "file: line 1, column 8: Expecting ',' delimiter; correct the JSON"),
        ('{"a": NaN}', "file: NaN is no number of JSON; correct the JSON"),
        ('{"a": -Infinity}', "file: -Infinity is no number of JSON; correct the JSON"),
        ('{"a": 1, "b": 2, "a": 3}', "file: the field 'a' appears twice in one mapping; correct the JSON"),
        ('{"\\ud800": 1}', "file: the field '\\ud800' is no Unicode text; correct the JSON"),
        (f'{{"a": {"9" * 5000}}}', "file: holds a number of thousands of digits; correct the JSON"),
        ("[" * 100_000, "file: is nested too deeply; flatten the document"),
        ("a: 1\nb: 2\na: 3", "file: line 1: the field 'a' appears twice in one mapping; correct the YAML"),
        ("a: [1, 2", "file: line 2, column 1: did not find expected ',' or ']'; correct the YAML"),
        ("a: 1\n---\nb: 2", "file: line 2, column 1: but found another document; correct the YAML"),
        ("a: *unknown", "file: line 1, column 4: found undefined alias; correct the YAML"),
        ("&a [*a]", "file: is nested deeper than 50 levels; correct the YAML"),
        ("- " * 900 + "1", "file: is nested deeper than 50 levels; correct the YAML"),
        ("a: !!set {x, y}", "file: line 1: the tag 'tag:yaml.org,2002:set' is not accepted; correct the YAML"),
        (
            "a: !!python/name:os.system x",
            "file: line 1: the tag 'tag:yaml.org,2002:python/name:os.system' is not accepted",
        ),
        ('a: !!int ""', "file: holds a value that does not fit its tag; remove the tag"),
        ("a: !!timestamp x", "file: holds a value that does not fit its tag; remove the tag"),
        ("a: 2026-99-99", "file: month must be in 1..12; correct the YAML"),
        (f"a: {'9' * 5000}", "file: holds a number of thousands of digits; correct the YAML"),
        ("a: \x01", "file: unacceptable character #x0001: control characters are not allowed; correct the YAML"),
        (b"a: \xff", "file: byte 3 is not UTF-8; save the file as UTF-8 text"),
    ],
)
def test_a_text_that_is_no_document(text: str | bytes, fault: str) -> None:
    assert the_fault(text).startswith(fault)


def test_not_a_number_in_yaml_is_refused_by_its_field() -> None:
    document = parse_document(yaml.safe_dump({**PROBLEM, "objective": {"decay": float("nan")}}))
    faults = faults_of(lambda: Problem.from_document(document))
    assert faults == ["objective.decay: must be a finite number, not nan; write a plain number"]


def bomb(levels: int) -> str:
    """Return a YAML text of a few lines that unfolds to 10^levels values."""
    lines = ["a0: &a0 [x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, levels + 1)]
    return "\n".join(lines)


def test_a_yaml_bomb_is_refused_unexploded() -> None:
    assert the_fault(bomb(30)) == "file: unfolds to more than 5000000 values; correct the YAML"
    assert len(parse_document(bomb(3))["a3"]) == 10


def test_a_text_of_too_many_values_is_refused_unparsed() -> None:
    text = "a: [" + "," * (limits.MAX_DOCUMENT_NODES + 1)
    assert the_fault(text) == "file: holds more than the 5000000 values that are accepted; split the problem"


def test_a_large_file_is_refused_without_reading_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless:
        buffer: Any = None
        asked = 0

        def read(self, size: int) -> bytes:
            self.asked += size
            return b" " * size

    endless = Endless()
    endless.buffer = endless
    monkeypatch.setattr("sys.stdin", endless)
    with pytest.raises(InputError, match="standard input: is larger than the 64 MiB that are accepted; split"):
        read_document("-")
    assert endless.asked <= limits.MAX_DOCUMENT_BYTES + 1


def test_a_file_of_a_gigabyte_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as stream:
        stream.truncate(2**30)
    with pytest.raises(InputError, match=r"large\.json: is larger than the 64 MiB that are accepted"):
        read_problem(path)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("missing.json", "cannot be read (No such file or directory); check the name and your rights"),
        ("", "cannot be read (Is a directory); check the name and your rights"),
        ("a\0b", "is no name of a file; check the name"),
    ],
)
def test_a_file_that_cannot_be_read(name: str, fault: str, tmp_path: Path) -> None:
    (shown,) = faults_of(lambda: read_problem(tmp_path / name))
    assert shown.endswith(fault)
    assert str(tmp_path) in shown


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"plan\.json: cannot be written \(No such file or directory\); choose"):
        write_document(PLAN, tmp_path / "missing" / "plan.json")


def test_a_document_that_is_no_mapping() -> None:
    for document in (None, 7, [], "text", [PROBLEM]):
        (fault,) = faults_of(lambda document=document: Problem.from_document(document))  # type: ignore[misc]
        assert "must be a mapping of fields" in fault
