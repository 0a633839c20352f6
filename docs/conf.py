"""Settings of the documentation site."""

from __future__ import annotations

from importlib.metadata import version as installed

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
