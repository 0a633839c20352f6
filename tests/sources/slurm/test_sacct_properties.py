"""A log written from a known timeline is read back to the same GPU-seconds; a mangled one is read or refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadfactor.errors import InputError
from loadfactor.sources.slurm.sacct import read_sacct
from tests.sources.slurm.sacct_logs import GOOD, RUNNING, WAITING, gpu_seconds, text_of

# Weeks in which clocks are put forward (167 hours) or back (169 hours), and one in which they are left alone.
WEEKS = [
    ("Europe/Berlin", datetime(2026, 3, 23, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 19, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 3, 2, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 10, 26, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 3, 30, tzinfo=UTC)),
    ("Asia/Shanghai", datetime(2026, 6, 1, tzinfo=UTC)),
]
WEEK_SECONDS = 169 * 3600
COLUMNS = ("JobID", "JobName", "State", "Submit", "Start", "End", "Elapsed", "ReqTRES", "AllocTRES", "NodeList", "User")


@dataclass(frozen=True)
class Stay:
    """One stay of a job on its GPUs, in seconds from the week's start."""

    wait: int
    start: int
    seconds: int
    gpus: int


STAYS = st.lists(
    st.builds(
        Stay,
        wait=st.integers(0, 9_000),
        start=st.one_of(st.integers(10_000, WEEK_SECONDS), st.integers(134 * 3600, 152 * 3600)),
        seconds=st.one_of(st.integers(0, 7_200), st.integers(0, 200_000)),
        gpus=st.integers(1, 64),
    ),
    min_size=1,
    max_size=12,
)


def local(zone: ZoneInfo) -> Callable[[float], str]:
    return lambda moment: datetime.fromtimestamp(moment, zone).strftime("%Y-%m-%dT%H:%M:%S")


def spaced(zone: ZoneInfo) -> Callable[[float], str]:
    return lambda moment: datetime.fromtimestamp(moment, zone).strftime("%Y-%m-%d %H:%M:%S")


def with_offset(zone: ZoneInfo) -> Callable[[float], str]:
    return lambda moment: datetime.fromtimestamp(moment, zone).isoformat()


def epoch(_zone: ZoneInfo) -> Callable[[float], str]:
    return lambda moment: str(int(moment))


WAYS = {"local": local, "spaced": spaced, "with_offset": with_offset, "epoch": epoch}


