"""What became of every row: the report that comes with a problem built from logs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from loadfactor.errors import Fault
from loadfactor.model.base import Noun
from loadfactor.sources.tables import line_of

BAD_ROWS_LISTED = 1000
LINES_LISTED = 10


class BadRow(Noun):
    """A row, or a cell of one, that could not be read."""

    line: int
    fact: str

    @classmethod
    def of(cls, fault: Fault) -> BadRow:
        """Return the bad row that a fault with the path `file:line` is about."""
        return cls(line=line_of(fault), fact=fault.fact)


class LeftOut(Noun):
    """Jobs of the day that are not in the problem, for one reason; `lines` are the first few of them in the log."""

    reason: str
    jobs: int
    gpu_hours: float
    lines: tuple[int, ...]


class JobsReport(Noun):
    """The rows of a log of jobs: read = bad + merged + outside + submitted + waiting + running + left out.

    `outside` rows lie wholly before or after the horizon. `submitted` jobs were submitted in it, `waiting` ones before
    it and had not started; `running` ones are inherited. `padding_gpu_hours` are spent because a job asked for a number
    of GPUs that no block has. `capped_jobs` are kept jobs whose run time the log had cut; `cut_jobs` are running jobs
    whose end was moved to the horizon's, because the recipe wants all ends inside. GPU-hours of running jobs count from
    step 0.
    """

    file: str
    rows_read: int
    bad_rows: int
    bad_rows_listed: tuple[BadRow, ...]
    merged: int
    outside: int
    submitted: int
    waiting: int
    queued_gpu_hours: float
    running: int
    running_gpu_hours: float
    running_scattered: int
    left_out: tuple[LeftOut, ...]
    padded_jobs: int
    padding_gpu_hours: float
    capped_jobs: int
    cut_jobs: int
    in_repeated_hour: int

    def lines(self) -> Iterator[str]:
        """Yield the report as sentences for people."""
        yield f"{self.file}: {self.rows_read} rows read, {self.outside} outside the day, {self.bad_rows} bad"
        yield (
            f"  kept: {self.submitted} jobs submitted in the day and {self.waiting} waiting since before "
            f"({self.queued_gpu_hours:.1f} GPU-hours); {self.running} running at its start "
            f"({self.running_gpu_hours:.1f} GPU-hours)"
        )
        yield from (
            f"  left out: {entry.jobs} jobs ({entry.gpu_hours:.1f} GPU-hours): {entry.reason}"
            for entry in self.left_out
        )
        notes = {
            f"{self.padded_jobs} jobs padded to the next block size: {self.padding_gpu_hours:.1f} GPU-hours wasted": (
                self.padded_jobs
            ),
            f"{self.merged} rows merged into the job that they are a task of": self.merged,
            f"{self.running_scattered} running jobs hold scattered GPUs, since no whole block was free": (
                self.running_scattered
            ),
            f"{self.capped_jobs} jobs whose run time the log has cut: the real ones ran longer": self.capped_jobs,
            f"{self.cut_jobs} running jobs cut at the end of the horizon": self.cut_jobs,
            f"{self.in_repeated_hour} rows of the whole log in the hour that clocks repeat, read as the earlier one": (
                self.in_repeated_hour
            ),
        }
        yield from (f"  {text}" for text, count in notes.items() if count)
        yield from (f"  bad row: line {row.line}: {row.fact}" for row in self.bad_rows_listed[:LINES_LISTED])


class ServiceReport(Noun):
    """What one demand curve was made from.

    `bins` is the number that cover the horizon; `missing_bins` of them are not in the log, `zero_bins` are there with
    nothing in them, and `held_bins` of both were given the last known value. `bins_without_tokens` had a rate but no
    token counts; `token_coverage` is the share of the rate that token counts were taken from. `gpus_per_unit` is GPUs
    for each unit of load (see `load_unit`). `peak_gpus` may exceed the cluster: `steps_above_cluster` says how often.
    """

    id: str
    file: str
    rows_read: int
    bad_rows: int
    bad_rows_listed: tuple[BadRow, ...]
    bins: int
    missing_bins: int
    zero_bins: int
    held_bins: int
    bins_without_tokens: int
    token_coverage: float | None
    load_unit: str
    gpus_per_unit: float
    mean_gpus: float
    peak_gpus: int
    steps_above_cluster: int
    max_swap: int

    def lines(self) -> Iterator[str]:
        """Yield the report as sentences for people."""
        yield f"{self.file}: {self.rows_read} rows read, {self.bad_rows} bad; {self.bins} bins in the horizon"
        yield (
            f"  {self.id}: {self.mean_gpus:.1f} GPUs on average, {self.peak_gpus} at the peak "
            f"({self.gpus_per_unit:.4g} GPUs for each {self.load_unit}), at most {self.max_swap} swapped a step"
        )
        notes = {
            f"{self.missing_bins} bins missing, {self.zero_bins} zero; {self.held_bins} given the last known value": (
                self.missing_bins + self.zero_bins
            ),
            f"{self.bins_without_tokens} bins without token counts, given the last known": self.bins_without_tokens,
            f"demand exceeds the whole cluster in {self.steps_above_cluster} steps": self.steps_above_cluster,
        }
        yield from (f"  {text}" for text, count in notes.items() if count)
        if self.token_coverage is not None and self.token_coverage < 1:
            yield f"  token counts come from {self.token_coverage:.0%} of the rate"
        yield from (f"  bad row: line {row.line}: {row.fact}" for row in self.bad_rows_listed[:LINES_LISTED])


class BuildReport(Noun):
    """What became of every row of every log that a problem was built from."""

    problem: str
    jobs: JobsReport | None
    services: tuple[ServiceReport, ...]

    def lines(self) -> Iterator[str]:
        """Yield the report as sentences for people, one a line."""
        if self.jobs is not None:
            yield from self.jobs.lines()
        for service in self.services:
            yield from service.lines()

    def to_document(self) -> dict[str, Any]:
        """Return the report as plain mappings and lists."""
        return self.model_dump(mode="json")
