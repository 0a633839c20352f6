"""Intervals that cannot be: each cell is readable, and yet they say things that exclude one another."""

from __future__ import annotations

from datetime import UTC, datetime

from loadfactor.sources.facts import JobInterval, JobState
from loadfactor.sources.slurm.states import is_active

_NEVER_BEFORE_A_START = frozenset(
    {
        JobState.RUNNING,
        JobState.SUSPENDED,
        JobState.COMPLETED,
        JobState.TIMEOUT,
        JobState.OUT_OF_MEMORY,
        JobState.NODE_FAIL,
        JobState.PREEMPTED,
    }
)


def contradiction_in(interval: JobInterval, *, nodes_are_stated: bool) -> tuple[str, str] | None:
    """Return what is wrong with `interval` and what to do about it, or None where it can be.

    `nodes_are_stated` is whether the log says on which nodes jobs ran: then GPUs that were held on none are suspect.
    """
    return _in_times(interval) or _in_state(interval) or _in_gpus(interval, nodes_are_stated)


def _in_times(interval: JobInterval) -> tuple[str, str] | None:
    submitted, started, ended = interval.submitted, interval.started, interval.ended
    if started is not None and ended is not None and ended < started:
        return f"ends {started - ended:g} s before it starts", "correct its times, or the zone of the log"
    if started is not None and submitted is not None and started < submitted:
        return f"starts {submitted - started:g} s before it was submitted", "correct its times, or the zone of the log"
    if started is None and ended is not None and submitted is not None and ended < submitted:
        return f"ends {submitted - ended:g} s before it was submitted", "correct its times, or the zone of the log"
    return None


def _in_state(interval: JobInterval) -> tuple[str, str] | None:
    state, started, ended = interval.state, interval.started, interval.ended
    if is_active(state) and ended is not None:
        return f"is {state} and yet ended at {_shown(ended)}", "correct its state or its end"
    if state is JobState.PENDING and started is not None:
        return f"is PENDING and yet started at {_shown(started)}", "correct its state or its start"
    if started is None and state in _NEVER_BEFORE_A_START:
        return f"is {state} and yet has no start", "correct its state or its start"
    if started is not None and ended is None and not is_active(state):
        return f"is {state} and yet has neither an end nor a run time", "correct its state or its end"
    return None


def _in_gpus(interval: JobInterval, nodes_are_stated: bool) -> tuple[str, str] | None:
    if interval.started is not None and interval.count > 1:
        fact = f"stands for {interval.count} waiting tasks of an array and yet started"
        return fact, "list each task by itself (sacct --array)"
    if nodes_are_stated and interval.gpus and not interval.node_gpus:
        return f"holds {interval.gpus} GPUs and yet no node", "correct its GPUs or its nodes"
    return None


def _shown(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S} UTC"
