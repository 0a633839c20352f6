"""Two instructions of the processor that numba has no name for: where the lowest and the highest set bit are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numba import types
from numba.extending import intrinsic


def _trailing_zeros(typing_context: Any, word: Any) -> Any:
    """Count the clear bits below the lowest set one; the second operand promises that the word is not 0."""

    def generate(context: Any, builder: Any, signature: Any, words: Any) -> Any:
        return builder.cttz(words[0], context.get_constant(types.boolean, True))

    return types.int64(types.uint64), generate


def _leading_zeros(typing_context: Any, word: Any) -> Any:
    """Count the clear bits above the highest set one; the second operand promises that the word is not 0."""

    def generate(context: Any, builder: Any, signature: Any, words: Any) -> Any:
        return builder.ctlz(words[0], context.get_constant(types.boolean, True))

    return types.int64(types.uint64), generate


trailing_zeros = cast(Callable[[np.uint64], int], intrinsic(_trailing_zeros))
"""For compiled code: return the position of the lowest set bit of a word that is not 0."""
leading_zeros = cast(Callable[[np.uint64], int], intrinsic(_leading_zeros))
"""For compiled code: return how many bits above the highest set one of a word that is not 0 are clear."""
