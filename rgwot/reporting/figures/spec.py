"""The figures as data, read from the key ``figures`` of the file that also defines the tables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rgwot.reporting.entries import Canonical, DatasetName, check_id, checked, datasets_in_print, section
from rgwot.reporting.figures.interface import KINDS, Figure, kind_of
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.yaml_text import read_yaml


@dataclass(frozen=True)
class Figures:
    """All figures by id, and what the datasets are called in print."""

    figures: Mapping[str, Figure]
    names: Mapping[str, DatasetName]

    def figure(self, figure_id: str) -> Figure:
        """Return one figure by its id, or say which are known."""
        if figure_id not in self.figures:
            raise RgwotError(f"figure {figure_id!r}: not among the figures; {nearest(figure_id, self.figures)}")
        return self.figures[figure_id]


def load_figures(path: str | os.PathLike[str], canonical: Canonical | None = None) -> Figures:
    """Read and check the figures of the file that defines the tables; without a key ``figures`` there are none.

    ``canonical`` turns the method and decoder of a run, in any spelling, into the one spelling that paths use.

    Raises
    ------
    RgwotError
        One line: the figure and key, what was found, what was expected.
    """
    source = Path(path)
    content = read_yaml(source)
    parts = content if isinstance(content, dict) else {"figures": content}
    names, figures = datasets_in_print(parts, source), {}
    context = {"canonical": canonical, "folder": source.parent}
    for name, entry in section(parts, "figures", source).items():
        where = f"{source}: figure {name!r}"
        check_id(name, where, "teaser")
        if not isinstance(entry, dict) or "kind" not in entry:
            raise RgwotError(f"{where}: found no kind, expected kind: one of {', '.join(KINDS)}")
        kind = str(entry["kind"])
        if kind not in KINDS:
            raise RgwotError(f"{where}: unknown kind {kind!r}; {nearest(kind, KINDS)}")
        figures[name] = checked(kind_of(kind), {**entry, "id": name}, where, context)
    return Figures(figures, names)
