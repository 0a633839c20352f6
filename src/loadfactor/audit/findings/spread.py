"""Finding: gangs spread over more nodes than they need, which makes them slow and leaves nodes in pieces."""

from __future__ import annotations

from loadfactor.audit.finding import Evidence, Finding, Threshold, verdict_of
from loadfactor.audit.findings.holdings import SHOWN_ROWS, Holding, batch_holdings, told
from loadfactor.audit.record import Record
from loadfactor.sources.facts import JobInterval

THRESHOLD = Threshold(
    10.0, "% of GPU-hours of gangs", "loadfactor's design: rule R3, a block no larger than a node lies inside one node"
)


def find_spread(record: Record) -> Finding:
    """Return the share of the gangs' GPU-hours that ran on more nodes than the fewest that hold them.

    A gang has at least two GPUs; the fewest nodes are counted with the fleet's largest nodes.
    """
    largest = max(node.gpus for node in record.fleet.nodes)
    known, spread = 0.0, list[Holding]()
    for holding in batch_holdings(record):
        nodes = nodes_of(holding.interval)
        if holding.interval.gpus < 2 or nodes is None:
            continue
        known += holding.gpu_hours
        if nodes > -(-holding.interval.gpus // largest):
            spread.append(holding)
    lost = sum(holding.gpu_hours for holding in spread)
    value = 100 * lost / known if known else None
    return Finding(
        rule="spread",
        title="Gangs over more nodes than needed",
        verdict=verdict_of(value, THRESHOLD),
        sentence=_sentence(value, len(spread)),
        value=value,
        unit=THRESHOLD.unit,
        threshold=THRESHOLD,
        evidence=Evidence(
            ("job", "user", "GPUs", "nodes", "nodes needed", "GPU-hours"),
            tuple(
                (
                    each.interval.id,
                    told(each.interval),
                    each.interval.gpus,
                    nodes_of(each.interval),
                    -(-each.interval.gpus // largest),
                    round(each.gpu_hours, 1),
                )
                for each in sorted(spread, key=lambda each: -each.gpu_hours)[:SHOWN_ROWS]
            ),
        ),
        remedy="Ask for nodes as well as GPUs (in Slurm: --nodes=1, or --gpus-per-node), or place by best fit.",
        figures={"spread_gpu_hours": lost, "jobs": len(spread)},
    )


def nodes_of(interval: JobInterval) -> int | None:
    """Return how many nodes an interval ran on; None where the log does not say."""
    return len(interval.node_gpus) or interval.node_count


def _sentence(value: float | None, jobs: int) -> str:
    if value is None:
        return "The log does not say on how many nodes jobs of several GPUs ran."
    return (
        f"{jobs:,} jobs ran on more nodes than they needed: {value:.1f} % of the GPU-hours of jobs with several GPUs."
    )
