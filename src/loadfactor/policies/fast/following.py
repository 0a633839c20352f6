"""What has moved since the last plan document, and what the jobs add to its metrics; for the incremental form."""

from __future__ import annotations

import numpy as np

from loadfactor.policies.compiled import kernel
from loadfactor.policies.fast.filling import worth
from loadfactor.policies.instance import DURATION, SIZE, Floats, Ints
from loadfactor.policies.occupancy import NOWHERE


@kernel
def moved_since(seen: Ints, chosen: Ints, begin: Ints, where: Ints) -> Ints:
    """Return the jobs whose option, start or first GPU are not as in `seen` (3, m), which is brought up to date."""
    moved, count = np.empty(len(where), dtype=np.int64), 0
    for job in range(len(where)):
        if seen[0, job] != chosen[job] or seen[1, job] != begin[job] or seen[2, job] != where[job]:
            seen[0, job], seen[1, job], seen[2, job] = chosen[job], begin[job], where[job]
            moved[count] = job
            count += 1
    exact = np.empty(count, dtype=np.int64)
    for i in range(count):
        exact[i] = moved[i]
    return exact


@kernel
def figures_of_jobs(
    options: Ints, reward: Floats, weight: Floats, chosen: Ints, begin: Ints, where: Ints
) -> tuple[float, int, int]:
    """Return what the placed jobs earn, the cells that they hold, and how many end within the horizon."""
    steps, earned, cells, finished = len(weight) - 1, 0.0, 0, 0
    for job in range(len(where)):
        if where[job] != NOWHERE:
            end = begin[job] + options[chosen[job], DURATION]
            earned += worth(job, options, reward, weight, chosen, begin)
            cells += options[chosen[job], SIZE] * (min(end, steps) - begin[job])
            finished += 1 if end <= steps else 0
    return earned, cells, finished
