"""The same predictions under every protocol, as groups of bars."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from rgwot import paths
from rgwot.evaluation.protocols import BACKGROUNDS, PROTOCOLS
from rgwot.reporting.figures.interface import Figure, Plan, Study
from rgwot.reporting.figures.style import HATCHES, LINE_COLOURS, Drawn, sheet, tell
from rgwot.reporting.figures.sweep import cell, read_rows
from rgwot.reporting.tables.printed import METRIC_LABELS
from rgwot.reporting.tables.spec import Metric

GREYS = ("#C4C4C4", "#8F8F8F", "#5A5A5A")


@dataclass(frozen=True)
class ProtocolsPlan(Plan):
    """The plan of such a figure: rows and places of the table by what they are called, and which rows are trivial."""

    rows: dict[str, str]
    trivial: tuple[str, ...]
    places: dict[str, str]


class Protocols(Figure):
    """The same predictions under every protocol: groups of bars."""

    table: str
    datasets: Annotated[tuple[str, ...], Field(min_length=1, max_length=4)]
    rows: tuple[str, ...] = ()
    metric: Metric = "f1"
    label_rule: Literal["exact", "cnc"] = "exact"

    def plan(self, study: Study) -> ProtocolsPlan:
        """Return the rows and places that are drawn."""
        table = study.table_with(self.table, self.datasets)
        chosen = [table.row(row) for row in self.rows] or table.rows
        places = {place: table.datasets[place].label for place in self.datasets}
        datasets = {table.datasets[place].dataset: label for place, label in places.items()}
        shared = self.shared(study, datasets, [f"{self.label_rule} labels"], study.config.seeds, "all")
        trivial = tuple(row.id for row in chosen if row.trivial)
        return ProtocolsPlan(**shared, rows={row.id: row.label for row in chosen}, trivial=trivial, places=places)

    def files(self, plan: ProtocolsPlan) -> Iterable[Path]:
        """Return the rows, so that a figure of some waits for no others."""
        return [paths.at(paths.ROW, table=self.table, row=row) for row in plan.rows]

    def draw(self, plan: ProtocolsPlan) -> Drawn:
        """Draw one panel per dataset and background: groups are protocols, bars are rows of the table."""
        table = read_rows(self.files(plan))
        drawn, axes = sheet(len(plan.places), len(BACKGROUNDS), height=1.75 * len(plan.places) + 1.2, sharey=True)
        width = 0.84 / len(plan.rows)
        colours = bar_colours(list(plan.rows), plan.trivial)
        for line, (place, label) in zip(axes, plan.places.items(), strict=True):
            for axis, background in zip(line, BACKGROUNDS, strict=True):
                how = {"background": background, "label_rule": self.label_rule}
                for number, (row, name) in enumerate(plan.rows.items()):
                    at = np.arange(len(PROTOCOLS)) + (number - (len(plan.rows) - 1) / 2) * width
                    hows = [dict(how, protocol=protocol) for protocol in PROTOCOLS]
                    values, deviations = (
                        [100 * cell(table, row, column, one)[0] for one in hows]
                        for column in (f"{place}_{self.metric}", f"{place}_{self.metric}_sd")
                    )
                    axis.bar(
                        at, values, 0.92 * width, label=name, color=colours[row], hatch=HATCHES[number % len(HATCHES)],
                        edgecolor="#FFFFFF", linewidth=0.0,
                    )  # fmt: skip
                    axis.errorbar(at, values, deviations, fmt="none", ecolor="#000000", elinewidth=0.7)
                axis.set_xticks(
                    range(len(PROTOCOLS)), [f"{one.letter}\n{one.name}" for one in PROTOCOLS.values()], fontsize=7
                )
                axis.set_title(f"{label}, {'background a class' if background == 'with' else 'without background'}")
                axis.grid(axis="y", linewidth=0.3, color="#CCCCCC")
                axis.set_axisbelow(True)
            line[0].set_ylabel(f"{METRIC_LABELS[self.metric]}, %")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=5)
        bars = "; bars: mean over seeds, lines: standard deviation" if len(plan.seeds) > 1 else ""
        tell(drawn, self.title, f"{plan.about}{bars}")
        return drawn


def bar_colours(rows: Sequence[str], trivial: Collection[str]) -> dict[str, str]:
    """Return a colour for every row: greys for answers that need no features, the colours of lines for the others."""
    found, greys, others = {}, itertools.cycle(GREYS), itertools.cycle(LINE_COLOURS)
    for row in rows:
        found[row] = next(greys if row in trivial else others)
    return found
