"""The answer to "60 % utilization and an order for 40 % more GPUs: which one is the problem?", with its numbers."""

from __future__ import annotations

from loadfactor.explain.telling import count
from loadfactor.worth.findings import GrowthPoint, Match, Order, VerdictKind

NEGLIGIBLE = 0.01
"""A gain below this share of the value that is there counts as none."""
CONSIDERABLE = 0.5
"""Planning that gets at least this share of what the order would buy is part of the answer."""


ROUNDED_MUCH = 1.3
"""From this factor on it is told that whole nodes are much more than the share asked for."""


def order_of(asked: float, today: GrowthPoint, ordered: GrowthPoint) -> Order:
    """Return what growing from `today` to `ordered` buys, and what planning buys today."""
    return Order(
        asked=asked,
        gpus=ordered.gpus - today.gpus,
        growth=ordered.growth,
        baseline_gain=ordered.baseline.value - today.baseline.value,
        allocator_gain=ordered.allocator.value - today.allocator.value,
        planning_gain=today.allocator.value - today.baseline.value,
    )


def verdict_of(today: GrowthPoint, order: Order) -> VerdictKind:
    """Return which one is the problem."""
    scale = max(abs(today.baseline.value), abs(today.allocator.value), 1e-9)
    if max(order.planning_gain, order.baseline_gain) <= NEGLIGIBLE * scale:
        return "neither"
    if order.planning_gain >= order.baseline_gain:
        return "planning"
    return "both" if order.planning_gain >= CONSIDERABLE * order.baseline_gain else "hardware"


def told(
    names: tuple[str, str], today: GrowthPoint, ordered: GrowthPoint, order: Order, match: Match, verdict: VerdictKind
) -> str:
    """Return the verdict in words; `names` are those of the baseline and the allocator."""
    baseline, allocator = names
    plan = _with_share(order.planning_gain, today.baseline.value)
    bought = _with_share(order.baseline_gain, today.baseline.value)
    added = _with_share(order.allocator_gain, today.allocator.value)
    more = (
        f"{count(order.gpus, 'more GPU')} ({_growth_told(order)}) buy {bought} under {baseline}, which then utilizes "
    )
    more += f"{ordered.baseline.utilization:.1%} of them; under {allocator} they buy {added}."
    matched = _match_told(baseline, match, today)
    return " ".join((_HEADS[verdict], _today_told(names, today, plan), more, matched))


def _growth_told(order: Order) -> str:
    rounded = f", the least that whole nodes make of {order.asked:+.0%}"
    return f"{order.growth:+.0%}" + (rounded if order.growth > ROUNDED_MUCH * order.asked else "")


def _today_told(names: tuple[str, str], today: GrowthPoint, plan: str) -> str:
    pairs = zip(names, (today.baseline, today.allocator), strict=True)
    yields = [f"{_number(outcome.value)} under {name} at {outcome.utilization:.1%}" for name, outcome in pairs]
    return f"Today's {count(today.gpus, 'GPU')} yield {yields[0]} utilization, and {yields[1]}: {plan}."


_HEADS: dict[VerdictKind, str] = {
    "planning": "Planning is the problem, not the number of GPUs.",
    "hardware": "The number of GPUs is the problem: planning alone brings less than half of what the order buys.",
    "both": "Both: planning brings at least half of what the order buys, without a new GPU.",
    "neither": "Neither: neither better planning nor more GPUs would bring more than 1 %; the work is not there.",
}


def _match_told(baseline: str, match: Match, today: GrowthPoint) -> str:
    if match.gpus is None:
        return f"{baseline} does not match that with up to {count(match.limit_gpus, 'GPU')}."
    if not match.nodes_added:
        return f"{baseline} already matches that today."
    assert match.growth is not None  # noqa: S101 - given where gpus is
    return f"{baseline} would need {match.gpus:,} GPUs ({match.growth:+.0%}) to match what {today.gpus:,} can do."


def _with_share(gain: float, base: float) -> str:
    share = f" ({gain / base:+.1%})" if base > 0 else ""
    return f"{gain:+,.1f}{share}"


def _number(value: float) -> str:
    return f"{value:,.1f}"
