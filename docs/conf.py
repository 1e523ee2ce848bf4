"""Configuration of Sphinx, which makes the site of these pages (`make docs`)."""

project = "rgwot"
author = "rgwot authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["images"]
html_theme = "furo"
# Leave quotes and dashes as they are, so that commands can be copied.
smartquotes = False
myst_fence_as_directive = ["math"]
# Make anchors as GitHub does, so that links work on both sites.
myst_heading_anchors = 4
# Headings of the page already give the module, and docstrings give the types.
add_module_names = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# Describe fields only once, in the docstring of their class.
napoleon_use_ivar = True
# A name between single backquotes becomes a link if the page documents it.
default_role = "py:obj"
