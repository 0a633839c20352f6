"""The ledger balances to the second or says why not; the meter agrees with a slow one that looks at every second."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from loadfactor.engines import DemandMeter, Ledger, UnbalancedLedgerError, Use
from loadfactor.engines.ledger import ALLOWED

GPUS, SECONDS = 6, 300


@pytest.mark.parametrize("seed", range(30))
def test_the_ledger_agrees_with_a_painted_grid(seed: int) -> None:
    rng, begin = Random(seed), 1_000
    ledger, grid, at = Ledger(GPUS, begin), np.zeros((GPUS, SECONDS), dtype=np.int64), begin
    while (at := at + rng.choice((0, 0, 1, 5, 20))) < begin + SECONDS:
        first = rng.randrange(GPUS)
        last = rng.randint(first + 1, GPUS)
        use = rng.choice(list(Use))
        if all((ledger.use(gpu), use) in ALLOWED for gpu in range(first, last)):
            ledger.turn(first, last, use, at)
            grid[first:last, at - begin :] = use
            assert ledger.use(first) is use
    booked = ledger.seconds(begin + SECONDS)
    assert list(booked.values()) == np.bincount(grid.ravel(), minlength=len(Use)).tolist()


TAKEOVERS = [
    (Use.JOB_WORKING, Use.JOB_STARTING),
    (Use.JOB_STARTING, Use.JOB_STARTING),
    (Use.JOB_WORKING, Use.REPLICA_STARTING),
    (Use.PADDING, Use.JOB_STARTING),
    (Use.REPLICA_READY, Use.JOB_STARTING),
    (Use.REPLICA_READY, Use.REPLICA_STARTING),
    (Use.REPLICA_STOPPING, Use.REPLICA_READY),
    (Use.LOST, Use.JOB_STARTING),
    (Use.LOST, Use.REPLICA_STARTING),
]


@pytest.mark.parametrize(("before", "after"), TAKEOVERS)
def test_nobody_takes_over_from_somebody_else(before: Use, after: Use) -> None:
    ledger = Ledger(GPUS, 0)
    ledger.turn(2, 3, before, 10)
    with pytest.raises(UnbalancedLedgerError, match=f"GPUs 1 to 3 go from {before.name} to {after.name} at second 20"):
        ledger.turn(1, 4, after, 20)


def test_time_does_not_run_backwards() -> None:
    ledger = Ledger(GPUS, 100)
    ledger.turn(0, 1, Use.JOB_STARTING, 200)
    with pytest.raises(UnbalancedLedgerError, match="an entry for second 199 comes after one for second 200"):
        ledger.turn(3, 4, Use.JOB_STARTING, 199)
    with pytest.raises(UnbalancedLedgerError, match="GPU-seconds are booked"):
        ledger.seconds(150)


def test_what_was_not_booked_is_missed() -> None:
    ledger = Ledger(GPUS, 0)
    ledger.turn(0, 4, Use.JOB_STARTING, 10)
    ledger._since[2] += 1
    with pytest.raises(UnbalancedLedgerError, match="599 GPU-seconds are booked for 6 GPUs in 100 seconds"):
        ledger.seconds(100)


@pytest.mark.parametrize("seed", range(50))
def test_the_meter_agrees_with_one_that_looks_at_every_second(seed: int) -> None:
    rng, begin = Random(seed), 50
    demand, serving = np.zeros(SECONDS, dtype=np.int64), np.zeros(SECONDS, dtype=np.int64)
    meter, at = DemandMeter(begin), begin
    while at < begin + SECONDS:
        curve = rng.choice(("demand", "serving"))
        value = rng.randint(0, 3)
        (demand if curve == "demand" else serving)[at - begin :] = value
        meter.turn(at, **{curve: value})
        at += rng.choice((0, 1, 2, 30))
    meter.turn(begin + SECONDS)
    assert meter.met == int(np.minimum(demand, serving).sum())
    assert meter.unmet == int(np.maximum(0, demand - serving).sum())
    assert meter.spare == int(np.maximum(0, serving - demand).sum())
    assert meter.longest_shortfall_seconds == longest_run(demand > serving)


def longest_run(short: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
    longest = length = 0
    for each in short.tolist():
        length = length + 1 if each else 0
        longest = max(longest, length)
    return longest
