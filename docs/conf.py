"""How the site is built: Sphinx with MyST, no network, no fonts from elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path

import discreet

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "discreet"
author = "the discreet project"
version = release = discreet.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "generated"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
html_theme = "furo"
pygments_dark_style = "one-dark"
html_title = f"discreet {version}"
html_static_path = ["_static"]
html_css_files = ["discreet.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_theme_options = {"footer_icons": []}
