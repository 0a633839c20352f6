"""How a long search stands: value, bound and gap on standard error, for as long as somebody looks at it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from loadfactor.cli.console import remarks

if TYPE_CHECKING:
    from loadfactor.policies import Progress


PATIENCE_SECONDS = 4.0
"""A plan of `fast` that takes longer than this is waiting for its kernels to be compiled."""
COMPILING = "still here: the first plan on a machine compiles the search, half a minute to a minute, once"


@contextmanager
def progress_of(policy: str) -> Iterator[Callable[[Progress], None] | None]:
    """Yield what a policy may report to; None where standard error is no terminal.

    Whoever waits while the kernels of `fast` are compiled is told so, on a terminal or not.
    """
    if not sys.stderr.isatty():
        with _told_when_late(policy, lambda: remarks().print(COMPILING)):
            yield None
        return
    console = remarks()
    with console.status(f"{policy}: searching") as status, _told_when_late(policy, lambda: status.update(COMPILING)):

        def report(progress: Progress) -> None:
            status.update(f"{policy}: {progress_line(progress)}")

        yield report


@contextmanager
def _told_when_late(policy: str, tell: Callable[[], None]) -> Iterator[None]:
    if policy != "fast":
        yield
        return
    late = threading.Timer(PATIENCE_SECONDS, tell)
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()


@contextmanager
def steps_told() -> Iterator[Callable[[str], None]]:
    """Yield what is told the step that a command has come to; it shows on a terminal alone."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with remarks().status("") as status:
        yield status.update


@contextmanager
def shares_told() -> Iterator[Callable[[str, float], None]]:
    """Yield what is told a name and the share of it that is done: a bar for every name, on a terminal alone."""
    if not sys.stderr.isatty():
        yield lambda _name, _share: None
        return
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=remarks(), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def tell(name: str, share: float) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=1.0)
            bars.update(tasks[name], completed=share)

        yield tell


@contextmanager
def counts_told(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield what is told how many are done and how many there are: a bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=remarks(), transient=True) as bars:
        task = bars.add_task(what, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


def progress_line(progress: Progress) -> str:
    """Return where the search stands, in one line."""
    line = f"{progress.seconds:6.2f} s  value {progress.value:,.2f}"
    if progress.bound is None or progress.gap is None:
        return f"{line}  no bound yet"
    return f"{line}  bound {progress.bound:,.2f}  gap {progress.gap:.3%}"
