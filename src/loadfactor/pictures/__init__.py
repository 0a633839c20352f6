"""Pictures of a plan: the grid of GPUs and time in the terminal, as an HTML page, as SVG and as PNG."""

from loadfactor.pictures.static import png_picture, svg_picture
from loadfactor.pictures.terminal import terminal_grid

__all__ = ["png_picture", "svg_picture", "terminal_grid"]
