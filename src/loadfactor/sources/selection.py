"""From the jobs of a day to those of a problem: what is left out and why, and where running jobs lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from loadfactor.model import GpuRange, Horizon, Job, Running, limits
from loadfactor.sources.candidates import Candidate, Setting, draw, jobs_of_the_day
from loadfactor.sources.job_log import JobLog
from loadfactor.sources.jobs import bad_row_count
from loadfactor.sources.packing import Floor, Need, is_block
from loadfactor.sources.report import BAD_ROWS_LISTED, LINES_LISTED, BadRow, JobsReport, LeftOut
from loadfactor.units import SECONDS_PER_MINUTE

Places = dict[str, tuple[int, ...]]


@dataclass
class _LeftOut:
    """Jobs left out so far, by reason."""

    jobs: dict[str, list[Candidate]] = field(default_factory=dict)

    def sift(
        self, candidates: Iterable[Candidate], reason: str, leaves: Callable[[Candidate], bool]
    ) -> list[Candidate]:
        """Return the candidates that stay, noting those that leave."""
        staying: list[Candidate] = []
        for candidate in candidates:
            (self.jobs.setdefault(reason, []) if leaves(candidate) else staying).append(candidate)
        return staying

    def entries(self) -> tuple[LeftOut, ...]:
        return tuple(
            LeftOut(
                reason=reason,
                jobs=len(jobs),
                gpu_hours=round(sum(job.gpu_hours for job in jobs), 3),
                lines=tuple(job.line for job in jobs[:LINES_LISTED]),
            )
            for reason, jobs in self.jobs.items()
            if jobs
        )


def select_jobs(log: JobLog, setting: Setting, floor: Floor) -> tuple[tuple[Job, ...], JobsReport]:
    """Return the jobs of the window and what became of every row; running jobs take their GPUs from `floor`.

    Running jobs come first, the others in order of submission.
    """
    left_out = _LeftOut()
    kept = _usable(jobs_of_the_day(log.frame, setting), left_out, setting.horizon)
    kept = _sampled(kept, setting.recipe.max_jobs, setting.seed, left_out)
    places = floor.place_all([_need(job, setting.horizon) for job in kept if job.state == "running"])
    no_room = "running at the start of the day, and the cluster has no room left for it"
    kept = left_out.sift(kept, no_room, lambda job: job.state == "running" and job.id not in places)
    kept.sort(key=lambda job: (job.state != "running", job.submit_step, job.line))
    jobs = tuple(_job(job, places.get(job.id), setting.horizon) for job in kept)
    return jobs, _report(log, setting, kept, places, left_out.entries())


def _usable(candidates: list[Candidate], left_out: _LeftOut, horizon: Horizon) -> list[Candidate]:
    longest = limits.MAX_DURATION_STEPS * horizon.step_minutes * SECONDS_PER_MINUTE
    rules: tuple[tuple[str, Callable[[Candidate], bool]], ...] = (
        ("uses no GPU", lambda job: job.requested <= 0),
        ("the log states no run time", lambda job: job.seconds is None),
        ("ran for no time", lambda job: job.seconds is not None and job.seconds <= 0),
        (f"runs for more than {limits.MAX_DURATION_STEPS} steps", lambda job: (job.seconds or 0) > longest),
        (f"has a priority above {limits.MAX_PRIORITY:g}", lambda job: job.priority > limits.MAX_PRIORITY),
        ("needs more GPUs than any block of this cluster has", lambda job: job.size is None),
        ("submitted within the last step, when nothing can start", lambda job: job.submit_step >= horizon.steps),
    )
    for reason, leaves in rules:
        candidates = left_out.sift(candidates, reason, leaves)
    return candidates


def _sampled(jobs: list[Candidate], most: int | None, seed: int, left_out: _LeftOut) -> list[Candidate]:
    if most is None or len(jobs) <= most:
        return jobs
    drawn = {job.id for job in sorted(jobs, key=lambda job: draw(seed, "sample", job.id))[:most]}
    return left_out.sift(jobs, f"not drawn into the sample of {most} jobs", lambda job: job.id not in drawn)


def _need(job: Candidate, horizon: Horizon) -> Need:
    return Need(job.id, job.size or 0, _remaining(job, horizon))


def _remaining(job: Candidate, horizon: Horizon) -> int:
    return min(job.steps(horizon), horizon.steps) if horizon.finish_inside else job.steps(horizon)


def _job(job: Candidate, gpus: tuple[int, ...] | None, horizon: Horizon) -> Job:
    running = Running(gpus=gpus, remaining=_remaining(job, horizon)) if gpus else None
    size = job.size or 0
    return Job(
        id=job.id,
        kind=job.kind,
        priority=job.priority,
        submit=job.submit_step,
        gpus=GpuRange(min=size, max=size),
        duration=running.remaining if running else job.steps(horizon),
        running=running,
    )


def _report(
    log: JobLog, setting: Setting, kept: list[Candidate], places: Places, left_out: tuple[LeftOut, ...]
) -> JobsReport:
    running = [job for job in kept if job.state == "running"]
    queued = [job for job in kept if job.state != "running"]
    padded = [job for job in kept if job.padding_gpu_hours > 0]
    return JobsReport(
        file=setting.recipe.file.name,
        rows_read=log.rows_read,
        bad_rows=bad_row_count(log.bad_rows),
        bad_rows_listed=tuple(map(BadRow.of, log.bad_rows[:BAD_ROWS_LISTED])),
        merged=log.merged,
        outside=log.frame.height - len(kept) - sum(entry.jobs for entry in left_out),
        submitted=sum(job.state == "submitted" for job in queued),
        waiting=sum(job.state == "waiting" for job in queued),
        queued_gpu_hours=round(sum(job.gpu_hours for job in queued), 3),
        running=len(running),
        running_gpu_hours=round(sum(job.gpu_hours for job in running), 3),
        running_scattered=sum(not is_block(setting.cluster, places[job.id]) for job in running),
        left_out=left_out,
        padded_jobs=len(padded),
        padding_gpu_hours=round(sum(job.padding_gpu_hours for job in padded), 3),
        capped_jobs=sum(job.capped for job in kept),
        cut_jobs=sum(job.steps(setting.horizon) > _remaining(job, setting.horizon) for job in running),
        in_repeated_hour=log.in_repeated_hour,
    )
