"""The colours: jobs solid, services tinted, red for shortfall alone; told apart by colour-blind readers and in print.

Jobs have the blue, green and orange of Okabe and Ito's palette for all kinds of colour vision (2008), adjusted so that
labels on them reach a contrast of 4.5 to 1. A service has a pale fill and a dark ink of its own hue, so that it
differs from a job in lightness where it does not in hue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from loadfactor.model import Kind

KINDS: tuple[Kind, ...] = ("training", "batch_inference", "quantization")
KIND_NAMES: Mapping[Kind, str] = {
    "training": "Training",
    "batch_inference": "Batch inference",
    "quantization": "Quantization",
}


@dataclass(frozen=True, slots=True)
class Paint:
    """What an area is filled with, and the ink for a label on it (and for the outline of a service)."""

    fill: str
    ink: str


@dataclass(frozen=True)
class Palette:
    """All colours of a picture; `services` are taken in turn."""

    surface: str
    band: str
    text: str
    muted: str
    rule: str
    node_rule: str
    unavailable: Paint
    shortfall: Paint
    kinds: Mapping[Kind, Paint]
    services: tuple[Paint, ...]

    def service(self, index: int) -> Paint:
        """Return the paint of the service at `index` in the problem."""
        return self.services[index % len(self.services)]

    def roles(self) -> Iterator[tuple[str, str]]:
        """Yield the name of every role and its colour; the names are those of CSS custom properties."""
        for name in ("surface", "band", "text", "muted", "rule", "node_rule"):
            yield name.replace("_", "-"), getattr(self, name)
        paints = {"unavailable": self.unavailable, "shortfall": self.shortfall}
        paints |= {kind.replace("_", "-"): paint for kind, paint in self.kinds.items()}
        paints |= {f"service-{index}": paint for index, paint in enumerate(self.services)}
        for name, paint in paints.items():
            yield f"{name}-fill", paint.fill
            yield f"{name}-ink", paint.ink


LIGHT = Palette(
    surface="#ffffff",
    band="#f5f6f8",
    text="#1b1f24",
    muted="#5b6470",
    rule="#e3e6ea",
    node_rule="#a7afba",
    unavailable=Paint("#e4e6e9", "#8b939e"),
    shortfall=Paint("#d5001c", "#ffffff"),
    kinds={
        "training": Paint("#1f68b3", "#ffffff"),
        "batch_inference": Paint("#0a7d5c", "#ffffff"),
        "quantization": Paint("#e8a317", "#1b1f24"),
    },
    services=(
        Paint("#dcc0ec", "#6f2a92"),
        Paint("#b3ddf2", "#10597c"),
        Paint("#e2da92", "#5f5a0d"),
        Paint("#f3bfd8", "#93245f"),
        Paint("#b2e2d0", "#17654a"),
        Paint("#e6cbab", "#734a28"),
        Paint("#c3cbe2", "#3a4769"),
        Paint("#cbc2f5", "#4a3ba6"),
    ),
)

DARK = Palette(
    surface="#14171c",
    band="#1a1e25",
    text="#e8ebef",
    muted="#9da6b3",
    rule="#2a2f38",
    node_rule="#59626f",
    unavailable=Paint("#2b3038", "#69727f"),
    shortfall=Paint("#ff4d5e", "#14171c"),
    kinds={
        "training": Paint("#5aa2ea", "#0c1016"),
        "batch_inference": Paint("#34b78d", "#0c1016"),
        "quantization": Paint("#f0b43c", "#0c1016"),
    },
    services=(
        Paint("#46285a", "#e3c2f5"),
        Paint("#15435a", "#b4e0f7"),
        Paint("#45421a", "#e8e19a"),
        Paint("#57213f", "#f7bfdd"),
        Paint("#194838", "#b3ead5"),
        Paint("#4b3521", "#efd2b2"),
        Paint("#303a57", "#ccd5f0"),
        Paint("#352d70", "#d0c8fb"),
    ),
)


def _as_variables(palette: Palette) -> Palette:
    """Return `palette` with every colour replaced by the CSS custom property that will hold it."""

    def paint(name: str) -> Paint:
        return Paint(f"var(--{name}-fill)", f"var(--{name}-ink)")

    plain = {
        name: f"var(--{name.replace('_', '-')})" for name in ("surface", "band", "text", "muted", "rule", "node_rule")
    }
    return Palette(
        **plain,
        unavailable=paint("unavailable"),
        shortfall=paint("shortfall"),
        kinds={kind: paint(kind.replace("_", "-")) for kind in palette.kinds},
        services=tuple(paint(f"service-{index}") for index in range(len(palette.services))),
    )


VARIABLES = _as_variables(LIGHT)
"""The palette of a page: its style sheet gives the custom properties their light or dark colours."""
