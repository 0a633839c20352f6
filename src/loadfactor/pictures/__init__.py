"""Pictures of a plan: the grid of GPUs and time in the terminal, as an HTML page, as SVG and as PNG."""

from loadfactor.pictures.html_page import html_picture
from loadfactor.pictures.static import png_picture, svg_picture
from loadfactor.pictures.terminal import terminal_grid

__all__ = ["html_picture", "png_picture", "svg_picture", "terminal_grid"]
