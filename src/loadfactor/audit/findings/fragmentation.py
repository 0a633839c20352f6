"""Finding: how much free GPU memory stands in pieces too small for the work that the cluster is asked for."""

from __future__ import annotations

from loadfactor.audit.finding import Evidence, Finding, Threshold, verdict_of
from loadfactor.audit.record import Record
from loadfactor.units import SECONDS_PER_HOUR

THRESHOLD = Threshold(
    15.0,
    "% of GPU memory",
    "loadfactor's design: free memory that no batch job can use, over 15 % of what is installed",
)


def find_fragmentation(record: Record) -> Finding:
    """Return the share of GPU memory in free pieces smaller than the smallest batch job, and that of every size.

    A piece is what is free of one node, averaged over the window; memory that is unavailable counts on neither side.
    """
    idleness = record.idleness
    shares = [100 * small / idleness.memory if idleness.memory else 0.0 for small in idleness.too_small]
    by_size = dict(zip(idleness.block_sizes, shares, strict=True))
    smallest = _smallest_batch_job(record)
    value = by_size.get(smallest) if smallest is not None else None
    lost = {size: record.installed_hours * share / 100 for size, share in by_size.items()}
    return Finding(
        rule="fragmentation",
        title="Free GPUs in pieces too small",
        verdict=verdict_of(value, THRESHOLD),
        sentence=_sentence(smallest, value, by_size),
        value=value,
        unit=THRESHOLD.unit,
        threshold=THRESHOLD,
        evidence=Evidence(
            ("block, GPUs", "memory in smaller free pieces, %", "GPU-hours"),
            tuple((size, round(by_size[size], 2), round(lost[size], 1)) for size in by_size),
        ),
        remedy="Fill started nodes before opening new ones, and keep whole nodes for whole-node jobs "
        "(in Slurm: SelectTypeParameters with CR_Pack_Nodes or pack_serial_at_end; GPU jobs by best fit).",
        recoverable_gpu_hours=idleness.of("shape") / SECONDS_PER_HOUR,
        figures={"smallest_batch_job_gpus": smallest, "share_percent_by_block_size": by_size},
    )


def _smallest_batch_job(record: Record) -> int | None:
    asked = {
        interval.gpus_requested or interval.gpus
        for interval, service in zip(record.intervals, record.is_service.tolist(), strict=True)
        if not service
    } - {0}
    return min(asked, default=None)


def _sentence(smallest: int | None, value: float | None, by_size: dict[int, float]) -> str:
    if smallest is None or value is None:
        return "No batch job asked for GPUs, so that no piece was too small."
    largest = max(by_size)
    return (
        f"{value:.1f} % of GPU memory stood free in pieces smaller than the smallest batch job ({smallest} GPUs); "
        f"for a job of {largest} GPUs it was {by_size[largest]:.1f} %."
    )
