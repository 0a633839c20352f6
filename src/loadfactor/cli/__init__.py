"""The command `loadfactor`: one file for each of its commands, and `main`, the door they all share."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of this process and leave with its exit code."""
    from loadfactor.cli.run import run

    _die_quietly_of_a_broken_pipe()
    sys.exit(run(sys.argv[1:]))


def _die_quietly_of_a_broken_pipe() -> None:
    """Let `loadfactor ... | head` end as any other program of a pipeline does: by the signal, without a word."""
    import signal

    if hasattr(signal, "SIGPIPE"):  # Windows has none
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
