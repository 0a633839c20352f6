"""The worth of hardware where it is known by construction: curve, match, verdict."""

from __future__ import annotations

import json

import pytest

from loadfactor.errors import InputError
from loadfactor.policies import Effort
from loadfactor.worth import worth
from loadfactor.worth.curve import Runs
from tests.support.generators import SMALL, random_problem
from tests.worth import examples


def test_planning_is_the_problem() -> None:
    told = worth(examples.badly_planned(), policy_name="backfill")
    assert (told.today.baseline.value, told.today.allocator.value) == (9.0, 12.0)
    assert (told.verdict, told.match.gpus, told.match.nodes_added) == ("planning", 4, 1)
    assert (told.order.gpus, told.order.baseline_gain, told.order.planning_gain) == (2, 3.0, 3.0)
    assert told.message == (
        "Planning is the problem, not the number of GPUs. Today's 2 GPUs yield 9.0 under fifo at 75.0% utilization, "
        "and 12.0 under backfill at 100.0%: +3.0 (+33.3%). 2 more GPUs (+100%, the least that whole nodes make of "
        "+40%) buy +3.0 (+33.3%) under fifo, which then utilizes 50.0% of them; under backfill they buy +0.0 (+0.0%). "
        "fifo would need 4 GPUs (+100%) to match what 2 can do."
    )


def test_an_order_that_whole_nodes_meet_is_told_as_it_is() -> None:
    told = worth(examples.badly_planned(), policy_name="backfill", order=1.0)
    assert "2 more GPUs (+100%) buy" in told.message


def test_hardware_is_the_problem() -> None:
    told = worth(examples.short_of_gpus(), policy_name="backfill")
    assert told.verdict == "hardware"
    assert [point.allocator.value for point in told.points] == [4.0, 8.0]
    assert told.message.endswith("fifo already matches that today.")
    assert told.prices[0].whole_horizon == pytest.approx(4.0)


def test_neither_is_the_problem() -> None:
    told = worth(examples.short_of_work(), policy_name="backfill")
    assert told.verdict == "neither"
    assert told.prices[0].whole_horizon == pytest.approx(0.0)


def test_the_named_sizes_are_on_the_curve() -> None:
    described = random_problem(4, SMALL)
    labels = " ".join(point.label for point in worth(described, policy_name="backfill", price_seconds=0).points)
    for label in ("today", "+1 node", "+10%", "+40%"):
        assert label in labels


def test_the_allocators_curve_never_decreases() -> None:
    carried = 0
    for seed in range(12):
        told = worth(random_problem(seed, SMALL), policy_name="fifo", price_seconds=0, most_growth=0)
        values = [point.allocator.value for point in told.points]
        assert values == sorted(values)
        carried += sum(point.allocator.carried for point in told.points)
    # with fifo for the allocator, whose own values do decrease at times, the carrying over is seen at work
    assert carried


def test_a_match_out_of_reach_names_the_limit() -> None:
    told = worth(examples.badly_planned(), policy_name="backfill", most_growth=0.5)
    assert (told.match.gpus, told.match.limit_gpus) == (None, 2)
    assert told.message.endswith("fifo does not match that with up to 2 GPUs.")


def test_a_match_beyond_a_stride_is_refined_to_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadfactor.worth.curve.MOST_TRIED", 2)
    runs = Runs(examples.short_of_gpus(), "fifo", "fifo", Effort(), lambda _: None)
    match = runs.match(12.0, most_growth=8)
    assert (match.stride, match.nodes_added, match.gpus, match.limit_gpus) == (4, 2, 3, 9)


def test_progress_is_told() -> None:
    said: list[str] = []
    worth(examples.short_of_gpus(), policy_name="backfill", progress=said.append)
    assert said == ["1 GPU", "2 GPUs", "fifo on 1 GPU", "the price of a GPU"]


def test_the_document_is_json() -> None:
    document = json.loads(json.dumps(worth(examples.badly_planned(), policy_name="backfill").to_document()))
    assert document["match"]["gpus"] == 4
    assert document["points"][0]["baseline"]["value"] == 9.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 0.0}, "order: 0.0 is no share above 0 and up to 100; give 0.4 for 40 % more GPUs"),
        ({"order": float("nan")}, "order: nan is no share"),
        ({"curve_points": 1}, "curve_points: 1 make no curve; give at least 2"),
        ({"most_growth": -1.0}, "most_growth: -1.0 is no share from 0 to 100; give 3 for four times the GPUs"),
    ],
)
def test_nonsense_is_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        worth(examples.short_of_work(), policy_name="backfill", **options)  # type: ignore[arg-type]
