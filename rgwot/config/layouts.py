"""The layouts of datasets on disk.

Layout ``x`` is read by `rgwot.datasets.x` (a `rgwot.datasets.base.Layout`), found by its ``ABOUT``
(`rgwot.config.about`), and written by `rgwot.synthetic.layouts.x`, if there is such a module.
"""

from __future__ import annotations

from collections.abc import Mapping

from rgwot.config.about import LIBRARY, About, described

LAYOUTS: Mapping[str, About] = described("datasets", About)
WRITTEN: Mapping[str, About] = {
    name: about for name, about in LAYOUTS.items() if (LIBRARY / f"synthetic/layouts/{name}.py").exists()
}
"""Layouts that synthetic datasets can be written in."""
