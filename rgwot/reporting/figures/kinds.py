"""The figures of ``workflow/tables.yaml``: every kind, and how they are read and checked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rgwot.config.settings import validated
from rgwot.reporting.entries import Canonical, DatasetName, read_entries
from rgwot.reporting.figures.bars import Bars
from rgwot.reporting.figures.interface import Figure
from rgwot.reporting.figures.losses import Losses
from rgwot.reporting.figures.overview import Overview
from rgwot.reporting.figures.plans import Plans
from rgwot.reporting.figures.sweep import Growth, Sweep
from rgwot.reporting.figures.teaser import Teaser
from rgwot.reporting.figures.tsne import Tsne
from rgwot.runtime.errors import RgwotError, nearest

KINDS: Mapping[str, type[Figure]] = {
    "teaser": Teaser, "overview": Overview, "bars": Bars, "plans": Plans, "losses": Losses, "tsne": Tsne,
    "sweep": Sweep, "growth": Growth,
}  # fmt: skip


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
    content, figures = read_entries(source), {}
    context = {"canonical": canonical, "folder": source.parent}
    for name, entry in content.figures.items():
        where, kind = f"{source}: figure {name!r}", str(entry.get("kind"))
        if kind not in KINDS:
            raise RgwotError(f"{where}: unknown kind {kind!r}; {nearest(kind, KINDS)}")
        figures[name] = validated(KINDS[kind], {**entry, "id": name}, where, context)
    return Figures(figures, content.datasets)
