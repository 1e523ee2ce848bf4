"""How Sphinx makes the site; docs/site/build.py lays out the pages that it reads."""

from __future__ import annotations

import tomllib
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

HERE = Path(__file__).resolve().parent

project = "rgwot"
author = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"] + " authors"
copyright = f"the {author}"  # noqa: A001 - Sphinx calls it so
extensions = ["myst_parser"]
nitpicky = True
# Quotes and dashes of commands stay what can be typed.
smartquotes = False

myst_fence_as_directive = ["math"]
# As GitHub has them, so that a link works there and here.
myst_heading_anchors = 4
# Of the changelog and the README, whose sections are no chapters of a book.
suppress_warnings = ["myst.header"]

html_theme = "furo"
html_title = "rgwot"
html_static_path = [str(HERE / "style.css")]
html_css_files = ["style.css"]
html_copy_source = False
html_use_index = False
# It would fetch the pages that were found, which a browser refuses where they were opened as files.
html_show_search_summary = False
html_math_renderer = "mathml"


def _mathml(latex: str, block: bool = False) -> str:
    """Return MathML, with brackets as TeX sets them where they are not told to grow."""
    made = tex2mathml(latex, as_block=block)
    for bracket in "⟨⟩":
        made = made.replace(f"<mo>{bracket}</mo>", f'<mo stretchy="false">{bracket}</mo>')
    return made.replace('<mo stretchy="false">|</mo>', '<mo stretchy="false" lspace="0" rspace="0">|</mo>')


def _visit_math(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(_mathml(node.astext()))
    raise nodes.SkipNode


def _visit_math_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{_mathml(node.astext(), block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Write formulas as MathML, which browsers draw without a script or a font from elsewhere."""
    app.add_html_math_renderer("mathml", (_visit_math, None), (_visit_math_block, None))
