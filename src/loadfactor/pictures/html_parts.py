"""The parts that pages of several commands share."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape


def legend(colours: Mapping[str, str]) -> str:
    """Return what the colours of a picture mean, by its words."""
    entries = (f'<li><i style="background:{colour}"></i>{escape(word)}</li>' for word, colour in colours.items())
    return f'<ul class="legend">{"".join(entries)}</ul>\n'
