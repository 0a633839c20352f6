"""Where the commands write: answers to standard output, everything else to standard error."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

PIPED_WIDTH = 160  # a pipe has no width: wide enough that no table is cut, the same on every machine


def answers() -> Console:
    """Return the console of the answer; it draws without colour where nobody looks at it."""
    from rich.console import Console

    return Console(file=sys.stdout, width=_width(sys.stdout.isatty()), highlight=False)


def remarks() -> Console:
    """Return the console of everything that is not the answer: progress, warnings, where a file went."""
    from rich.console import Console

    return Console(file=sys.stderr, width=_width(sys.stderr.isatty()), highlight=False)


def _width(is_terminal: bool) -> int | None:
    return None if is_terminal or "COLUMNS" in os.environ else PIPED_WIDTH
