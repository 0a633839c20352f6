"""What is asked of the cluster: jobs and services, as they were submitted."""

from __future__ import annotations

from math import isfinite

from msgspec import Struct

from loadfactor.model.workload import Kind


class JobRequest(Struct, frozen=True):
    """A job as its user submitted it.

    `gpus` is what the user asks for. A moldable job can use any number from there to `most_gpus`; its size is chosen
    when it starts. With `work_gpu_seconds`, the work that the user states at most, a larger block ends sooner: the run
    takes ceil(work / size). Without it, a run takes as long on any size, and `limit_seconds` is the run time that the
    user states at most, None where the log has none. Every GPU given must be of one of `gpu_types` and have
    `gpu_memory_gib`, where these are stated. `user`, `name` and `account` are what run times are learnt and shares are
    counted by.

    Raises `ValueError` where a number is out of its range; a decoder makes a `ValidationError` of it.
    """

    id: str
    gpus: int
    kind: Kind = "training"
    priority: float = 1.0
    limit_seconds: int | None = None
    user: str | None = None
    name: str | None = None
    account: str | None = None
    most_gpus: int | None = None
    work_gpu_seconds: int | None = None
    gpu_types: tuple[str, ...] | None = None
    gpu_memory_gib: float | None = None

    def __post_init__(self) -> None:
        if self.gpus < 1:
            raise ValueError(f"job {self.id!r} asks for {self.gpus} GPUs; ask for at least one")
        if self.most_gpus is not None and self.most_gpus < self.gpus:
            fact = f"job {self.id!r} can use at most {self.most_gpus} GPUs and at least {self.gpus}"
            raise ValueError(f"{fact}; swap them or widen the range")
        if self.work_gpu_seconds is not None and self.work_gpu_seconds < 1:
            fact = f"job {self.id!r} has {self.work_gpu_seconds} GPU-seconds of work"
            raise ValueError(f"{fact}; state at least one, or leave it out")
        _refuse_bad_needs(f"job {self.id!r}", self.gpu_types, self.gpu_memory_gib)

    @property
    def most(self) -> int:
        """The most GPUs that the job can use."""
        return self.gpus if self.most_gpus is None else self.most_gpus

    def used_on(self, size: int) -> int:
        """Return how many GPUs of a block the job uses; the others are padding."""
        return min(size, self.most)

    def seconds_on(self, size: int, seconds: float) -> float:
        """Return the run time on a block of `size` GPUs, from `seconds` on the fewest GPUs that the job can use."""
        if self.work_gpu_seconds is None:
            return seconds
        return seconds * self.gpus / self.used_on(size)

    def seconds_on_fewest(self, size: int, seconds: float) -> float:
        """Return the run time on the fewest GPUs, from `seconds` on a block of `size`."""
        if self.work_gpu_seconds is None:
            return seconds
        return seconds * self.used_on(size) / self.gpus


class ServiceRequest(Struct, frozen=True):
    """A real-time service.

    `max_swap` caps the GPUs given plus taken away within one step (R4); `start_seconds` is how long a replica loads its
    model before it serves. A replica holds one GPU, of one of `gpu_types` and with `gpu_memory_gib` where these are
    stated.
    """

    id: str
    priority: float
    max_swap: int
    max_gpus: int | None = None
    start_seconds: int = 0
    gpu_types: tuple[str, ...] | None = None
    gpu_memory_gib: float | None = None

    def __post_init__(self) -> None:
        _refuse_bad_needs(f"service {self.id!r}", self.gpu_types, self.gpu_memory_gib)


def _refuse_bad_needs(name: str, gpu_types: tuple[str, ...] | None, gpu_memory_gib: float | None) -> None:
    if gpu_types is not None and not gpu_types:
        raise ValueError(f"{name} accepts no type of GPU; name one, or leave gpu_types out")
    if gpu_memory_gib is not None and not (isfinite(gpu_memory_gib) and gpu_memory_gib > 0):
        raise ValueError(f"{name} needs {gpu_memory_gib} GiB a GPU; state a positive number, or leave it out")
