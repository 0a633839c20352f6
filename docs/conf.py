"""Settings of the documentation site."""

from __future__ import annotations

import re
from importlib.metadata import version as installed

from sphinx.application import Sphinx

project = "loadfactor"
author = "The loadfactor founders"
project_copyright = "The loadfactor founders, Apache-2.0"
release = version = installed("loadfactor")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = "loadfactor"
html_copy_source = False
html_show_sphinx = False

autodoc_typehints = "none"
autodoc_member_order = "bysource"


def setup(app: Sphinx) -> None:
    """Connect what turns our docstrings, which are Markdown in spirit, into reStructuredText."""
    app.connect("autodoc-process-docstring", _as_restructured_text)


def _as_restructured_text(
    _app: Sphinx, _what: str, _name: str, _thing: object, _options: object, lines: list[str]
) -> None:
    lines[:] = [re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", line.replace("|", "\\|")) for line in lines]
