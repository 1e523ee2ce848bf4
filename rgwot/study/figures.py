"""Figures: what each is drawn from in one configuration."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

from rgwot import paths
from rgwot.reporting.figures.interface import Plan
from rgwot.reporting.figures.spec import Figures, load_figures
from rgwot.study.tables import TableCatalogue


class FigureCatalogue(TableCatalogue):
    """The figures of ``workflow/tables.yaml`` in one configuration; parameters as of `TableCatalogue`."""

    def __init__(self, *content: Any) -> None:
        super().__init__(*content)
        self.figure_plan = lru_cache(maxsize=None)(self._figure_plan)

    @cached_property
    def figures(self) -> Figures:
        """The figures by id, every experiment in its one spelling.

        Raises RgwotError when a figure is not valid.
        """

        def canonical(method: str, decoder: str) -> tuple[str, str]:
            return self.experiments.method(method), self.experiments.decoder(decoder, method)

        return load_figures(self._tables_path, canonical)

    def in_print(self, dataset: str) -> str:
        """Return what a dataset is called in print."""
        names = self.figures.names
        return names[dataset].label if dataset in names else dataset

    def figure_files(self, figure: str) -> list[str]:
        """Return the files that a figure is drawn from."""
        return self.figure_plan(figure).files()

    def figure_json(self, figure: str) -> str:
        """Return what a figure is drawn from (`Plan.text`): a change of it makes the figure outdated."""
        return self.figure_plan(figure).text()

    def figure_caption(self, figure: str) -> list[str]:
        """Return what a report says of a figure: its title, what it shows, of which data, with which settings."""
        return self.figure_plan(figure).caption()

    def figure_labels(self, figure: str) -> dict[str, str]:
        """Return what a report can filter figures by."""
        return self.figure_plan(figure).labels()

    def paper_files(self) -> list[str]:
        """Return every table and every figure of the paper."""
        return self.paper_tables() + [str(paths.at(paths.FIGURE, figure=figure)) for figure in self.figures.figures]

    def _figure_plan(self, figure: str) -> Plan:
        """Return the runs and files that a figure is drawn from.

        Raises RgwotError when there is no such figure, or the configuration lacks what it needs.
        """
        return self.figures.figure(figure).plan(self)
