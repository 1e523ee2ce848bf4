"""Training curves as pictures, one for wide and one for narrow windows."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any

_INK = "#222222"


def curve_pictures(curves: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Draw the losses of all trainings, a colour per method and a line style per seed.

    Parameters
    ----------
    curves
        ``method, seed, step, loss, align, cidm`` per training.

    Returns
    -------
    dict
        ``wide`` and ``narrow``: SVG in base64; empty when nothing was trained.
    """
    if not curves:
        return {}
    return {"wide": _draw(curves, 3, (12.0, 3.8)), "narrow": _draw(curves, 1, (4.2, 8.4))}


def _draw(curves: Sequence[Mapping[str, Any]], columns: int, size: tuple[float, float]) -> str:
    # The figure alone, without pyplot: nothing global is changed.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from rgwot.records import TERMS
    from rgwot.reporting.figures.style import DASHES, LINE_COLOURS

    methods = list(dict.fromkeys(str(curve["method"]) for curve in curves))
    seeds = sorted({int(curve["seed"]) for curve in curves})
    with rc_context({"svg.hashsalt": "rgwot", "svg.fonttype": "path"}):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(len(TERMS) // columns, columns, squeeze=False, sharex=True).ravel()
        for axis, (term, title) in zip(axes, TERMS.items(), strict=True):
            for curve in curves:
                axis.plot(
                    curve["step"],
                    curve[term],
                    color=LINE_COLOURS[methods.index(str(curve["method"])) % len(LINE_COLOURS)],
                    linestyle=DASHES[seeds.index(int(curve["seed"])) % len(DASHES)],
                    linewidth=1.4,
                    label=f"{curve['method']}, seed {curve['seed']}",
                )
            # A term that reaches zero has no logarithm.
            if all(min(curve[term]) > 0 for curve in curves):
                axis.set_yscale("log")
            axis.set_title(title, fontsize=11, loc="left", color=_INK)
            axis.tick_params(labelsize=9, labelcolor=_INK)
            axis.grid(alpha=0.3)
            axis.spines[["top", "right"]].set_visible(False)
        for axis in axes[-columns:]:
            axis.set_xlabel("iteration", fontsize=10, color=_INK)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=min(3 if columns > 1 else 1, len(labels)),
            fontsize=10,
            frameon=False,
        )
        written = io.BytesIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
    return base64.b64encode(written.getvalue()).decode()
