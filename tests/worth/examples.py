"""Clusters of which it is known by construction what they are worth."""

from __future__ import annotations

from loadfactor.model import Problem
from tests.explain.examples import job, problem


def badly_planned(**horizon: object) -> Problem:
    """fifo makes `tiny` wait for `wide`, and leaves it out; overtaking places all three on the same two GPUs."""
    jobs = [job("first", 1.0, 1, 3), job("wide", 1.0, 2, 3), job("tiny", 1.0, 1, 3)]
    return problem(6, 2, horizon=horizon, jobs=jobs)


def short_of_gpus(**horizon: object) -> Problem:
    """Five equal jobs want a GPU each for the whole horizon, and there is one."""
    return problem(4, 1, horizon=horizon, jobs=[job(f"job-{index}", 1.0, 1, 4) for index in range(5)])


def short_of_work() -> Problem:
    """One small job on eight GPUs."""
    return problem(4, 8, jobs=[job("only", 1.0, 1, 4)])
