"""The parts that pages of an audit are put together from: tables, pictures with their captions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files


def table(head: Sequence[str], rows: Sequence[Sequence[str]], numeric: Iterable[int] = (), kind: str = "") -> str:
    """Return a table. `head` is text, cells are HTML; `numeric` are the columns that are set flush right."""
    flush = set(numeric)
    titles = "".join(f"<th{_class(number in flush)}>{escape(title)}</th>" for number, title in enumerate(head))
    body = "".join(
        "<tr>" + "".join(f"<td{_class(number in flush)}>{cell}</td>" for number, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    named = f' class="{kind}"' if kind else ""
    return f'<div class="scroll"><table{named}><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>'


def _class(is_number: bool) -> str:
    return ' class="number"' if is_number else ""


def figure(svg: str, description: str) -> str:
    """Return a picture with its caption, which is also what a screen reader says."""
    words = escape(description)
    return (
        f'<figure><div class="scroll" role="img" aria-label="{words}">{svg}</div>'
        f"<figcaption>{words}</figcaption></figure>"
    )


def page_file(name: str) -> str:
    """Return a file of the page's directory."""
    return (files("loadfactor.audit") / "page" / name).read_text(encoding="utf-8")
