"""When each job would best start, were it to pay a price for its GPUs; compiled.

Times are in price steps. Only starts at the submission, on the grid, and with an end on the grid need a trial (see
`loadfactor.replay.bound`). Chunks of the grid in which even the cheapest window of no more than the job's length costs
too much are passed over, and so is everything behind the point where a job's worth has sunk to the best profit so far.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from loadfactor.policies.compiled import inner, kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
CHUNK = 64
LENGTHS = np.array(sorted({0} | {1 << power for power in range(24)} | {3 << power for power in range(22)}))
"""Window lengths in steps; 0 stands for jobs shorter than a step."""


@kernel
def buy(
    price: Floats,
    rate: float,
    last: float,
    lengths: Ints,
    submitted: Floats,
    held: Floats,
    block: Floats,
    worth: Floats,
    starts: Floats,
    usage: Floats,
) -> tuple[float, float]:
    """Return Σ max(0, best profit) over all jobs, and the magnitude of what was summed.

    `price` (H,) is per GPU and step, `rate` the decay per step, `last` the last start that is allowed. `starts` (J,)
    holds good guesses, or −1, and receives the best starts. `usage` (H + 1,) receives the changes of the GPUs in use
    from step to step.
    """
    paid = np.zeros(len(price) + 1)
    for step in range(len(price)):
        paid[step + 1] = paid[step] + price[step]
    cheapest = _cheapest_windows(price, paid, lengths)
    profit, magnitude = 0.0, 0.0
    for job in range(len(worth)):
        begin, length = submitted[job], held[job]
        row = np.searchsorted(lengths, int(length), side="right") - 1
        best, start = -np.inf, begin
        for guess in (begin, starts[job], last):
            if begin <= guess <= last and guess < np.inf:
                gain = worth[job] * np.exp(-rate * (guess - begin))
                gain -= block[job] * (_paid(paid, guess + length) - _paid(paid, guess))
                if gain > best:
                    best, start = gain, guess
        scale = block[job] * (length if row == 0 else 1.0)
        best, start = _search(
            paid, rate, last, begin, length, block[job], worth[job], cheapest[row], scale, best, start
        )
        magnitude += worth[job] + block[job] * paid[-1]
        starts[job] = start
        if best > 0.0:
            profit += best
            _use(usage, start, block[job])
            _use(usage, start + length, -block[job])
    return profit, magnitude


@inner
def _search(
    paid: Floats,
    rate: float,
    last: float,
    begin: float,
    length: float,
    block: float,
    worth: float,
    cheapest: Floats,
    scale: float,
    best: float,
    start: float,
) -> tuple[float, float]:
    """Return the best profit and its start, from the `best` known on; no chunk costs less than scale · cheapest."""
    steps, shrink, whole = len(paid) - 1, np.exp(-rate), int(np.ceil(length))
    before = whole - length
    shrink_before = np.exp(-rate * before)
    step = int(begin)
    while step <= steps and step <= last:
        left = worth * np.exp(-rate * (step - begin))
        if step > begin and left <= max(0.0, best):
            break
        until = (step // CHUNK + 1) * CHUNK
        if left - scale * cheapest[step // CHUNK] > max(0.0, best):
            for at in range(step, min(until, steps + 1)):
                if begin <= at <= last:
                    gain = left - block * (_paid(paid, at + length) - paid[at])
                    if gain > best:
                        best, start = gain, float(at)
                if begin <= at + before <= last:
                    cost = paid[min(steps, at + whole)] - _paid(paid, at + before)
                    gain = left * shrink_before - block * cost
                    if gain > best:
                        best, start = gain, at + before
                left *= shrink
        step = until
    return best, start


@inner
def _cheapest_windows(price: Floats, paid: Floats, lengths: Ints) -> Floats:
    """Return the price of the cheapest window of each length that begins in each chunk, both ends included.

    For length 0 it is the lowest price of a step.
    """
    steps = len(price)
    cheapest = np.full((len(lengths), steps // CHUNK + 1), np.inf)
    for row in range(len(lengths)):
        for chunk in range(cheapest.shape[1]):
            for at in range(chunk * CHUNK, (chunk + 1) * CHUNK + 1):
                if row == 0:
                    cost = price[at] if at < steps else 0.0
                else:
                    cost = paid[min(steps, at + lengths[row])] - paid[min(steps, at)]
                cheapest[row, chunk] = min(cheapest[row, chunk], cost)
    # a job shorter than a step that starts in a chunk's last step may end in the step behind it, which is included
    return cheapest


@inner
def _paid(paid: Floats, at: float) -> float:
    """Return what a GPU has cost until `at`; behind the last step nothing more."""
    step = int(at)
    if step >= len(paid) - 1:
        return float(paid[-1])
    return float(paid[step] + (at - step) * (paid[step + 1] - paid[step]))


@inner
def _use(usage: Floats, at: float, gpus: float) -> None:
    """Book that `gpus` more are in use from `at` on, as changes of the mean from step to step."""
    step = int(at)
    if step < len(usage):
        usage[step] += gpus * (step + 1 - at)
    if step + 1 < len(usage):
        usage[step + 1] += gpus * (at - step)
