"""How Sphinx makes the site of these pages (`make docs`)."""

project = "rgwot"
author = "rgwot authors"
extensions = ["myst_parser"]
exclude_patterns = ["images"]
html_theme = "furo"
# Quotes and dashes of commands stay as they can be typed.
smartquotes = False
myst_fence_as_directive = ["math"]
# As GitHub makes anchors, so that a link works there and here.
myst_heading_anchors = 4
