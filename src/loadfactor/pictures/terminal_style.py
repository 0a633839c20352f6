"""How cells look in a terminal: colours where there are any, letters and brackets where there are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import ascii_uppercase

from rich.style import Style

from loadfactor.model import Kind
from loadfactor.pictures.palette import LIGHT, Paint

KIND_LETTERS: Mapping[Kind, str] = {"training": "t", "batch_inference": "b", "quantization": "q"}


@dataclass(frozen=True)
class TerminalStyle:
    """What a terminal can show: `colour`, and glyphs beyond ASCII (`unicode`)."""

    colour: bool
    unicode: bool

    @property
    def idle(self) -> tuple[str, Style]:
        """The glyph and style of an idle cell."""
        return "·" if self.unicode else ".", Style(dim=True)

    @property
    def unavailable(self) -> tuple[str, Style]:
        """The glyph and style of an unavailable cell."""
        return "╱" if self.unicode else "/", self._style(LIGHT.unavailable)

    @property
    def shortfall(self) -> Style:
        """The style of a shortfall."""
        return self._style(LIGHT.shortfall, bold=True)

    @property
    def border(self) -> str:
        """The line between the names and the grid."""
        return "│" if self.unicode else "|"

    @property
    def more(self) -> str:
        """What stands for the rest of a text that was cut."""
        return "…" if self.unicode else "~"

    def job(self, kind: Kind, *, above_another: bool = False) -> tuple[str, Style]:
        """Return glyph and style of a job's cell; in colour a line parts it from another job in the row below."""
        colour_glyph = ("▁" if self.unicode else "_") if above_another else " "
        return colour_glyph if self.colour else KIND_LETTERS[kind], self._style(LIGHT.kinds[kind])

    def job_edges(self) -> tuple[str, str]:
        """Return the glyphs of a job's first and last cell in a row; an empty one leaves the cell as it is."""
        if not self.colour:
            return "[", "]"
        return ("▏" if self.unicode else "|"), ""

    def service(self, index: int) -> tuple[str, Style]:
        """Return glyph and style of a service's cell."""
        return " " if self.colour else ascii_uppercase[index % 26], self._style(LIGHT.service(index))

    def shade(self, share: float) -> str:
        """Return a glyph for a busy share of 0 to 1; only a full one is solid, only an idle one a dot."""
        glyphs = "·░▒▓█" if self.unicode else ".:-+#"
        if share <= 0:
            return glyphs[0]
        return glyphs[4] if share >= 1 else glyphs[1 + min(2, int(share * 3))]

    def shaded(self, paint: Paint) -> Style:
        """Return the style of a shaded glyph: the colour itself in front of the terminal's own background."""
        return Style(color=paint.fill) if self.colour else Style()

    def _style(self, paint: Paint, *, bold: bool = False) -> Style:
        return Style(color=paint.ink, bgcolor=paint.fill, bold=bold) if self.colour else Style()
