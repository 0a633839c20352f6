"""Figures as CSV: nothing that a spreadsheet would run, and numbers that stay numbers."""

from __future__ import annotations

import csv
import io

import pytest

from loadfactor.audit.export import figures_csv
from loadfactor.audit.report import audit
from loadfactor.sources.facts import JobState
from tests.audit.facts import fleet, held, record


def rows_of(user: str, **changes: object) -> dict[str, str]:
    """Return the figures of an audit in which a user of this name had a job that came back again and again."""
    jobs = [held("a", 1, hour, hour + 0.5, user=user, state=JobState.REQUEUED) for hour in range(4)]
    text = figures_csv(audit(record(jobs, 4, fleet(2), **changes), replays=False))
    return dict(list(csv.reader(io.StringIO(text)))[1:])


@pytest.mark.parametrize("user", ["=1+1", "+cmd", "-cmd|' /C calc'!A0", "@SUM(A1)", "\t=1+1", "\r=1+1", "\n=1+1"])
def test_a_cell_that_a_spreadsheet_would_run_is_quoted(user: str) -> None:
    found = [value for path, value in rows_of(user).items() if path.endswith(".user")]
    assert found
    assert set(found) == {f"'{user}"}


def test_a_harmless_name_stays_and_so_does_one_with_a_comma_a_quote_and_a_line_break() -> None:
    for user in ("ann", 'a "b", c\nd', "x=1", "a\r=1+1"):
        assert user in rows_of(user).values()


def test_numbers_stay_numbers_also_negative_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    made = audit(record([held("a", 1, 0, 1)], 4, fleet(2)), replays=False)
    document = made.to_document() | {"gain": -12.5, "change": -3, "none": None, "text": "-3 points"}
    monkeypatch.setattr(type(made), "to_document", lambda _report: document)
    rows = dict(list(csv.reader(io.StringIO(figures_csv(made))))[1:])
    assert (rows["gain"], rows["change"], rows["none"], rows["text"]) == ("-12.5", "-3", "", "'-3 points")
    assert float(rows["installed_gpu_hours"]) == 8.0
