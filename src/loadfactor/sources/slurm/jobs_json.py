"""Jobs in Slurm's JSON: `sacct --json`, `squeue --json` and both of slurmrestd's APIs, of every version since 21.08."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loadfactor.errors import InputError
from loadfactor.sources.facts import JobInterval, LeftOut, Reading
from loadfactor.sources.items import Item
from loadfactor.sources.slurm.accounting_json import accounted_interval, accounted_stake, untracked
from loadfactor.sources.slurm.api import api_count, first_fault, list_of
from loadfactor.sources.slurm.controller_json import controlled_interval, controlled_stake

EXPECTED = "jobs of Slurm in JSON"


def read_slurm_jobs_json(text: str, name: str = "jobs.json") -> Reading[JobInterval]:
    """Return the jobs of one document, in its order; raise `InputError` where the text is no such document.

    The accounting database (`sacct`, /slurmdb/) knows what a job held by its trackable resources; the controller
    (`squeue`, /slurm/) also by the GPUs' indices on each node, and where the site tracks no GPUs, by what was
    requested. A start or an end that is only planned is not set. A job that cannot be read is left out, with the
    GPU-seconds that it may have been, and one without GPUs is only counted.
    """
    answered = list_of(text, name, ("jobs",), EXPECTED)
    entries = answered.entries
    read: list[JobInterval] = []
    left_out: list[LeftOut] = []
    for position, entry in enumerate(entries):
        item = Item(entry if isinstance(entry, dict) else {}, f"{name}:jobs[{position}]")
        try:
            if not isinstance(entry, dict):
                raise InputError.of(item.path, "is no object", "write the document again")
            read.append(_interval(item, position))
        except InputError as error:
            left_out.append(LeftOut(first_fault(error), _stake(item) if item.fields else None))
    tracked, untracked_rows = _without_untracked(read, entries, name)
    facts = tuple(interval for interval in tracked if interval.gpus or interval.gpus_requested)
    restarts = [_restarts(Item(entries[interval.row], name)) for interval in facts]
    return Reading(
        source=name,
        facts=facts,
        rows_read=len(entries),
        left_out=(*left_out, *untracked_rows),
        notes=(*answered.notes, *_notes(name, restarts)),
        rows_without_gpus=len(tracked) - len(facts),
        written_at=answered.written_at,
    )


def _interval(item: Item, position: int) -> JobInterval:
    return accounted_interval(item, position) if item.has("time") else controlled_interval(item, position)


def _stake(item: Item) -> float | None:
    stake: Callable[[Item], float | None] = accounted_stake if item.has("time") else controlled_stake
    try:
        return stake(item)
    except InputError:
        return None


def _restarts(item: Item) -> int:
    try:
        return api_count(item, "restart_cnt") or 0
    except InputError:
        return 0


def _without_untracked(
    read: list[JobInterval], entries: Sequence[object], name: str
) -> tuple[list[JobInterval], list[LeftOut]]:
    """Split off the jobs whose GPUs the accounting does not track: those of a document that names none at all."""
    if any(interval.gpus or interval.gpus_requested for interval in read):
        return read, []
    kept: list[JobInterval] = []
    left_out: list[LeftOut] = []
    for interval in read:
        entry = entries[interval.row]
        item = Item(entry if isinstance(entry, dict) else {}, f"{name}:jobs[{interval.row}]")
        found = untracked(item, interval)
        kept += [interval] if found is None else []
        left_out += [] if found is None else [found]
    return kept, left_out


def _notes(name: str, restarts: Sequence[int]) -> list[str]:
    again = [count for count in restarts if count]
    if not again:
        return []
    times = "once" if sum(again) == 1 else f"{sum(again)} times in all"
    which = "1 job was" if len(again) == 1 else f"{len(again)} jobs were"
    return [f"{name}: {which} requeued ({times}); stays before the last may be missing from this document"]