def span(seconds: int) -> str:
    days, rest = divmod(seconds, 86_400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock


def row_of(number: int, stay: Stay, week: datetime, written: Callable[[float], str]) -> dict[str, str]:
    start = week.timestamp() + stay.start
    return {
        "JobID": str(number),
        "JobName": f"job|{number}" if number % 3 == 0 else f"job {number}",
        "Submit": written(start - stay.wait),
        "Start": written(start),
        "End": written(start + stay.seconds),
        "Elapsed": span(stay.seconds),
        "ReqTRES": f"cpu=4,gres/gpu={stay.gpus}",
        "AllocTRES": f"gres/gpu:a100={stay.gpus},cpu=4" + (f",gres/gpu={stay.gpus}" if number % 2 else ""),
    }


@settings(max_examples=60)
@given(st.sampled_from(WEEKS), st.sampled_from(sorted(WAYS)), STAYS, st.permutations(COLUMNS))
def test_gpu_seconds_are_read_back_to_the_second(
    week: tuple[str, datetime], way: str, stays: list[Stay], columns: list[str]
) -> None:
    zone = ZoneInfo(week[0])
    written = WAYS[way](zone)
    rows = [row_of(number, stay, week[1], written) for number, stay in enumerate(stays)]
    reading = read_sacct(text_of(*rows, columns=tuple(columns)), zone=zone)
    assert reading.left_out == ()
    assert gpu_seconds(reading) == sum(stay.gpus * stay.seconds for stay in stays)
    assert [entry.name for entry in reading.facts] == [row["JobName"] for row in rows]


def test_the_weeks_have_the_hours_that_they_are_chosen_for() -> None:
    mondays = [week.replace(tzinfo=ZoneInfo(zone)) for zone, week in WEEKS]
    hours = [((day + timedelta(days=7)).timestamp() - day.timestamp()) / 3600 for day in mondays]
    assert hours == [167, 169, 167, 169, 168.5, 168]


@pytest.mark.parametrize("way", [local, spaced])
@pytest.mark.parametrize(("zone", "week"), WEEKS)
def test_every_stay_around_a_change_of_clocks(
    zone: str, week: datetime, way: Callable[[ZoneInfo], Callable[[float], str]]
) -> None:
    """Stays that begin in any ten minutes of the change's day, and last from nothing to three hours."""
    starts = range(132 * 3600, 153 * 3600, 600)
    stays = [Stay(0, start, minutes * 60 + 7, 1) for start in starts for minutes in (0, 25, 60, 65, 180)]
    rows = [row_of(number, stay, week, way(ZoneInfo(zone))) for number, stay in enumerate(stays)]
    reading = read_sacct(text_of(*rows, columns=COLUMNS), zone=ZoneInfo(zone))
    assert [entry.fault.fact for entry in reading.left_out] == []
    assert [(entry.ended or 0) - (entry.started or 0) for entry in reading.facts] == [stay.seconds for stay in stays]
    assert any("clocks showed twice" in note for note in reading.notes) == _goes_back(zone, week)


def _goes_back(zone: str, week: datetime) -> bool:
    monday = week.replace(tzinfo=ZoneInfo(zone))
    return (monday + timedelta(days=7)).timestamp() - monday.timestamp() > 168 * 3600


WHOLE = text_of(
    {"JobID": "1"},
    {"JobID": "2_[3-9,11%4]", "State": "PENDING", **WAITING},
    {"JobID": "3", **RUNNING},
    {"JobID": "4", "JobName": "a|b", "NodeList": "gpu[001-003,007],login", "NNodes": "5"},
    {"JobID": "5.batch"},
    {"JobID": "6", "State": "CANCELLED by 77", "ReqMem": "2147486648Mn", "Timelimit": "UNLIMITED"},
)
SPLINTERS = (
    b"|", b"\n", b"\r", b"\0", b"\xff", b"\xe4", b"[", b"]", b"(", b"-", b",", b"=", b":", b"%", b"+", b"_", b"@", b"*",
    b"9999999999999999999999", b"0", b"1e308", b"nan", b"Unknown", b"gres/gpu=", b"IDX:", b"2026-10-25T02:30:00",
    "\u0661\u00b2".encode(), b"\xef\xbb\xbf", b'"', b"JobID|Start|End|AllocTRES\n", b" ",
)  # fmt: skip


def mangled(seed: int) -> bytes:
    """Return the log with some bytes removed, doubled, swapped or replaced."""
    chance = random.Random(seed)
    text = bytearray(WHOLE)
    for _ in range(chance.randint(1, 12)):
        place, length = chance.randrange(len(text) + 1), chance.choice((0, 1, 1, 2, 5, 30))
        piece = chance.choice((b"", chance.choice(SPLINTERS), bytes(text[place : place + 40]), chance.randbytes(2)))
        text[place : place + length] = piece
    return bytes(text)


def outcome(seed: int) -> str:
    """Return whether a mangled log is refused or read, having checked that every row of it is accounted for."""
    given_columns = [*GOOD] if seed % 5 == 0 else None
    try:
        reading = read_sacct(mangled(seed), zone=ZoneInfo("Europe/Berlin"), columns=given_columns, name="log")
    except InputError as error:
        return "refused" if all(fault.path and fault.remedy for fault in error.faults) else "no reason given"
    accounted = len(reading.facts) + len(reading.left_out) + reading.rows_without_gpus + reading.rows_of_steps
    assert accounted == reading.rows_read
    assert all(entry.fault.path.startswith("log:") for entry in reading.left_out)
    assert all((entry.gpu_seconds or 0) >= 0 for entry in reading.left_out)
    assert gpu_seconds(reading) >= 0
    return "left out" if reading.left_out else "read"


def test_a_mangled_log_is_read_or_refused() -> None:
    outcomes = [outcome(seed) for seed in range(1_500)]
    assert "no reason given" not in outcomes
    assert all(outcomes.count(kind) > 20 for kind in ("refused", "left out", "read"))


@pytest.mark.soak
def test_many_mangled_logs_are_read_or_refused() -> None:
    assert all(outcome(seed) != "no reason given" for seed in range(10_000, 70_000))
