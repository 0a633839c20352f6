"""The ids of Slurm's jobs: `123`, arrays `123_7` and `123_[9-11,13%2]`, heterogeneous `123+1`, steps `123.batch`."""

from __future__ import annotations

import re
from functools import lru_cache

from loadfactor.sources.slurm.cells import CACHED_CELLS, MAX_COUNT, UnreadableCell

_ID = re.compile(r"\d+(?:_(?:\d+|\*|\[[^\]]*\]?)?|_0x[0-9A-Fa-f]+)?(?:\+\d+)?")
_TASKS = re.compile(r"_\[([^\]]*)\]?")
_MASK = re.compile(r"_\[?0x([0-9A-Fa-f]+)")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?")
_CUT = "..."
_REMEDY = "write it as 123, 123_7, 123_[0-3%2], 123+1 or 123.batch"


def is_step(job_id: str) -> bool:
    """Return whether the id is that of a step (`123.batch`, `123_7.0`, `123+0.extern`), not of a job."""
    return "." in job_id.partition("[")[0] or "]." in job_id


def is_job_id(text: str) -> bool:
    """Return whether `text` is the id of a job (no step) as Slurm writes it."""
    return _ID.fullmatch(text) is not None


@lru_cache(CACHED_CELLS)
def is_cut(job_id: str) -> bool:
    """Return whether Slurm has cut the list of an array's tasks (`123_[1,3,5,...]`), so that it counts too few."""
    return "[" in job_id and (_CUT in job_id or "]" not in job_id)


def count_tasks(job_id: str) -> int:
    """Return how many jobs stand behind the id: the waiting tasks of `123_[9-11,13,16-20%2]` are 9; others are 1.

    Of a list that Slurm has cut, those that it shows. Raises `UnreadableCell` where the list is none.
    """
    return _count_listed(job_id) if "[" in job_id or "_0x" in job_id else 1


@lru_cache(CACHED_CELLS)
def _count_listed(job_id: str) -> int:
    mask = _MASK.search(job_id)
    if mask:
        return max(1, int(mask[1], 16).bit_count())
    listed = _TASKS.search(job_id)
    if listed is None:
        return 1
    tasks = sum(_width(part, job_id) for part in _parts(listed[1]))
    if not 1 <= tasks <= MAX_COUNT:
        raise UnreadableCell(job_id, "is no list of the tasks of an array", _REMEDY)
    return tasks


def _parts(listed: str) -> list[str]:
    """Return the ranges of a list, without the limit of tasks at a time behind them and without what was cut."""
    parts = listed.partition("%")[0].split(",")
    return [part for part in parts if part and not part.endswith(_CUT)]


def _width(part: str, job_id: str) -> int:
    matched = _RANGE.fullmatch(part)
    if matched is None:
        raise UnreadableCell(job_id, f"holds {part!r}, which is no range of tasks", _REMEDY)
    first, last, step = int(matched[1]), int(matched[2] or matched[1]), int(matched[3] or 1)
    if last < first or step < 1:
        raise UnreadableCell(job_id, f"holds {part!r}, which is no range of tasks", _REMEDY)
    return (last - first) // step + 1
