"""How Sphinx makes the site of these pages (`make docs`)."""

project = "rgwot"
author = "rgwot authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["images"]
html_theme = "furo"
# Quotes and dashes of commands stay as they can be typed.
smartquotes = False
myst_fence_as_directive = ["math"]
# As GitHub makes anchors, so that a link works there and here.
myst_heading_anchors = 4
# Names stand under the page's own headings, with types as written; the signature of a class is that of its fields.
add_module_names = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# Fields are described by their class, once.
napoleon_use_ivar = True
# A name between single backquotes is a link where the page has it.
default_role = "py:obj"
