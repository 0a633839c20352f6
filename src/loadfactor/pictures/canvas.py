"""A line of terminal cells that each have a glyph and a style, on which texts of any script are written."""

from __future__ import annotations

from itertools import groupby

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

BLANK = (" ", Style())


def printable(text: str) -> str:
    """Return `text` with everything that a terminal would obey instead of print (and joiners) made visible."""
    return "".join(glyph if glyph.isprintable() else "\N{REPLACEMENT CHARACTER}" for glyph in text)


def fitted(text: str, width: int, more: str = "…") -> str:
    """Return `text` made printable and cut to `width` cells, with `more` at the end where it was cut."""
    text = printable(text)
    if cell_len(text) <= width:
        return text
    kept = ""
    for glyph in text:
        if cell_len(kept + glyph) > width - cell_len(more):
            break
        kept += glyph
    return kept + more if width > cell_len(more) else kept


class Line:
    """A fixed number of terminal cells."""

    def __init__(self, width: int) -> None:
        self._cells: list[tuple[str, Style]] = [BLANK] * width

    def put(self, column: int, glyph: str, style: Style) -> None:
        """Fill the cell at `column` with a glyph of one cell."""
        self._cells[column] = (glyph, style)

    def write(self, column: int, text: str, style: Style | None = None) -> None:
        """Write printable `text` from `column` on, in `style` or in the style of the cells it falls on."""
        for glyph in text:
            width = cell_len(glyph)
            if width == 0:
                before, kept = self._cells[column - 1]
                self._cells[column - 1] = (before + glyph, kept)
                continue
            if column + width > len(self._cells):
                return
            self._cells[column] = (glyph, self._cells[column][1] if style is None else style)
            if width == 2:
                self._cells[column + 1] = ("", self._cells[column][1])
            column += width

    def text(self) -> Text:
        """Return the line, trailing blanks left out."""
        line = Text(no_wrap=True, overflow="crop")
        used = max((at + 1 for at, cell in enumerate(self._cells) if cell != BLANK), default=0)
        for style, cells in groupby(self._cells[:used], key=lambda cell: cell[1]):
            line.append("".join(glyph for glyph, _ in cells), style)
        return line
