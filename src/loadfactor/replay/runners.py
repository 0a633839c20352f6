"""Who runs the points of a sweep: processes of this machine, or the workers of a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

from loadfactor.errors import InputError
from loadfactor.replay.sweep import Point, Result, Runner, run_point

RAY_REMEDY = "install it (pip install 'loadfactor[ray]'), or leave --ray out"


def in_this_process(points: Sequence[Point]) -> Iterator[Result]:
    """Yield the results one after another."""
    yield from map(run_point, points)


def processes(workers: int | None = None) -> Runner:
    """Return what runs points in `workers` fresh processes, one for each core unless told otherwise."""
    count = workers or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else workers or os.cpu_count()

    def run(points: Sequence[Point]) -> Iterator[Result]:
        least = min(count or 1, len(points))
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(least, mp_context=context) as pool:
            futures = [pool.submit(run_point, point) for point in points]
            try:
                for future in as_completed(futures):
                    yield future.result()
            finally:
                for future in futures:
                    future.cancel()

    return run


def ray_cluster(address: str) -> Runner:
    """Return what runs points as tasks of the Ray cluster at `address` (`auto` finds one that runs here).

    The logs must lie at the same place on every machine of the cluster. Raises `InputError` where Ray is not installed
    or nothing answers at the address.
    """
    ray = _ray(address)

    def run(points: Sequence[Point]) -> Iterator[Result]:
        task: Any = ray.remote(run_point)
        waiting = [task.remote(point) for point in points]
        while waiting:
            done, waiting = ray.wait(waiting)
            yield from ray.get(done)

    return run


def _ray(address: str) -> Any:
    try:
        import ray
    except ImportError:
        raise InputError.of("--ray", "Ray is not installed", RAY_REMEDY) from None
    try:
        ray.init(address=address, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        fact = f"no Ray cluster answers at {address!r} ({' '.join(str(error).split())[:200]})"
        raise InputError.of("--ray", fact, "start one (ray start --head), or correct the address") from None
    return ray
