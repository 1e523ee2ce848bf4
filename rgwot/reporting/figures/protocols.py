"""The same predictions under every protocol, as groups of bars."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

import numpy as np
from matplotlib.figure import Figure

from rgwot.evaluation.protocols import BACKGROUNDS, PROTOCOLS
from rgwot.reporting.figures.curves import PRINTED, cell, read_rows
from rgwot.reporting.figures.plan import Plan, row_path
from rgwot.reporting.figures.spec import Protocols
from rgwot.reporting.figures.style import HATCHES, LINE_COLOURS, sheet, styled, tell

GREYS = ("#C4C4C4", "#8F8F8F", "#5A5A5A")


def bar_colours(rows: Sequence[str], trivial: Collection[str]) -> dict[str, str]:
    """Return a colour for every row: greys for answers that need no features, the colours of lines for the others."""
    found, greys, others = {}, itertools.cycle(GREYS), itertools.cycle(LINE_COLOURS)
    for row in rows:
        found[row] = next(greys if row in trivial else others)
    return found


def draw_protocols(plan: Plan) -> Figure:
    """Draw one panel per dataset and background: groups are protocols, bars are rows of the table."""
    figure = plan.figure
    assert isinstance(figure, Protocols)
    table = read_rows(row_path(figure.table, row) for row in plan.rows)
    with styled():
        drawn, axes = sheet(len(plan.places), len(BACKGROUNDS), height=1.75 * len(plan.places) + 1.2, sharey=True)
        width = 0.84 / len(plan.rows)
        colours = bar_colours(list(plan.rows), plan.trivial)
        for line, (place, label) in zip(axes, plan.places.items(), strict=True):
            for axis, background in zip(line, BACKGROUNDS, strict=True):
                for number, (row, name) in enumerate(plan.rows.items()):
                    cells = [
                        cell(table, row, f"{place}_{figure.metric}", protocol, background, figure.label_rule)
                        for protocol in PROTOCOLS
                    ]
                    at = np.arange(len(PROTOCOLS)) + (number - (len(plan.rows) - 1) / 2) * width
                    deviations = [
                        cell(table, row, f"{place}_{figure.metric}_sd", protocol, background, figure.label_rule)[0]
                        for protocol in PROTOCOLS
                    ]
                    axis.bar(
                        at, [100 * value for value, _ in cells], 0.92 * width, label=name,
                        color=colours[row], hatch=HATCHES[number % len(HATCHES)],
                        edgecolor="#FFFFFF", linewidth=0.0,
                    )  # fmt: skip
                    axis.errorbar(
                        at, [100 * value for value, _ in cells], [100 * value for value in deviations], fmt="none",
                        ecolor="#000000", elinewidth=0.7,
                    )  # fmt: skip
                axis.set_xticks(
                    range(len(PROTOCOLS)), [f"{one.letter}\n{one.name}" for one in PROTOCOLS.values()], fontsize=7
                )
                axis.set_title(f"{label}, {'background a class' if background == 'with' else 'without background'}")
                axis.spines[["top", "right"]].set_visible(False)
                axis.grid(axis="y", linewidth=0.3, color="#CCCCCC")
                axis.set_axisbelow(True)
            line[0].set_ylabel(f"{PRINTED[figure.metric]}, %")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=5)
        bars = "; bars: mean over seeds, lines: standard deviation" if len(plan.seeds) > 1 else ""
        tell(drawn, figure.title, f"{plan.about}{bars}")
    return drawn
