"""How far a benchmark has come: a bar on standard error while somebody looks at it, and nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Told = Callable[[str, int, int], None]
"""Is told what runs now, how many cases are done, and how many there are."""


def nobody(_what: str, _done: int, _total: int) -> None:
    """Listen to nothing."""


@contextmanager
def progress_bar() -> Iterator[Told]:
    """Yield what a benchmark may tell its progress to."""
    if not sys.stderr.isatty():
        yield nobody
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def tell(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        yield tell
