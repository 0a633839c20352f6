"""The search for a run of clear bits in two words, and the blocks of one to three words, bit by bit."""

from __future__ import annotations

import random

import numpy as np
import pytest

from loadfactor.policies.occupancy import earliest_in_block, earliest_run, release, take

BITS = 128


def _slow_run(word: int, length: int, first: int, last: int) -> int:
    """Return the first position in [first, last] where `length` clear bits begin; beyond bit 127 all is clear."""
    run = (1 << length) - 1
    return next((start for start in range(first, last + 1) if not (word >> start) & run), -1)


def _sparse(dice: random.Random) -> int:
    return sum(1 << dice.randrange(BITS) for _ in range(dice.randint(0, 6))) & ((1 << BITS) - 1)


@pytest.mark.parametrize("seed", range(8))
def test_the_earliest_run_in_two_words_is_that_of_a_slow_search(seed: int) -> None:
    dice = random.Random(seed)
    found_some, found_none = 0, 0
    for _ in range(400):
        word = _sparse(dice) if dice.random() < 0.7 else dice.getrandbits(BITS)
        length = dice.choice([1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, dice.randint(1, BITS)])
        first = dice.choice([0, 63, 64, dice.randrange(BITS)])
        last = dice.choice([first, BITS - 1, dice.randint(first, BITS - 1)])
        low, high = np.uint64(word & (2**64 - 1)), np.uint64(word >> 64)
        found = earliest_run(low, high, length, first, last)
        assert found == _slow_run(word, length, first, last), (hex(word), length, first, last)
        found_some += found >= 0
        found_none += found < 0
    assert min(found_some, found_none) >= 40, "one of the two answers is hardly ever right: the cases are too easy"


@pytest.mark.parametrize("steps", [1, 64, 65, 128, 129, 192])
def test_the_last_step_of_every_word_counts(steps: int) -> None:
    """A single taken step at the end, and a free grid apart from it: a start that touches it is never found."""
    busy = np.zeros((2, -(-steps // 64)), dtype=np.uint64)
    take(busy, 1, 1, steps - 1, steps)
    assert earliest_in_block(busy, 0, 1, steps, 0, 0, steps) == 0
    assert earliest_in_block(busy, 0, 2, steps, 0, 0, steps) == -1
    assert earliest_in_block(busy, 0, 2, 1, 0, steps - 1, steps) == (0 if steps > 1 else -1)
    assert earliest_in_block(busy, 0, 2, 1, steps - 1, steps - 1, steps) == -1


@pytest.mark.parametrize("steps", [40, 64, 100, 128, 190])
def test_take_and_release_change_exactly_their_cells(steps: int) -> None:
    dice = random.Random(steps)
    busy = np.zeros((5, -(-steps // 64)), dtype=np.uint64)
    cells = np.zeros((5, busy.shape[1] * 64), dtype=bool)
    for _ in range(200):
        gpu = dice.randrange(5)
        size, start = dice.randint(1, 5 - gpu), dice.randrange(steps)
        end = dice.randint(start + 1, steps)
        taking = dice.random() < 0.5
        (take if taking else release)(busy, gpu, size, start, end)
        cells[gpu : gpu + size, start:end] = taking
        bits = np.unpackbits(busy.view(np.uint8), axis=1, bitorder="little").astype(bool)
        assert (bits == cells).all()
