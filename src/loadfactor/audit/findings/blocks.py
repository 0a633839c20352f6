"""Finding: jobs whose sizes fill no block, so that what is left of their nodes is hard to use."""

from __future__ import annotations

from collections import Counter, defaultdict

from loadfactor.audit.finding import Evidence, Finding, Threshold, verdict_of
from loadfactor.audit.findings.holdings import SHOWN_ROWS, batch_holdings
from loadfactor.audit.record import Record
from loadfactor.control import BlockSizes
from loadfactor.model import Cluster, Node

THRESHOLD = Threshold(
    5.0,
    "% of held GPU-hours",
    "loadfactor's own line; what a block has more than its job asked for is padding",
)


def find_blocks(record: Record) -> Finding:
    """Return the GPUs that jobs would waste if each had a whole block, as a share of the GPU-hours they held.

    Blocks are powers of two up to a node, and whole nodes beyond it.
    """
    sizes = BlockSizes(_cluster(record))
    held = 0.0
    padding: defaultdict[int, float] = defaultdict(float)
    hours: defaultdict[int, float] = defaultdict(float)
    counts = Counter[int]()
    for holding in batch_holdings(record):
        gpus = holding.interval.gpus
        block = sizes.smallest(gpus)
        held += holding.gpu_hours
        if block is not None and block > gpus:
            padding[gpus] += holding.gpu_hours * (block - gpus) / gpus
            hours[gpus] += holding.gpu_hours
            counts[gpus] += 1
    value = 100 * sum(padding.values()) / held if held else None
    return Finding(
        rule="blocks",
        title="Jobs that fill no block",
        verdict=verdict_of(value, THRESHOLD),
        sentence=_sentence(value, sum(counts.values())),
        value=value,
        unit=THRESHOLD.unit,
        threshold=THRESHOLD,
        evidence=Evidence(
            ("GPUs asked for", "jobs", "GPU-hours held", "GPU-hours beside them in their block"),
            tuple(
                (gpus, counts[gpus], round(hours[gpus], 1), round(lost, 1))
                for gpus, lost in sorted(padding.items(), key=lambda item: -item[1])[:SHOWN_ROWS]
            ),
        ),
        remedy="Ask for 1, 2, 4 or 8 GPUs, or whole nodes; run several small jobs on what is left over.",
        figures={"padding_gpu_hours": sum(padding.values()), "jobs": sum(counts.values())},
    )


def _cluster(record: Record) -> Cluster:
    nodes = tuple(Node(name=node.name, gpus=node.gpus) for node in record.fleet.nodes)
    return Cluster(block_sizes="whole_nodes", nodes=nodes)


def _sentence(value: float | None, jobs: int) -> str:
    if value is None:
        return "No batch job held a GPU in the window."
    if not jobs:
        return "Every job's size is a block: a power of two, or whole nodes."
    return (
        f"{jobs:,} jobs asked for sizes that fill no block; the GPUs beside them are {value:.1f} % of what jobs held."
    )
