"""The same predictions under every protocol, as groups of bars."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from rgwot import paths
from rgwot.evaluation.protocols import BACKGROUNDS, PROTOCOLS
from rgwot.reporting.figures.interface import Figure, Plan, Study
from rgwot.reporting.figures.style import HATCHES, LINE_COLOURS, Drawn, sheet, tell
from rgwot.reporting.tables.metrics import METRICS, Metric
from rgwot.reporting.tables.spec import Row
from rgwot.runtime.files import read_csv

#: Columns of a row without which nothing can be drawn.
NEEDED = ("method", "kind", "protocol", "background", "label_rule")
GREYS = ("#C4C4C4", "#8F8F8F", "#5A5A5A")


Bars = tuple[tuple[Row, ...], dict[str, str]]
"""Rows of a table, and its places by what they are called in print."""


class Protocols(Figure):
    """The same predictions under every protocol: groups of bars."""

    CAPTION: ClassVar = (
        "The same predictions scored under every protocol, with background as a class and without it; numbers of "
        "different protocols cannot be compared."
    )

    table: str
    datasets: Annotated[tuple[str, ...], Field(min_length=1, max_length=4)]
    rows: tuple[str, ...] = ()
    metric: Metric = "f1"
    label_rule: Literal["exact", "cnc"] = "exact"

    def plan(self, study: Study) -> Plan[Bars]:
        """Return the rows and places that are drawn."""
        table = study.table_with(self.table, self.datasets)
        chosen = [table.row(row) for row in self.rows] or table.rows
        places = {place: table.datasets[place].label for place in self.datasets}
        datasets = {table.datasets[place].dataset: label for place, label in places.items()}
        # The rows, so that a figure of some waits for no others.
        files = [paths.at(paths.ROW, table=self.table, row=row.id) for row in chosen]
        said = [f"{self.label_rule} labels"]
        return self.planned(study, (tuple(chosen), places), files, datasets, said, study.config.seeds, "all")

    def draw(self, plan: Plan[Bars]) -> Drawn:
        """Draw one panel per dataset and background: groups are protocols, bars are rows of the table."""
        import pandas as pd

        table = pd.concat([read_csv(path, NEEDED, {}) for path in plan.files])
        table = table[(table["kind"] == "measured") & (table["label_rule"] == self.label_rule)]
        rows, places = plan.shown
        drawn, axes = sheet(len(places), len(BACKGROUNDS), height=1.75 * len(places) + 1.2, sharey=True)
        width = 0.84 / len(rows)
        colours = bar_colours([row.id for row in rows], {row.id for row in rows if row.trivial})
        for line, (place, label) in zip(axes, places.items(), strict=True):
            columns = [f"{place}_{self.metric}", f"{place}_{self.metric}_sd"]
            for axis, background in zip(line, BACKGROUNDS, strict=True):
                here = table[table["background"] == background].set_index(["method", "protocol"])
                for number, row in enumerate(rows):
                    at = np.arange(len(PROTOCOLS)) + (number - (len(rows) - 1) / 2) * width
                    cells = here.reindex([(row.id, protocol) for protocol in PROTOCOLS]).reindex(columns=columns)
                    values, deviations = 100 * cells.apply(pd.to_numeric, errors="coerce").to_numpy().T
                    axis.bar(
                        at, values, 0.92 * width, label=row.label, color=colours[row.id], linewidth=0.0,
                        hatch=HATCHES[number % len(HATCHES)], edgecolor="#FFFFFF",
                    )  # fmt: skip
                    axis.errorbar(at, values, deviations, fmt="none", ecolor="#000000", elinewidth=0.7)
                axis.set_xticks(
                    range(len(PROTOCOLS)), [f"{one.letter}\n{one.name}" for one in PROTOCOLS.values()], fontsize=7
                )
                axis.set_title(f"{label}, {'background a class' if background == 'with' else 'without background'}")
                axis.grid(axis="y", linewidth=0.3, color="#CCCCCC")
                axis.set_axisbelow(True)
            line[0].set_ylabel(f"{METRICS[self.metric].label}, %")
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
