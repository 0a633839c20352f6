"""The command `loadfactor`: one file for each of its commands, and `main`, the door they all share."""

from __future__ import annotations

import gc
import sys

SELDOM = 100_000
"""Objects between two collections: imports make that many before the first plan, and hardly any of them is garbage."""


def main() -> None:
    """Run the command line of this process and leave with its exit code."""
    gc.set_threshold(SELDOM)
    from loadfactor.cli.run import run

    _die_quietly_of_a_broken_pipe()
    code = run(sys.argv[1:])
    gc.freeze()  # a process that leaves need not search its modules for garbage first, which takes half a second
    sys.exit(code)


def _die_quietly_of_a_broken_pipe() -> None:
    """Let `loadfactor ... | head` end as any other program of a pipeline does: by the signal, without a word."""
    import signal

    if hasattr(signal, "SIGPIPE"):  # Windows has none
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
