"""Drawn faults: as often as their rates say, the same for the same seed, and none where all rates are zero."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from loadfactor.engines import FaultRates
from loadfactor.engines.faults import Faults
from loadfactor.units import SECONDS_PER_HOUR
from tests.support.control import cluster
from tests.support.fault_worlds import ALL_FAULTS

MANY = 20_000
CLUSTER = cluster((4, 4, 2))


def test_without_rates_nothing_goes_wrong() -> None:
    faults = Faults(FaultRates(), 1)
    assert faults.losses(CLUSTER, 0, 10**9) == []
    assert [faults.deliveries(at) for at in range(100)] == [[at] for at in range(100)]
    assert not any(faults.refuses() for _ in range(100))
    assert [faults.stamp(at) for at in range(0, 10**6, 999)] == list(range(0, 10**6, 999))


def test_nodes_are_lost_as_often_as_the_rate_says() -> None:
    hours = 20_000
    losses = Faults(ALL_FAULTS, 7).losses(CLUSTER, 500, 500 + hours * SECONDS_PER_HOUR)
    assert 0.95 * hours < len(losses) < 1.05 * hours
    assert all(first.at <= later.at for first, later in pairwise(losses))
    assert all(500 <= loss.at < loss.back_at <= loss.at + ALL_FAULTS.repair_seconds for loss in losses)
    blocks = Counter(loss.gpus for loss in losses)
    nodes = [blocks[gpus] for gpus in ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9))]
    assert all(0.14 * len(losses) < node < 0.19 * len(losses) for node in nodes)
    singles = sum(times for gpus, times in blocks.items() if len(gpus) == 1)
    assert sum(nodes) + singles == len(losses)
    assert all(blocks[(gpu,)] > 0 for gpu in range(10))


def test_messages_are_late_and_doubled_as_often_as_the_rates_say() -> None:
    faults = Faults(ALL_FAULTS, 7)
    deliveries = [faults.deliveries(1_000) for _ in range(MANY)]
    doubled = sum(len(times) == 2 for times in deliveries)
    assert abs(doubled / MANY - ALL_FAULTS.doubled) < 0.02
    delays = [time - 1_000 for times in deliveries for time in times]
    assert abs(sum(delay > 0 for delay in delays) / len(delays) - ALL_FAULTS.late) < 0.02
    assert (min(delays), max(delays)) == (0, ALL_FAULTS.delay_seconds)


def test_starts_are_refused_as_often_as_the_rate_says() -> None:
    faults = Faults(ALL_FAULTS, 7)
    assert abs(sum(faults.refuses() for _ in range(MANY)) / MANY - ALL_FAULTS.refused) < 0.02


def test_the_clock_is_wrong_in_one_hour_of_eight_and_by_the_same_all_hour() -> None:
    faults = Faults(ALL_FAULTS, 7)
    starts = range(10**6 * 3_600, (10**6 + 4_000) * 3_600, 3_600)
    wrong = [faults.stamp(at) - at for at in starts]
    assert 0.10 < sum(each != 0 for each in wrong) / len(wrong) < 0.15
    assert max(map(abs, wrong)) <= ALL_FAULTS.clock_jump_seconds
    assert wrong == [faults.stamp(at + 3_599) - at - 3_599 for at in starts]
    assert faults.stamp(0) >= 0


def test_the_same_seed_draws_the_same_faults_and_another_others() -> None:
    def drawn(seed: int) -> list[object]:
        faults = Faults(ALL_FAULTS, seed)
        losses: list[object] = [*faults.losses(CLUSTER, 0, 10**6)]
        return losses + [(faults.deliveries(at), faults.refuses()) for at in range(200)]

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)


def test_clocks_of_other_seeds_are_wrong_at_other_times() -> None:
    hours = range(0, 400 * 3_600, 3_600)
    first, other = (Faults(ALL_FAULTS, seed) for seed in (3, 4))
    assert [first.stamp(at) for at in hours] != [other.stamp(at) for at in hours]
