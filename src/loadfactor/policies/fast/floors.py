"""What a fuller grid cannot take back: between which steps no block of a group begins for so many steps.

While jobs are only added, a start that was searched in vain stays in vain, also for every job of the same blocks that
takes as long or longer.
"""

from __future__ import annotations

import numpy as np

from loadfactor.policies.compiled import inner
from loadfactor.policies.instance import (
    DURATION,
    FIRST_BLOCK,
    FIRST_OPTION,
    LAST_BLOCK,
    LAST_OPTION,
    SUBMIT,
    Ints,
)

FROM, UNTIL = range(2)


@inner
def group_options(order: Ints, jobs: Ints, options: Ints) -> tuple[Ints, int]:
    """Return the group of every option of the jobs in `order`, and the number of groups.

    Options of the same blocks are one group; what other jobs' options get means nothing.
    """
    group = np.empty(len(options), dtype=np.int64)
    example = np.empty(len(options), dtype=np.int64)
    groups = 0
    for job in order:
        for option in range(jobs[job, FIRST_OPTION], jobs[job, LAST_OPTION]):
            found = 0
            while found < groups and (
                options[example[found], FIRST_BLOCK] != options[option, FIRST_BLOCK]
                or options[example[found], LAST_BLOCK] != options[option, LAST_BLOCK]
            ):
                found += 1
            if found == groups:
                example[groups] = option
                groups += 1
            group[option] = found
    return group, groups


@inner
def most_options(jobs: Ints) -> int:
    """Return the number of options of the job that has the most."""
    most = 0
    for job in range(len(jobs)):
        most = max(most, jobs[job, LAST_OPTION] - jobs[job, FIRST_OPTION])
    return most


@inner
def forget(job: int, jobs: Ints, earliest: Ints) -> None:
    """Let `earliest` say nothing about the job's options, for a grid of which GPUs were given back."""
    for slot in range(jobs[job, LAST_OPTION] - jobs[job, FIRST_OPTION]):
        earliest[slot] = 0


@inner
def read_floors(floors: Ints, group: Ints, job: int, jobs: Ints, options: Ints, earliest: Ints) -> None:
    """Write the step before which no block is free long enough for each option of the job to `earliest`.

    `floors` (groups, T + 1, 2) holds, for every group and duration, FROM and UNTIL of the starts known to be in vain.
    """
    first = jobs[job, FIRST_OPTION]
    for option in range(first, jobs[job, LAST_OPTION]):
        step = jobs[job, SUBMIT]
        for duration in range(1, min(options[option, DURATION], floors.shape[1] - 1) + 1):
            if floors[group[option], duration, FROM] <= step:
                step = max(step, floors[group[option], duration, UNTIL])
        earliest[option - first] = step


@inner
def raise_floors(floors: Ints, group: Ints, job: int, jobs: Ints, options: Ints, earliest: Ints) -> None:
    """Note the starts that were searched in vain: from the job's submit to those in `earliest` (-1 where none was)."""
    first, submit = jobs[job, FIRST_OPTION], jobs[job, SUBMIT]
    for option in range(first, jobs[job, LAST_OPTION]):
        found = earliest[option - first]
        duration = min(options[option, DURATION], floors.shape[1] - 1)
        low, high = floors[group[option], duration, FROM], floors[group[option], duration, UNTIL]
        if submit <= high and low <= found:
            low, high = min(low, submit), max(high, found)
        elif found - submit > high - low:
            low, high = submit, found
        floors[group[option], duration, FROM], floors[group[option], duration, UNTIL] = low, high
